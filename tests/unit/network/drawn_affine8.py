"""Small graphs in `affine8` for hypothesis, some of which go on in `float32` after a cast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from hil.training.graph.affine8 import with_scales
from hil.training.graph.file import NetworkFileError, decode, encode
from hil.training.graph.formats import LARGEST_FLOAT, POOLS, Format, Op, named
from hil.training.graph.graph import Graph
from hil.training.graph.node import Affine8Node, Affine8Parameters, Float32Node, Float32Parameters, Node, Parameters
from network.drawn_graphs import graphs
from network.in_format import in_format

H = LARGEST_FLOAT
F = np.float32
UNLIMITED = (Op.HARD_SWISH, Op.MULTIPLY)
EXTREMES = 0.1  # share of weights that are -128, and that are 127


@st.composite
def affine8_graphs(draw: st.DrawFn, largest: int = 7, most: int = 6, casts: bool = True) -> Graph:
    """Draw a graph; a hard_swish follows some layers, a multiply some average pools, and a cast may come before the end.

    Ranges are those of the sums of random numbers, shortened or lengthened by some power of two.
    """
    drawn = draw(graphs(largest, most, Format.AFFINE8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rounding = draw(st.sampled_from(["nearest", "floor"]))
    scale = float(F(2.0 ** draw(st.sampled_from([-12, -8, -5, 0])) * (1 - 2.0**-9)))
    graph = replace(drawn, layers=(), scale=scale, zero=draw(st.integers(-128, 127)))
    casting = casts and draw(st.booleans())
    places = {0: 0}  # old value: new value
    layers: list[Node] = []

    def append(layer: Node) -> None:
        layers.append(replace(layer, rounding=rounding) if isinstance(layer, Affine8Node) else layer)
        nonlocal graph
        graph = with_scales(replace(graph, layers=tuple(layers)))

    for index, layer in enumerate(drawn.layers):
        reads = tuple(places[value] for value in layer.reads)
        is_last = index == len(drawn.layers) - 1
        if is_last and casting and reads[0]:
            shape = layer.in_shape
            append(Float32Node("", Op.CAST, reads[:1], shape, shape, act_min=-H, act_max=H))
            layers.append(_float(replace(layer, reads=(len(layers),)), rng))
            break
        append(_ranged(graph, replace(layer, reads=reads), draw, rng))
        if not is_last and draw(st.integers(0, 3)) == 0:
            shape = layer.out_shape
            swish = Affine8Node("", Op.HARD_SWISH, (len(layers),), shape, shape)
            append(_ranged(graph, swish, draw, rng))
        if not is_last and draw(st.integers(0, 3)) == 0 and max(layer.out_shape[:2]) <= 255:
            before, shape = len(layers), layer.out_shape
            pool = Affine8Node(
                "",
                Op.AVERAGE_POOL,
                (before,),
                shape,
                (1, 1, shape[2]),
                shape[:2],
                (max(shape[:2]),) * 2,
            )
            append(_ranged(graph, pool, draw, rng))
            pair = Affine8Node("", Op.MULTIPLY, (before, before + 1), shape, shape)
            append(_ranged(graph, pair, draw, rng))
        places[index + 1] = len(layers)
    names = named([layer.op for layer in layers])
    made = with_scales(
        replace(graph, layers=tuple(replace(layer, name=name) for layer, name in zip(layers, names, strict=True)))
    )
    assume(_is_a_network(made))
    return made


def _is_a_network(graph: Graph) -> bool:
    """Return whether a reader takes it: seldom the sums of an add are multiplied by more than it allows."""
    try:
        decode(encode(graph), graph.name)
    except NetworkFileError:
        return False
    return True


def _ranged(graph: Graph, layer: Node, draw: st.DrawFn, rng: np.random.Generator) -> Node:
    """Return a layer of the operation in `affine8`, which reads values of a graph, with weights and a range."""
    scales = [F(graph.scale_of(value)) for value in layer.reads]
    own, least = None, F(2.0**-24)
    if layer.own is not None:
        own = _own(layer, scales[0], rng)
        least = scales[0] * F(own.scale)
    elif layer.op is Op.MULTIPLY:
        least = scales[0] * scales[1]
    act_min, act_max, low, high = -H, H, 0.0, 0.0
    if layer.op not in POOLS:
        width = min(max(float(least) * 255 * 2.0 ** draw(st.integers(1, 9)), 2.0**-19), 2.0**29)
        kind = draw(st.sampled_from(["none", "relu", "bounded"])) if layer.op not in UNLIMITED else "none"
        share = 0.0 if kind == "relu" else draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))
        low, high = float(F(-share * width)) + 0.0, float(F((1 - share) * width))
        act_min, act_max = {"none": (-H, H), "relu": (0.0, H), "bounded": (low, high)}[kind]
    return Affine8Node(
        layer.name, layer.op, layer.reads, layer.in_shape, layer.out_shape, layer.kernel, layer.stride, layer.pad,
        layer.block, act_min, act_max, own=own, low=low, high=high,
    )  # fmt: skip


def _own(layer: Node, s_x: np.float32, rng: np.random.Generator) -> Parameters:
    assert layer.own is not None
    shape = layer.own.weights.shape
    weights = rng.integers(-128, 128, shape)
    weights[rng.random(shape) < EXTREMES] = -128
    weights[rng.random(shape) < EXTREMES] = 127
    scale = F(2.0 ** rng.integers(-10, -4) * 0.99)
    bias = (rng.integers(-3000, 3000, layer.channels) * 0.7 * float(s_x * scale)).astype(F) + F(0)
    zero = int(rng.integers(-128, 128))
    return Affine8Parameters(weights.astype(np.int8), bias, scale=float(scale), zero=zero)


def _float(layer: Node, rng: np.random.Generator) -> Node:
    assert layer.own is not None
    shape = layer.own.weights.shape
    own = Float32Parameters(rng.uniform(-1, 1, shape).astype(F), rng.uniform(-1, 1, layer.channels).astype(F))
    return in_format(Float32Node, layer, own=own, act_min=-H, act_max=H)
