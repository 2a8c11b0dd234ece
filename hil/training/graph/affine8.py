"""What a network in `affine8` says of itself: scales and zero points from ranges, biases and folded biases.

See docs/arithmetic-affine8.md, sections 2, 3 and 7. All float operations are binary32, each rounded by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hil.training.graph.formats import POOLS, Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Affine8Node, Node, Scaled

F = np.float32
STEPS = F(255)
LARGEST_BIAS = F(2.0**29)  # of a bias as an integer
WRAP = 2**32


def rounded(x: Any, rounding: str = "nearest") -> Any:
    """Return Q(x) of binary32 numbers as int64: half to even with `nearest`, the next lower integer with `floor`."""
    return (np.floor(x) if rounding == "floor" else np.rint(x)).astype(np.int64)


def params(low: Any, high: Any, rounding: str = "nearest") -> tuple[Any, Any, Any]:
    """Return scale s, its inverse j (float32) and zero point z (int64, -128..127) of a range, or of an array of them.

    Args:
        low, high: binary32 numbers, low <= 0 <= high and not both 0.
        rounding: `nearest` or `floor`.
    """
    low, high = F(low), F(high)
    s = (high - low) / STEPS
    j = F(1) / s
    return s, j, np.minimum(rounded((F(0) - low) * j, rounding), 255) - 128


def with_scales(graph: Graph) -> Graph:
    """Return the graph with the scale and the zero point of each `affine8` node that follow from the ranges."""
    if Format.AFFINE8 not in graph.formats:
        return graph
    layers: list[Node] = []
    held = [(graph.scale, graph.zero)]  # by value
    for layer in graph.layers:
        if isinstance(layer, Affine8Node):
            if layer.op in POOLS:
                scale, zero = held[layer.reads[0]]
            else:
                s, _, z = params(layer.low, layer.high, layer.rounding)
                scale, zero = float(s), int(z)
            layer = replace(layer, scale=scale, zero=zero)
        layers.append(layer)
        held.append((layer.scale, layer.zero) if isinstance(layer, Scaled) else (1.0, 0))
    return replace(graph, layers=tuple(layers))


def quantized_biases(bias: np.ndarray, s_x: Any, s_w: Any) -> np.ndarray:
    """Return b_q, int64 [out], of real biases [out] for the scales of the input and of the weights."""
    quantized: np.ndarray = rounded(np.clip(scaled_biases(bias, s_x, s_w), -LARGEST_BIAS, LARGEST_BIAS))
    return quantized


def scaled_biases(bias: np.ndarray, s_x: Any, s_w: Any) -> np.ndarray:
    """Return `b * j_b`, float32 [out]: biases in units of the sums, before they are limited and rounded."""
    j_b = F(1) / (F(s_x) * F(s_w))
    scaled: np.ndarray = bias.astype(F) * j_b
    return scaled


def folded_biases(op: int, weights: np.ndarray, zero: int, b_q: np.ndarray, z_x: int) -> np.ndarray:
    """Return b', int32 [out].

    Args:
        op: of the layer.
        weights: int8, in the shape of `Parameters`.
        zero: z_w.
        b_q: int64 [out].
        z_x: zero point of what the layer reads.
    """
    axes = (0, 1) if op == Op.DEPTHWISE else tuple(range(1, weights.ndim))
    sums = (weights.astype(np.int64) - zero).sum(axis=axes)
    return ((b_q - z_x * sums) % WRAP).astype(np.uint32).view(np.int32)
