"""The gains that perturbed scales trains, and what they make of a layer (docs/arithmetic-quzo.md, sections 7 and 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hil.training.graph.contents import LARGEST_SCALE, SMALLEST_SCALE
from hil.training.graph.graph import Graph
from hil.training.graph.node import N, Tflite8Node, Tflite8Parameters

FRACTION = 24  # bits: the gain g stands for g / 2^24
ONE = 2**FRACTION
MULTIPLIER_BITS = 31
HIGH = 52  # bits below those that tell how many a product has: there are 53 to 57


@dataclass(frozen=True, eq=False)
class GainedParameters(Tflite8Parameters):
    """Parameters with first gains, int32 [out], which multiply their factors; the network file has none."""

    gain: np.ndarray


@dataclass(frozen=True)
class GainTensor:
    """The gains of a trained layer: the name of the tensor, and the index of the layer among all."""

    name: str
    layer: int


def trained_tensors(graph: Graph, trained: Sequence[int]) -> tuple[GainTensor, ...]:
    """Return the trained tensors, input to output, for the indices of the trained layers."""
    return tuple(GainTensor(f"{graph.layers[index].name}.gain", index) for index in trained)


def first_gains(graph: Graph, layer: int) -> np.ndarray:
    """Return the first gains of a layer, int32 [out]; 2^24 where the graph has none."""
    own = graph.own[layer]
    if isinstance(own, GainedParameters):
        return own.gain
    return np.full(graph.layers[layer].channels, ONE, np.int32)


def with_gains(graph: Graph, gains: Sequence[tuple[int, np.ndarray]]) -> Graph:
    """Return the graph with first gains, which come with the indices of their layers."""
    layers, owned = list(graph.layers), graph.own_of(Tflite8Parameters)
    for index, gain in gains:
        known, new = owned[index], np.asarray(gain, np.int32).reshape(-1)
        own = GainedParameters(known.weights, known.bias, known.multiplier, known.shift, known.scale, new)
        layers[index] = _with(layers[index], own)
    return replace(graph, layers=tuple(layers))


def requantized(multiplier: np.ndarray, shift: np.ndarray, gain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return M' (int32) and shift' (int8) of channels with gains.

    Args:
        multiplier: M, 2^30..2^31 - 1.
        shift: of M.
        gain: h, 2^22..2^26.
    """
    product = multiplier.astype(np.int64) * gain
    bits = np.frexp((product >> HIGH).astype(np.float64))[1].astype(np.int64) + HIGH
    down = bits - MULTIPLIER_BITS
    m = (product + (np.int64(1) << (down - 1))) >> down
    over = m == 1 << MULTIPLIER_BITS
    new = shift.astype(np.int64) + down + over - FRACTION
    return np.where(over, 1 << (MULTIPLIER_BITS - 1), m).astype(np.int32), new.astype(np.int8)


def scaled(layer: Tflite8Node, gain: np.ndarray) -> Tflite8Node:
    """Return a layer with the factors that gains give it, and scales of its weights that fit them."""
    own = layer.own
    assert own is not None
    factors = requantized(own.multiplier, own.shift, gain)
    scale = np.clip(own.scale.astype(np.float64) * gain / ONE, SMALLEST_SCALE, LARGEST_SCALE).astype(np.float32)
    return _with(layer, Tflite8Parameters(own.weights, own.bias, *factors, scale))


def folded(graph: Graph, gains: Sequence[tuple[int, np.ndarray]]) -> Graph:
    """Return a graph that computes the same without gains."""
    layers = list(graph.layers)
    for index, gain in gains:
        layers[index] = scaled(graph.node(index, Tflite8Node), gain)
    return replace(graph, layers=tuple(layers))


def _with(layer: N, own: Tflite8Parameters) -> N:
    """Return a layer with parameters that may be of a class of their own."""
    changes: dict[str, Any] = {"own": own}
    return replace(layer, **changes)
