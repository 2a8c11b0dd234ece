"""What the windows of a layer see, with the samples as the first axis: arrays [B, H, W, C]."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import as_strided

from hil.training.graph.formats import Op
from hil.training.graph.node import Node


def padded(layer: Node, x: np.ndarray, outside: float = 0.0) -> np.ndarray:
    """Return x with all positions that the windows of a layer reach; new ones are `outside`."""
    height, width = spans(layer)
    if (height, width) == x.shape[1:3]:
        return x
    out = np.full((len(x), height, width, x.shape[3]), outside, x.dtype)
    top, left = layer.pad
    out[:, top : top + x.shape[1], left : left + x.shape[2]] = x
    return out


def spans(layer: Node) -> tuple[int, int]:
    """Return height and width of an input with all positions that the windows reach."""
    height, width = (
        max((out - 1) * stride + kernel, pad + size)
        for out, kernel, stride, pad, size in zip(
            layer.out_shape[:2], layer.kernel, layer.stride, layer.pad, layer.in_shape[:2], strict=True
        )
    )
    return height, width


def unpadded(layer: Node, x: np.ndarray) -> np.ndarray:
    """Return what lies inside the image of an array with all positions that the windows reach."""
    (height, width, _), (top, left) = layer.in_shape, layer.pad
    return x[:, top : top + height, left : left + width]


def taps(layer: Node) -> Iterator[tuple[int, int]]:
    """Yield row and column of every tap, row-major."""
    for ky in range(layer.kernel[0]):
        for kx in range(layer.kernel[1]):
            yield ky, kx


def under_tap(layer: Node, x: np.ndarray, ky: int, kx: int) -> np.ndarray:
    """Return a view [B, oh, ow, C] of a padded array: the position under a tap for each output position."""
    (out_h, out_w), (down, across) = layer.out_shape[:2], layer.stride
    return x[:, ky : ky + (out_h - 1) * down + 1 : down, kx : kx + (out_w - 1) * across + 1 : across]


def columns(layer: Node, x: np.ndarray) -> np.ndarray:
    """Return what each weight of an output channel multiplies, [B, positions, K]; not of a depthwise layer."""
    if layer.op is Op.FULLY_CONNECTED:
        return x.reshape(len(x), 1, -1)
    if layer.op is Op.POINTWISE:
        return x.reshape(len(x), -1, x.shape[3])
    whole, (down, across) = padded(layer, x), layer.stride
    sample, row, column, channel = whole.strides
    shape = (len(x), *layer.out_shape[:2], *layer.kernel, x.shape[3])
    seen = as_strided(whole, shape, (sample, down * row, across * column, row, column, channel), writeable=False)
    return seen.reshape(len(x), layer.out_shape[0] * layer.out_shape[1], -1)
