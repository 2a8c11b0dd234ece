"""`w16a8`: int16 weights with one scale a tensor, int8 activations in TFLite's convention.

It has the bytes that its kernels work in (docs/memory.md, section w16a8, QZO-FF).
"""

from __future__ import annotations

from hil.training.graph.formats import Op
from hil.training.graph.node import Node

WORDS = "int16 weights, int8 activations"
REFERENCE = "hil.training.reference.formats.w16a8.network:W16A8Network"  # module and class
INPUTS_OF = {Op.CONV2D: 2, Op.POINTWISE: 2, Op.FULLY_CONNECTED: 1}  # positions whose inputs are widened to int16


def work(layer: Node) -> int:
    """Return the bytes in which a layer widens its inputs; 0 where it has no such buffer."""
    return INPUTS_OF.get(layer.op, 0) * 4 * ((layer.taps + 1) // 2)
