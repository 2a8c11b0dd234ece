"""`tflite8`: TFLite's affine int8. Bytes that its kernels work in, the most of all cores (docs/memory.md)."""

from __future__ import annotations

from functools import lru_cache

from hil.training.graph.formats import Op
from hil.training.graph.node import Node
from hil.training.graph.plan import up

WORDS = "TFLite int8"
CHUNK = 8  # output channels whose gradient is made at a time


@lru_cache(maxsize=256)  # every start asks for every layer after it
def work(layer: Node, in_chain: bool = False, goes_on: bool = False) -> int:
    """Return folded biases and scratch of a layer with weights.

    Args:
        layer: the layer.
        in_chain: it is the depthwise layer of a chain, and has a ring of rows.
        goes_on: a third layer follows in the chain, and there is a row for it.
    """
    row = layer.out_shape[1] * layer.out_shape[2]
    parts = [4 * layer.channels, forward_scratch(layer, in_chain), ring(layer) * in_chain, row * goes_on]
    return sum(up(part, 8) for part in parts)


def forward_scratch(layer: Node, in_chain: bool = False) -> int:
    """Return the scratch of a layer's kernel; 0 where it has none."""
    (kernel_h, kernel_w), (down, across), channels = layer.kernel, layer.stride, layer.in_shape[2]
    out_h, out_w, out_c = layer.out_shape
    if layer.op is Op.CONV2D:
        taps = kernel_h * kernel_w * channels
        rows = min(out_h, (max(3072 // taps, 16) + out_w - 1) // out_w)
        height = (rows - 1) * min(down, kernel_h) + kernel_h
        pitch = up(((out_w - 1) * across + kernel_w) * channels, 2)
        return 8 * taps + 24 + 8 * rows * out_w + 2 * height * pitch
    if layer.op is Op.POINTWISE:
        block = min(max(2048 // channels // 2 * 2, 16), 64)
        return 8 * channels + 24 + 8 * block + 2 * block * channels
    if layer.op is Op.DEPTHWISE:
        height = 1 if in_chain else out_h
        plane = ((height - 1) * down + kernel_h) * ((out_w - 1) * across + kernel_w)
        return plane + 8 + kernel_h * kernel_w
    return 4 * out_c if layer.op is Op.FULLY_CONNECTED else 0


def ring_width(layer: Node) -> int:
    """Return the positions in a row of the ring of a depthwise layer, padding included."""
    return max(layer.pad[1] + layer.in_shape[1], (layer.out_shape[1] - 1) * layer.stride[1] + layer.kernel[1])


def ring(layer: Node) -> int:
    """Return the rows that the depthwise layer of a chain sees at a time."""
    return layer.kernel[0] * ring_width(layer) * layer.in_shape[2]


@lru_cache(maxsize=256)
def gradient_sums(layer: Node, weights_too: bool) -> int:
    """Return what the gradient of a layer trained by nodes is made in."""
    out_h, out_w, out_c = layer.out_shape
    if not weights_too:
        return 4 * out_c
    depthwise = layer.op is Op.DEPTHWISE
    chunk = out_c if depthwise else min(CHUNK, out_c)
    errors = 0 if depthwise else out_h * out_w * chunk
    return up(4 * (layer.taps + 1) * chunk, 8) + up(errors, 8) + up(_gradient_scratch(layer), 8)


def _gradient_scratch(layer: Node) -> int:
    (kernel_h, kernel_w), (down, across), (out_h, out_w, _) = layer.kernel, layer.stride, layer.out_shape
    if layer.op is Op.CONV2D:
        return 32 * layer.taps
    if layer.op is Op.DEPTHWISE:
        height, width = out_h + (kernel_h - 1) // down, out_w + (kernel_w - 1) // across
        return height * width + 8 + out_h * out_w
    return 0


def input_error(layer: Node, inputs: int) -> int:
    """Return what the error of the input of a layer with weights, so many elements, is made in."""
    kernel_h, kernel_w = layer.kernel
    scratch = 0
    if layer.op is Op.CONV2D:
        scratch = 4 * layer.taps
    if layer.op is Op.DEPTHWISE:
        height, width = (
            (size - 1) // stride + 1 + (kernel - 1) // stride
            for size, kernel, stride in zip(layer.in_shape[:2], layer.kernel, layer.stride, strict=True)
        )
        scratch = height * width + 8 + kernel_h * kernel_w
    return up(4 * inputs, 8) + up(layer.out_size, 8) + up(scratch, 8)
