"""`affine8`: int8 with one scale and one zero point a tensor (docs/arithmetic-affine8.md).

It has the bytes that its kernels work in, the most of all cores (docs/arithmetic-fqt.md, section 10).
"""

from __future__ import annotations

from hil.training.formats import tflite8
from hil.training.graph.formats import Op
from hil.training.graph.node import Node
from hil.training.graph.plan import up

WORDS = "int8, a scale and a zero point a tensor"


def work(layer: Node) -> int:
    """Return the scratch of a layer with weights; its biases are folded in the file or beside the weights."""
    (kernel_h, kernel_w), (down, across), (out_h, out_w, _) = layer.kernel, layer.stride, layer.out_shape
    if layer.op is Op.DEPTHWISE:  # plane and taps of a channel as 16 bits
        plane = ((out_h - 1) * down + kernel_h) * ((out_w - 1) * across + kernel_w)
        return up(2 * (plane + kernel_h * kernel_w) + 8, 8)
    return up(tflite8.forward_scratch(layer), 8)
