"""Small graphs in `float32` for hypothesis: those in `tflite8` with other numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from hil.training.graph.formats import LARGEST_FLOAT, POOLS, Format
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Node, Float32Parameters, Node
from network.drawn_graphs import graphs

LIMITS = ((-LARGEST_FLOAT, LARGEST_FLOAT), (0.0, LARGEST_FLOAT), (0.0, 6.0), (-0.5, 0.25))
LARGEST_WEIGHT = 2.0**20


@st.composite
def float32_graphs(draw: st.DrawFn, largest: int = 7, most: int = 6) -> Graph:
    """Draw a graph; its weights are of one magnitude from 2^-140, which is subnormal, to the largest of a file."""
    graph = draw(graphs(largest, most, Format.FLOAT32))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    magnitude = 2.0 ** draw(st.sampled_from([-140, -10, -2, 0, 3, 20]))
    layers = tuple(_layer(layer, draw(st.sampled_from(LIMITS)), magnitude, rng) for layer in graph.layers)
    scale = float(np.float32(2.0 ** draw(st.sampled_from([-40, -9, -7, 0, 32])) * (1 - 2.0**-9)))
    return replace(graph, layers=layers, scale=max(scale, 2.0**-40))


def _layer(layer: Node, limits: tuple[float, float], magnitude: float, rng: np.random.Generator) -> Node:
    low, high = LIMITS[0] if layer.op in POOLS else limits
    own = None
    if layer.own is not None:
        own = Float32Parameters(
            _drawn(layer.own.weights.shape, magnitude, rng), _drawn(layer.own.bias.shape, magnitude, rng)
        )
    return Float32Node(
        layer.name, layer.op, layer.reads, layer.in_shape, layer.out_shape, layer.kernel, layer.stride, layer.pad,
        layer.block, low, high, own=own,
    )  # fmt: skip


def _drawn(shape: tuple[int, ...], magnitude: float, rng: np.random.Generator) -> np.ndarray:
    drawn = rng.uniform(-1, 1, shape) * magnitude
    drawn[rng.random(shape) < 0.1] = -0.0
    drawn[rng.random(shape) < 0.1] = magnitude
    return np.clip(drawn, -LARGEST_WEIGHT, LARGEST_WEIGHT).astype(np.float32)
