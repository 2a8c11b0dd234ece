"""`fixed16`: int16 values with fixed exponents. Its kernels need no memory (docs/arithmetic-fixed16.md, section 6)."""

from __future__ import annotations

from hil.training.graph.node import Node

WORDS = "int16, fixed exponents"
REFERENCE = "hil.training.reference.formats.fixed16:NumpyArithmetic"  # module and class
ACCUMULATOR = 0  # bytes of a sum behind an output or an error: none is kept


def scratch_size(layer: Node) -> int:
    """Return the scratch bytes of a convolution's forward pass."""
    return 0


def gradient_scratch_size(layer: Node) -> int:
    """Return the scratch bytes of a convolution's weight gradient."""
    return 0
