"""A plain integer forward pass of a graph for the tests of this room, from docs/arithmetic-tflite.md: int64, one position at a time where that is short."""

from __future__ import annotations

from math import prod

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node


def rescale(acc: np.ndarray, multiplier: np.ndarray, shift: np.ndarray, rounding: str) -> np.ndarray:
    acc, multiplier, shift = np.broadcast_arrays(*(np.asarray(a, np.int64) for a in (acc, multiplier, shift)))
    if rounding == "single":
        return (acc * multiplier + (1 << (30 - shift))) >> (31 - shift)
    wide = np.clip(acc << np.maximum(shift, 0), -(2**31), 2**31 - 1)
    once = (wide * multiplier + 2**30) >> 31
    right = np.maximum(-shift, 0)
    half = np.where(right > 0, 1 << np.maximum(right - 1, 0), 0)
    return np.sign(once) * ((np.abs(once) + half) >> right)


def values(graph: Graph, image: np.ndarray) -> list[np.ndarray]:
    """Return every value for one image, int64 [height, width, channels], the input first."""
    out = [image.astype(np.int64) - 128]
    for layer in graph.layers:
        out.append(run(graph, layer, [out[value] for value in layer.reads]))
    return out


def run(graph: Graph, layer: Node, reads: list[np.ndarray]) -> np.ndarray:
    """Return a layer's output from the values that it reads."""
    zero_x = graph.zero_of(layer.reads[0])
    if layer.op is Op.ADD:
        parts = [
            rescale((x - graph.zero_of(value)) * 2**20, m, s, layer.rounding)
            for x, value, m, s in zip(reads, layer.reads, layer.factors.multipliers, layer.factors.shifts, strict=False)
        ]
        result = layer.zero + rescale(
            parts[0] + parts[1], layer.factors.multipliers[2], layer.factors.shifts[2], layer.rounding
        )
    elif layer.own is None:
        result = _pool(layer, reads[0])
    else:
        acc = layer.own.bias.astype(np.int64) + _sums(layer, reads[0] - zero_x)
        result = layer.zero + rescale(acc, layer.own.multiplier, layer.own.shift, layer.rounding)
    return np.clip(result, layer.act_min, layer.act_max).reshape(layer.out_shape)


def _window(layer: Node, x: np.ndarray, y: int, across: int) -> tuple[np.ndarray, slice, slice]:
    """Return what of a window lies inside the image, and which of its taps those are."""
    spans = []
    axes = zip((y, across), layer.kernel, layer.stride, layer.pad, x.shape[:2], strict=True)
    for place, kernel, stride, pad, size in axes:
        first = place * stride - pad
        spans.append((max(first, 0), min(first + kernel, size), max(-first, 0)))
    (y0, y1, ky), (x0, x1, kx) = spans
    return x[y0:y1, x0:x1], slice(ky, ky + y1 - y0), slice(kx, kx + x1 - x0)


def _sums(layer: Node, x: np.ndarray) -> np.ndarray:
    weights = layer.own.weights.astype(np.int64)
    if layer.op is Op.FULLY_CONNECTED:
        return weights @ x.reshape(-1)
    out = np.zeros(layer.out_shape, np.int64)
    for y in range(layer.out_shape[0]):
        for across in range(layer.out_shape[1]):
            inside, rows, columns = _window(layer, x, y, across)
            if layer.op is Op.DEPTHWISE:
                out[y, across] = (inside * weights[rows, columns]).sum((0, 1))
            else:
                out[y, across] = (inside[None] * weights[:, rows, columns]).sum((1, 2, 3))
    return out


def _pool(layer: Node, x: np.ndarray) -> np.ndarray:
    out = np.zeros(layer.out_shape, np.int64)
    for y in range(layer.out_shape[0]):
        for across in range(layer.out_shape[1]):
            inside, _, _ = _window(layer, x, y, across)
            count = prod(inside.shape[:2])
            total = inside.sum((0, 1))
            mean = np.sign(total) * ((np.abs(total) + count // 2) // count)
            out[y, across] = inside.max((0, 1)) if layer.op is Op.MAX_POOL else mean
    return out
