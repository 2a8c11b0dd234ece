"""`bfp8`: int8 values with one power-of-two exponent a tensor. Bytes that its kernels work in (docs/memory.md)."""

from __future__ import annotations

from hil.training.graph.node import Node

WORDS = "an exponent a tensor"
REFERENCE = "hil.training.reference.formats.bfp8.arithmetic:NumpyArithmetic"  # module and class
ACCUMULATOR = 4  # bytes of a sum behind an output or an error
EXPONENT = 2  # bytes of the exponent of a sample's logits


def scratch_size(layer: Node) -> int:
    """Return the scratch bytes of a convolution's forward pass: the most that the kernel of any core needs."""
    (height, width, channels), (kernel_h, kernel_w) = layer.in_shape, layer.kernel
    rows = max(height + 2 * layer.pad[0], 2 * kernel_h)
    padded = rows * (width + 2 * layer.pad[0]) * channels + 64 + 4 * kernel_h * (kernel_w * channels + 1)
    return max(padded, 8 * kernel_h * kernel_w * channels + 16)


def gradient_scratch_size(layer: Node) -> int:
    """Return the scratch bytes of a convolution's weight gradient.

    Its padded input, and the sums of one output channel.
    """
    (height, width, channels), (kernel_h, kernel_w) = layer.in_shape, layer.kernel
    return (height + 2 * layer.pad[0]) * (width + 2 * layer.pad[0]) * channels + 64 + 4 * kernel_h * kernel_w * channels
