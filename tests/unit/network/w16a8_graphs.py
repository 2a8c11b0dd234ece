"""Graphs in `w16a8`: the small network of docs/arithmetic-w16a8.md, section 7, and drawn ones for hypothesis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from hil.training.graph.formats import Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node, W16A8Node, W16A8Parameters
from hil.training.graph.w16a8_contents import MOST_PRODUCTS, needs_saturating_shift
from network.drawn_graphs import graphs
from network.in_format import in_format


def parameters(
    weights: object, bias: object, scale: float = 2.0**-15, factor: tuple[int, int] = (2**30, -15), largest: int = 32767
) -> W16A8Parameters:
    """Return the parameters of a layer with weights."""
    multiplier, shift = factor
    return W16A8Parameters(
        np.array(weights, "<i2"), np.array(bias, np.int32), multiplier, shift, float(np.float32(scale)), largest
    )


def alone(node: Node, zero: int, scale: float = float(np.float32(1 / 255))) -> Graph:
    """Return a network of one layer."""
    return Graph("alone", (node,), node.in_shape, node.out_shape[2], scale, zero)


def fully_connected(weights: object, bias: object, **others: object) -> Node:
    """Return a layer that reads value 0; `own` are arguments of `parameters`."""
    own = parameters(weights, bias, **others.pop("own", {}))  # type: ignore[arg-type]
    outputs, inputs = own.weights.shape
    shapes = (1, 1, inputs), (1, 1, outputs)
    return W16A8Node("fc1", Op.FULLY_CONNECTED, (0,), *shapes, block=1, own=own, **others)  # type: ignore[arg-type]


def text_network() -> Graph:
    """Return the network of section 7."""
    first = parameters(
        [[9000, -12000, 30000, 500], [-20000, 15000, 8000, -7000], [4000, 22000, -32256, 11000]],
        [100000, -50000, 0],
        factor=(1077952640, -15),
    )
    second = parameters([[30000, -9000, 12000], [-25000, 18000, -6000]], [0, 30000], 2.0**-14)
    layers = (
        W16A8Node("fc1", Op.FULLY_CONNECTED, (0,), (2, 2, 1), (1, 1, 3), block=1, scale=2.0**-7, zero=-128, own=first),
        W16A8Node("fc2", Op.FULLY_CONNECTED, (1,), (1, 1, 3), (1, 1, 2), block=2, scale=2.0**-5, zero=3, own=second),
    )
    return Graph("text", layers, (2, 2, 1), 2, float(np.float32(1 / 255)), -128)


PIXELS = np.array([[[200, 17], [90, 255]], [[3, 240], [128, 60]]], np.uint8)
LABELS = np.array([0, 1])


@st.composite
def w16a8_graphs(draw: st.DrawFn, largest: int = 7, most: int = 6) -> Graph:
    """Draw a graph of any operations whose sums have a bound."""
    graph = draw(graphs(largest, most, Format.W16A8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    w_max = draw(st.sampled_from([32767, 127]))
    reach = draw(st.sampled_from([1, w_max // 64 + 1, w_max]))
    layers = []
    for layer in graph.layers:
        own = layer.own
        if own is not None:
            weights = rng.integers(-reach, reach + 1, own.weights.shape)
            bound = needs_saturating_shift(layer.taps, w_max, graph.zero_of(layer.reads[0]))
            shift = int(rng.integers(-22 if bound else -26, -1 if w_max == 127 else -9))
            bias = rng.integers(-(2**16), 2**16, layer.channels)
            own = parameters(weights, bias, 2.0 ** rng.uniform(-16, 0), (int(rng.integers(2**30, 2**31)), shift), w_max)
            assert layer.taps <= MOST_PRODUCTS
        layers.append(in_format(W16A8Node, layer, own=own))
    return replace(graph, layers=tuple(layers))
