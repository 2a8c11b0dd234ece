"""Small graphs in `tflite8` for hypothesis: every operation, values read twice, odd windows, extreme weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from hil.training.graph.formats import OPS, POOLS, Format, Op, Shape, named
from hil.training.graph.graph import Graph
from hil.training.graph.node import AddFactors, MeanFactor, Node, Table, Tflite8Node, Tflite8Parameters
from network.drawn import drawn_weights

SCALES = st.integers(-12, 4).map(lambda e: float(np.float32(2.0**e * 1.37)))
ZEROS = st.integers(-128, 127)


@st.composite
def graphs(draw: st.DrawFn, largest: int = 7, most: int = 6, format: Format = Format.TFLITE8) -> Graph:
    """Draw a graph of up to `most` layers and a fully connected one, whose input is at most `largest` high and wide.

    It is in `tflite8`, and has operations that `format` has, too.
    """
    roundings = st.sampled_from(["double", "single"])
    in_shape = (draw(st.integers(1, largest)), draw(st.integers(1, largest)), draw(st.integers(1, 4)))
    graph = Graph("drawn", (), in_shape, draw(st.integers(2, 5)), draw(SCALES), draw(ZEROS))
    ops = [op for op in OPS[Format.TFLITE8] if op in OPS[format]]
    for _ in range(draw(st.integers(0, most))):
        layer = _layer(draw, graph, draw(st.sampled_from(ops)))
        graph = replace(graph, layers=(*graph.layers, layer))
    graph = replace(graph, layers=(*graph.layers, _layer(draw, graph, Op.FULLY_CONNECTED, graph.classes)))
    graph = replace(graph, layers=tuple(replace(layer, rounding=draw(roundings)) for layer in graph.layers))
    names = named([layer.op for layer in graph.layers])
    return replace(graph, layers=tuple(replace(a, name=name) for a, name in zip(graph.layers, names, strict=True)))


def _shape(graph: Graph, value: int) -> Shape:
    return graph.layers[value - 1].out_shape if value else graph.in_shape


def _layer(draw: st.DrawFn, graph: Graph, op: Op, outputs: int = 0) -> Node:
    value = draw(st.integers(0, len(graph.layers)))
    shape = _shape(graph, value)
    low, high = sorted((draw(ZEROS), draw(ZEROS)))
    common = Tflite8Node(
        "", op, (value,), shape, shape, act_min=low, act_max=high, scale=draw(SCALES), zero=draw(ZEROS)
    )
    if op is Op.TABLE:
        entries = np.random.default_rng(draw(st.integers(0, 2**32))).integers(-128, 128, 256)
        return replace(common, act_min=-128, act_max=127, factors=Table.holding(entries))
    if op is Op.MEAN:
        factor = MeanFactor(draw(st.integers(2**29, 2**31 - 1)), draw(st.integers(-12, 2)))
        return replace(common, out_shape=(1, 1, shape[2]), factors=factor)
    if op is Op.ADD:
        return _add(draw, graph, common)
    if op is Op.FULLY_CONNECTED:
        out = (1, 1, outputs or draw(st.integers(1, 6)))
        return _weighted(draw, replace(common, out_shape=out), (out[2], shape[0] * shape[1] * shape[2]))
    if op is Op.POINTWISE:
        layer = replace(common, kernel=(1, 1), stride=(1, 1), out_shape=(*shape[:2], draw(st.integers(1, 6))))
        return _weighted(draw, layer, (layer.out_shape[2], 1, 1, shape[2]))
    layer = _window(draw, common)
    if op in POOLS:
        return replace(layer, scale=graph.scale_of(value), zero=graph.zero_of(value))
    if op is Op.DEPTHWISE:
        return _weighted(draw, layer, (*layer.kernel, shape[2]))
    layer = replace(layer, out_shape=(*layer.out_shape[:2], draw(st.integers(1, 4))))
    return _weighted(draw, layer, (layer.out_shape[2], *layer.kernel, shape[2]))


def _window(draw: st.DrawFn, layer: Node) -> Node:
    height, width, _ = layer.in_shape
    axes = _axis(draw, height), _axis(draw, width)
    kernel, stride, pad, out = ((down, across) for down, across in zip(*axes, strict=True))
    return replace(layer, kernel=kernel, stride=stride, pad=pad, out_shape=(*out, layer.in_shape[2]))


def _axis(draw: st.DrawFn, size: int) -> tuple[int, int, int, int]:
    """Draw kernel, stride, padding and output of an axis: TFLite's SAME or VALID, padding equal on both sides, or any."""
    stride, kind = draw(st.integers(1, 3)), draw(st.sampled_from(["same", "valid", "sides", "any"]))
    if kind == "same":
        kernel, out = draw(st.integers(1, 5)), -(-size // stride)
        return kernel, stride, max((out - 1) * stride + kernel - size, 0) // 2, out
    kernel = draw(st.integers(1, 5 if kind == "any" else min(size, 4)))
    pad = 0 if kind == "valid" else draw(st.integers(0, kernel - 1))
    if kind == "any":
        return kernel, stride, pad, draw(st.integers(1, (size + pad - 1) // stride + 1))
    return kernel, stride, pad, (size + 2 * pad - kernel) // stride + 1


def _add(draw: st.DrawFn, graph: Graph, layer: Node) -> Node:
    same = [value for value in range(len(graph.layers) + 1) if _shape(graph, value) == layer.in_shape]
    multipliers = [draw(st.integers(2**30, 2**31 - 1)) for _ in range(3)]
    shifts = [draw(st.integers(-20, 0)) for _ in range(3)]
    factors = AddFactors((multipliers[0], multipliers[1], multipliers[2]), (shifts[0], shifts[1], shifts[2]))
    return replace(layer, reads=(layer.reads[0], draw(st.sampled_from(same))), factors=factors)


def _weighted(draw: st.DrawFn, layer: Node, shape: tuple[int, ...]) -> Node:
    channels = layer.out_shape[2]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    own = Tflite8Parameters(
        drawn_weights(draw, shape),
        rng.integers(-(2**12), 2**12, channels).astype(np.int32),
        rng.integers(2**30, 2**31, channels).astype(np.int32),
        rng.integers(-9, 1, channels).astype(np.int8),
        (2.0 ** rng.uniform(-9, 2, channels)).astype(np.float32),
    )
    return replace(layer, own=own, block=draw(st.integers(1, 4)))
