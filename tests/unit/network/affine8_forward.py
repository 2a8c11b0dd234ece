"""A plain forward pass of graphs in `affine8`, and of a head in `float32`, for the tests of this room.

From docs/arithmetic-affine8.md, sections 2 and 3. Integers are exact in float64 (sums stay below 2^31); the head is in
binary64, since these tests compare classes and sizes, not bits.
"""

from __future__ import annotations

import math

import numpy as np

from hil.training.graph.formats import Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node

F = np.float32


def values(graph: Graph, images: np.ndarray) -> list[np.ndarray]:
    """Return every value of images uint8 [n, h, w, c], float64 [n, h, w, c]: integers in `affine8`, else real numbers."""
    if graph.layers[0].format is Format.FLOAT32:
        out = [graph.scale * (images.astype(np.float64) - 128 - graph.zero)]
    else:
        out = [images.astype(np.float64) - 128]
    for layer in graph.layers:
        reads = [out[value] for value in layer.reads]
        run = _float if layer.format is Format.FLOAT32 else _integer
        out.append(run(graph, layer, reads).reshape(len(images), *layer.out_shape))
    return out


def factor(ratio: float) -> tuple[int, int]:
    part, exponent = math.frexp(ratio)
    mant = int(part * 2**24)
    n = 32 - (exponent + 16)
    return (65535, 16) if n < 16 else (0, 46) if n > 46 else (mant >> 8, n)


def scaled(acc: np.ndarray, ratio: float, rounding: str) -> np.ndarray:
    m, n = factor(ratio)
    half = 1 << (n - 1) if rounding == "nearest" else 0
    return ((acc.astype(np.int64) * m + half) >> n).astype(np.float64)


def _integer(graph: Graph, layer: Node, reads: list[np.ndarray]) -> np.ndarray:
    zeros, scales = [graph.zero_of(v) for v in layer.reads], [F(graph.scale_of(v)) for v in layer.reads]
    s_y, z_y, rounding = F(layer.scale), layer.zero, layer.rounding
    if layer.op is Op.MAX_POOL:
        return _taps(layer, reads[0], -999.0, np.maximum)
    if layer.op is Op.AVERAGE_POOL:
        count = layer.kernel[0] * layer.kernel[1]
        d = count // 2 if rounding == "nearest" else 0
        return np.floor((_taps(layer, reads[0], 0.0, np.add) + d) / count)
    if layer.op is Op.HARD_SWISH:
        x = scales[0] * (reads[0] - zeros[0]).astype(F)
        y = (x * np.clip(x + F(3), F(0), F(6))) * F(float.fromhex("0x1.555556p-3"))
        return np.clip(z_y + _q(np.clip(y * (F(1) / s_y), F(-512), F(512)), rounding), -128, 127)
    q = [read - zero for read, zero in zip(reads, zeros, strict=True)]
    if layer.op is Op.MULTIPLY:
        acc, ratio = q[0] * q[1], float((scales[0] * scales[1]) / s_y)
        return np.clip(z_y + scaled(acc, ratio, rounding), -128, 127)
    if layer.op is Op.ADD:
        larger = max(scales)
        acc = sum(part * float(np.rint((s / larger) * F(2**14))) for part, s in zip(q, scales, strict=True))
        ratio = float((larger * F(2.0**-14)) / s_y)
    else:
        s_w = F(layer.own.scale)
        bias = np.rint(np.clip(layer.own.bias * (F(1) / (scales[0] * s_w)), F(-(2**29)), F(2**29)))
        acc = _products(layer, q[0], layer.own.weights.astype(np.float64) - layer.own.zero) + bias.astype(np.float64)
        ratio = float((scales[0] * s_w) / s_y)
    ends = [z_y + float(np.rint(np.clip(F(v) * (F(1) / s_y), F(-512), F(512)))) for v in (layer.act_min, layer.act_max)]
    return np.clip(z_y + scaled(acc, ratio, rounding), max(ends[0], -128), min(ends[1], 127))


def _float(graph: Graph, layer: Node, reads: list[np.ndarray]) -> np.ndarray:
    x = reads[0]
    if layer.op is Op.CAST:
        return graph.scale_of(layer.reads[0]) * (x - graph.zero_of(layer.reads[0]))
    if layer.op is Op.HARD_SWISH:
        return x * np.clip(x + 3, 0, 6) / 6
    if layer.op is Op.MULTIPLY:
        return x * reads[1]
    if layer.op is Op.ADD:
        return x + reads[1]
    if layer.op is Op.MAX_POOL:
        return _taps(layer, x, -np.inf, np.maximum)
    if layer.op is Op.AVERAGE_POOL:
        return _taps(layer, x, 0.0, np.add) / (layer.kernel[0] * layer.kernel[1])
    out = _products(layer, x, layer.own.weights.astype(np.float64)) + layer.own.bias
    return np.clip(out, layer.act_min, layer.act_max)


def _q(x: np.ndarray, rounding: str) -> np.ndarray:
    return (np.floor(x) if rounding == "floor" else np.rint(x)).astype(np.float64)


def _taps(layer: Node, x: np.ndarray, outside: float, fold: np.ufunc) -> np.ndarray:
    """Fold over the taps of windows that lie inside the image."""
    assert layer.pad == (0, 0)
    total = np.full((len(x), *layer.out_shape), outside)
    for ky in range(layer.kernel[0]):
        for kx in range(layer.kernel[1]):
            total = fold(total, _shifted(layer, x, ky, kx))
    return total


def _shifted(layer: Node, x: np.ndarray, ky: int, kx: int) -> np.ndarray:
    height, width, _ = layer.out_shape
    down, across = layer.stride
    return x[:, ky : ky + down * (height - 1) + 1 : down, kx : kx + across * (width - 1) + 1 : across]


def _products(layer: Node, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    if layer.op is Op.FULLY_CONNECTED:
        return (x.reshape(len(x), -1) @ weights.T).reshape(len(x), 1, 1, -1)
    top, left = layer.pad
    padded = np.pad(x, ((0, 0), (top, top + 1), (left, left + 1), (0, 0)))
    total = np.zeros((len(x), *layer.out_shape))
    for ky in range(layer.kernel[0]):
        for kx in range(layer.kernel[1]):
            tap = _shifted(layer, padded, ky, kx)
            total += tap * weights[ky, kx] if layer.op is Op.DEPTHWISE else tap @ weights[:, ky, kx].T
    return total


def accuracy(graph: Graph, images: np.ndarray, labels: np.ndarray, at_a_time: int = 100) -> float:
    """Return the share of images that a graph gets right."""
    right = 0
    for start in range(0, len(images), at_a_time):
        part = slice(start, start + at_a_time)
        logits = values(graph, images[part].reshape(-1, *graph.in_shape))[-1]
        right += int((logits.reshape(-1, graph.classes).argmax(1) == labels[part]).sum())
    return right / len(images)
