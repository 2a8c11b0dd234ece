"""Forward passes (docs/arithmetic-float32.md, sections 2 and 3; docs/arithmetic-affine8.md, section 5).

Many samples at a time: values are float32 [height, width, channels, samples].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Node, Node
from hil.training.reference.floats import F
from hil.training.reference.formats.float32.sums import ordered_products, ordered_sum, padded, taps, under_tap, windows

PIXEL_OFFSET = 128
ONE_SIXTH = F(float.fromhex("0x1.555556p-3"))
Own = tuple[np.ndarray, np.ndarray]  # weights and biases of a layer


def input_value(graph: Graph, images: np.ndarray) -> np.ndarray:
    """Return uint8 images [B, H, W] or [B, H, W, C] as value 0."""
    p = images.reshape(-1, *graph.in_shape).transpose(1, 2, 3, 0).astype(F)
    return np.ascontiguousarray(F(graph.scale) * (p - F(PIXEL_OFFSET + graph.zero)))


def values_of(graph: Graph, images: np.ndarray, own: Mapping[int, Own]) -> list[np.ndarray]:
    """Return all values, n + 1 of them, of uint8 images; `own` has the layers with weights by index."""
    values = [input_value(graph, images)]
    for index, layer in enumerate(graph.nodes(Float32Node)):
        values.append(run(layer, [values[value] for value in layer.reads], own.get(index)))
    return values


def run(layer: Float32Node, reads: Sequence[np.ndarray], own: Own | None) -> np.ndarray:
    """Return the output of a layer, [oh, ow, O, B]."""
    return clamp(_sums(layer, reads, own), layer.act_min, layer.act_max)


def clamp(v: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return float32 numbers brought within limits."""
    clamped: np.ndarray = np.minimum(np.maximum(v, F(low)), F(high))
    return clamped


def _sums(layer: Float32Node, reads: Sequence[np.ndarray], own: Own | None) -> np.ndarray:
    x = reads[0]
    found: np.ndarray
    if layer.op is Op.ADD:
        found = x + reads[1]
    elif layer.op is Op.MULTIPLY:
        found = x * reads[1] + F(0)
    elif layer.op is Op.HARD_SWISH:
        found = (x * clamp(x + F(3), 0.0, 6.0)) * ONE_SIXTH + F(0)
    elif layer.op is Op.MAX_POOL:
        found = reduce(np.maximum, places(layer, x, -np.inf))
    elif layer.op is Op.AVERAGE_POOL:
        total, inside = (ordered_sum(places(layer, array)) for array in (x, np.ones_like(x[:, :, :1, :1])))
        found = total / inside + F(0)
    else:
        assert own is not None
        found = _products(layer, x, *own)
    return found


def _products(layer: Node, x: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    if layer.op is Op.DEPTHWISE:
        pairs = zip(weights.reshape(-1, layer.channels, 1), places(layer, x), strict=True)
        found = ordered_sum(tap * inputs for tap, inputs in pairs)
    else:
        found = by_output(layer, ordered_products(weights.reshape(layer.channels, -1), columns(layer, x)))
    found += bias[:, None]
    return found


def places(layer: Node, x: np.ndarray, outside: float = 0.0) -> list[np.ndarray]:
    """Return what lies under each tap of the windows, [oh, ow, C, B] each; `outside` in the padding."""
    whole = padded(layer, x, outside)
    return [under_tap(layer, whole, ky, kx) for ky, kx in taps(layer)]


def columns(layer: Node, x: np.ndarray) -> np.ndarray:
    """Return what each weight of an output channel multiplies, [K, oh * ow * B]."""
    if layer.op is Op.FULLY_CONNECTED:
        return x.reshape(-1, x.shape[3])
    found = windows(layer, padded(layer, x))  # oh, ow, kh, kw, C, B
    return found.transpose(2, 3, 4, 0, 1, 5).reshape(layer.taps, -1)


def by_output(layer: Node, rows: np.ndarray) -> np.ndarray:
    """Return numbers [O, oh * ow * B] as [oh, ow, O, B]."""
    return rows.reshape(layer.channels, *layer.out_shape[:2], -1).transpose(1, 2, 0, 3)


def by_channel(x: np.ndarray) -> np.ndarray:
    """Return numbers [h, w, C, B] as [C, h * w * B]."""
    return x.transpose(2, 0, 1, 3).reshape(x.shape[2], -1)
