"""Layers of `tflite8` in C against NumPy's, bit for bit: every value of a clean pass."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.graph.graph import Graph, Node, Op, Parameters
from hil.methods.graph_settings import GraphSettings
from hil.networks import build
from hil.reference.formats.tflite8.passes import Passes
from hil.reference.methods.poor_mans import PoorMans
from hil.reference.native.build import OWN
from hil.reference.native.tflite8.library import Native, NativeNetwork

from .drawn_graphs import drawn_graph, images
from .test_graph_passes import extreme
from .wide_graphs import OPS, WITH_KERNEL, by_axes, wide_graph, with_rounding

SEEDS = st.integers(0, 2**32)


def numpy_values(graph: Graph, pictures: np.ndarray) -> list[np.ndarray]:
    own = PoorMans(graph, GraphSettings()).own_now()
    return [value.reshape(len(pictures), -1) for value in Passes(graph).clean(pictures, own)]


def check(native: Native, graph: Graph, pictures: np.ndarray) -> None:
    network = NativeNetwork(graph)
    for value, expected in enumerate(numpy_values(graph, pictures)):
        got = native.outputs(network, pictures, value)
        assert got.dtype == np.int16
        name = graph.layers[value - 1].name if value else "input"
        np.testing.assert_array_equal(got, expected, err_msg=name)


@pytest.mark.parametrize("op", OPS)
@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, wild=st.booleans(), count=st.integers(1, 3))
def test_every_operation(native_tflite8: Native, op: Op, seed: int, wild: bool, count: int) -> None:
    rng = np.random.default_rng(seed)
    graph = wide_graph(rng, op)
    graph = extreme(graph, rng) if wild else graph
    check(native_tflite8, graph, images(graph, count, rng)[0])


@settings(max_examples=80, deadline=None)
@given(seed=SEEDS, wild=st.booleans())
def test_small_graphs(native_tflite8: Native, seed: int, wild: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng, largest=6, middle=6)
    graph = extreme(graph, rng) if wild else graph
    check(native_tflite8, graph, images(graph, 2, rng)[0])


@pytest.mark.parametrize("op", WITH_KERNEL)
@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_stride_and_padding_by_axis(native_tflite8: Native, op: Op, seed: int) -> None:
    """Of a layer with stride 1 and much padding, each layer with less padding and longer strides has some outputs."""
    rng = np.random.default_rng(seed)
    graph, kernel = by_axes(op, rng)
    (layer, _), pictures = graph.layers, images(graph, 2, rng)[0]
    whole = numpy_values(graph, pictures)[1].reshape(2, *layer.out_shape)
    pad = [int(n) for n in rng.integers(0, layer.pad + 1, 2)]
    stride = [int(n) for n in rng.integers(1, 4, 2)]
    expected = whole[:, layer.pad - pad[0] :: stride[0], layer.pad - pad[1] :: stride[1]]
    out = [
        int(rng.integers(1, min((n + p - 1) // s + 1, (n + 2 * p - k) // s + 1) + 1))
        for n, p, s, k in zip(layer.in_shape[:2], pad, stride, kernel, strict=True)
    ]
    expected = expected[:, : out[0], : out[1]]
    network = NativeNetwork(graph)
    own = network.structure.layer[0]
    own.stride_y, own.stride_x, own.padding_y, own.padding_x = *stride, *pad
    own.out_height, own.out_width = out
    got = native_tflite8.outputs(network, pictures, 1)  # has room for the outputs of the layer as it was
    size = expected[0].size
    np.testing.assert_array_equal(got.ravel()[: 2 * size].reshape(expected.shape), expected)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, op=st.sampled_from([Op.CONV2D, Op.DEPTHWISE, Op.POINTWISE, Op.FULLY_CONNECTED, Op.ADD]))
def test_rounding_by_layer(native_tflite8: Native, seed: int, op: Op) -> None:
    rng = np.random.default_rng(seed)
    graph = wide_graph(rng, op, 0)
    pictures = images(graph, 2, rng)[0]
    both = {rounding: numpy_values(with_rounding(graph, rounding), pictures) for rounding in ("double", "single")}
    own, other = ("double", "single") if rng.integers(2) else ("single", "double")
    network = NativeNetwork(with_rounding(graph, own))
    network.structure.layer[0].rounding = 1 - network.structure.layer[0].rounding
    np.testing.assert_array_equal(native_tflite8.outputs(network, pictures, 1), both[other][1])


def rescaled(acc: int, multiplier: int, shift: int, rounding: str) -> int:
    """Return `rescale` as section 3 of the text has it."""
    if rounding == "single":
        return math.floor(Fraction(acc * multiplier, 2 ** (31 - shift)) + Fraction(1, 2))
    raised = min(max(acc * 2 ** max(shift, 0), -(2**31)), 2**31 - 1)
    high = math.floor(Fraction(raised * multiplier, 2**31) + Fraction(1, 2))
    size = math.floor(Fraction(abs(high), 2 ** max(-shift, 0)) + Fraction(1, 2))
    return size if high >= 0 else -size


@pytest.mark.parametrize("rounding", ["double", "single"])
@pytest.mark.parametrize("wild", [None, -31, 5])
@pytest.mark.parametrize("shift", [*range(-31, 31, 3), -22, -21, -20, -2, -1, 0, 1])
def test_halves_and_extremes(native_tflite8: Native, rounding: str, wild: int | None, shift: int) -> None:
    """Sums around halves of outputs, and the largest; `wild`: the shift of another channel, which decides the form."""
    near = [(2 * k + 1) * 2**n + more for k in range(-3, 3) for n in range(30) for more in (-1, 0, 1)]
    sums = [acc for acc in (*near, 0, 2**30, -(2**30), 2**30 - 1) if abs(acc) <= 2**30]
    cases = [(acc, m, shift) for acc in sums for m in (2**30, 2**30 + 1, 2**31 - 1)]
    cases += [] if wild is None else [(7, 2**30, wild)]
    bias, multiplier, shifts = (np.array(column) for column in zip(*cases, strict=True))
    count = len(cases)
    own = Parameters(
        np.zeros((count, 1), np.int8), bias.astype(np.int32), multiplier.astype(np.int32), shifts.astype(np.int8),
        np.ones(count, np.float32),
    )  # fmt: skip
    layer = Node("fc1", Op.FULLY_CONNECTED, (0,), (1, 1, 1), (1, 1, count), own=own)
    graph = Graph("halves", (layer,), (1, 1, 1), count, rounding=rounding)
    got = native_tflite8.outputs(NativeNetwork(graph), np.zeros((1, 1), np.uint8), 1)[0]
    expected = [min(max(rescaled(*case, rounding), -128), 127) for case in cases]
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("built", [OWN], indirect=True)
@pytest.mark.parametrize("network", ["resnet-tiny", "lenet5-tflite", "mcunet-48"])
def test_named_networks(native_tflite8: Native, network: str) -> None:
    graph = build(network, 1)
    check(native_tflite8, graph, images(graph, 2, np.random.default_rng(1))[0])
