"""Small graphs in `tflite8` for hypothesis: every operation, values read twice, odd windows, extreme weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from hil.graph.graph import OPS, POOLS, AddFactors, Format, Graph, Node, Op, Parameters, Shape, named
from network.drawn import drawn_weights

SCALES = st.integers(-12, 4).map(lambda e: float(np.float32(2.0**e * 1.37)))
ZEROS = st.integers(-128, 127)


@st.composite
def graphs(draw: st.DrawFn, largest: int = 7, most: int = 6) -> Graph:
    """Draw a graph of up to `most` layers and a fully connected one, whose input is at most `largest` high and wide."""
    in_shape = (draw(st.integers(1, largest)), draw(st.integers(1, largest)), draw(st.integers(1, 4)))
    graph = Graph("drawn", (), in_shape, draw(st.integers(2, 5)), draw(SCALES), draw(ZEROS))
    graph = replace(graph, rounding=draw(st.sampled_from(["double", "single"])))
    for _ in range(draw(st.integers(0, most))):
        graph = replace(graph, layers=(*graph.layers, _layer(draw, graph, draw(st.sampled_from(OPS[Format.TFLITE8])))))
    graph = replace(graph, layers=(*graph.layers, _layer(draw, graph, Op.FULLY_CONNECTED, graph.classes)))
    names = named([layer.op for layer in graph.layers])
    return replace(graph, layers=tuple(replace(a, name=name) for a, name in zip(graph.layers, names, strict=True)))


def _shape(graph: Graph, value: int) -> Shape:
    return graph.layers[value - 1].out_shape if value else graph.in_shape


def _layer(draw: st.DrawFn, graph: Graph, op: Op, outputs: int = 0) -> Node:
    value = draw(st.integers(0, len(graph.layers)))
    shape = _shape(graph, value)
    low, high = sorted((draw(ZEROS), draw(ZEROS)))
    common = Node("", op, (value,), shape, shape, act_min=low, act_max=high, scale=draw(SCALES), zero=draw(ZEROS))
    if op is Op.ADD:
        return _add(draw, graph, common)
    if op is Op.FULLY_CONNECTED:
        out = (1, 1, outputs or draw(st.integers(1, 6)))
        return _weighted(draw, replace(common, out_shape=out), (out[2], shape[0] * shape[1] * shape[2]))
    if op is Op.POINTWISE:
        layer = replace(common, kernel=(1, 1), stride=1, out_shape=(*shape[:2], draw(st.integers(1, 6))))
        return _weighted(draw, layer, (layer.out_shape[2], 1, 1, shape[2]))
    layer = _window(draw, common)
    if op in POOLS:
        return replace(layer, scale=graph.scale_of(value), zero=graph.zero_of(value))
    if op is Op.DEPTHWISE:
        return _weighted(draw, layer, (*layer.kernel, shape[2]))
    layer = replace(layer, out_shape=(*layer.out_shape[:2], draw(st.integers(1, 4))))
    return _weighted(draw, layer, (layer.out_shape[2], *layer.kernel, shape[2]))


def _window(draw: st.DrawFn, layer: Node) -> Node:
    """Draw TFLite's SAME or VALID, or the padding that is the same on all sides."""
    height, width, channels = layer.in_shape
    stride = draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["same", "valid", "sides"]))
    if kind == "same":
        k = draw(st.integers(1, 5))
        out = -(-height // stride), -(-width // stride)
        pads = {max((o - 1) * stride + k - n, 0) // 2 for o, n in zip(out, (height, width), strict=True)}
        if len(pads) == 1:  # both axes share the padding
            return replace(layer, kernel=(k, k), stride=stride, pad=pads.pop(), out_shape=(*out, channels))
    kernel = draw(st.integers(1, min(height, 4))), draw(st.integers(1, min(width, 4)))
    pad = draw(st.integers(0, min(kernel) - 1)) if kind == "sides" else 0
    sizes = tuple((n + 2 * pad - k) // stride + 1 for n, k in zip((height, width), kernel, strict=True))
    return replace(layer, kernel=kernel, stride=stride, pad=pad, out_shape=(*sizes, channels))


def _add(draw: st.DrawFn, graph: Graph, layer: Node) -> Node:
    same = [value for value in range(len(graph.layers) + 1) if _shape(graph, value) == layer.in_shape]
    multipliers = [draw(st.integers(2**30, 2**31 - 1)) for _ in range(3)]
    shifts = [draw(st.integers(-20, 0)) for _ in range(3)]
    factors = AddFactors((multipliers[0], multipliers[1], multipliers[2]), (shifts[0], shifts[1], shifts[2]))
    return replace(layer, reads=(layer.reads[0], draw(st.sampled_from(same))), factors=factors)


def _weighted(draw: st.DrawFn, layer: Node, shape: tuple[int, ...]) -> Node:
    channels = layer.out_shape[2]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    own = Parameters(
        drawn_weights(draw, shape),
        rng.integers(-(2**12), 2**12, channels).astype(np.int32),
        rng.integers(2**30, 2**31, channels).astype(np.int32),
        rng.integers(-9, 1, channels).astype(np.int8),
        (2.0 ** rng.uniform(-9, 2, channels)).astype(np.float32),
    )
    return replace(layer, own=own, block=draw(st.integers(1, 4)))
