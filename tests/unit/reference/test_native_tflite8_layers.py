"""Layers of `tflite8` in C against NumPy's, bit for bit: every value of a clean pass."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Tflite8Node, Tflite8Parameters
from hil.training.methods.graph_settings import GraphSettings
from hil.training.networks import build
from hil.training.reference.formats.tflite8.passes import Passes
from hil.training.reference.methods.poor_mans import PoorMans
from hil.training.reference.native.build import OWN
from hil.training.reference.native.tflite8.library import NativeTflite8Network, Tflite8Library

from .drawn_graphs import drawn_graph, images
from .test_graph_passes import extreme
from .wide_graphs import OPS, wide_graph

SEEDS = st.integers(0, 2**32)


def numpy_values(graph: Graph, pictures: np.ndarray) -> list[np.ndarray]:
    own = PoorMans(graph, GraphSettings()).own_now()
    return [value.reshape(len(pictures), -1) for value in Passes(graph).clean(pictures, own)]


def check(native: Tflite8Library, graph: Graph, pictures: np.ndarray) -> None:
    network = NativeTflite8Network(graph)
    for value, expected in enumerate(numpy_values(graph, pictures)):
        got = native.outputs(network, pictures, value)
        assert got.dtype == np.int16
        name = graph.layers[value - 1].name if value else "input"
        np.testing.assert_array_equal(got, expected, err_msg=name)


@pytest.mark.parametrize("op", OPS)
@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, wild=st.booleans(), count=st.integers(1, 3))
def test_every_operation(native_tflite8: Tflite8Library, op: Op, seed: int, wild: bool, count: int) -> None:
    rng = np.random.default_rng(seed)
    graph = wide_graph(rng, op)
    graph = extreme(graph, rng) if wild else graph
    check(native_tflite8, graph, images(graph, count, rng)[0])


@settings(max_examples=80, deadline=None)
@given(seed=SEEDS, wild=st.booleans())
def test_small_graphs(native_tflite8: Tflite8Library, seed: int, wild: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng, largest=6, middle=6)
    graph = extreme(graph, rng) if wild else graph
    check(native_tflite8, graph, images(graph, 2, rng)[0])


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
def test_halves_and_extremes(native_tflite8: Tflite8Library, rounding: str, wild: int | None, shift: int) -> None:
    """Sums around halves of outputs, and the largest; `wild`: the shift of another channel, which decides the form."""
    near = [(2 * k + 1) * 2**n + more for k in range(-3, 3) for n in range(30) for more in (-1, 0, 1)]
    sums = [acc for acc in (*near, 0, 2**30, -(2**30), 2**30 - 1) if abs(acc) <= 2**30]
    cases = [(acc, m, shift) for acc in sums for m in (2**30, 2**30 + 1, 2**31 - 1)]
    cases += [] if wild is None else [(7, 2**30, wild)]
    bias, multiplier, shifts = (np.array(column) for column in zip(*cases, strict=True))
    count = len(cases)
    own = Tflite8Parameters(
        np.zeros((count, 1), np.int8), bias.astype(np.int32), multiplier.astype(np.int32), shifts.astype(np.int8),
        np.ones(count, np.float32),
    )  # fmt: skip
    layer = Tflite8Node("fc1", Op.FULLY_CONNECTED, (0,), (1, 1, 1), (1, 1, count), own=own, rounding=rounding)
    graph = Graph("halves", (layer,), (1, 1, 1), count)
    got = native_tflite8.outputs(NativeTflite8Network(graph), np.zeros((1, 1), np.uint8), 1)[0]
    expected = [min(max(rescaled(*case, rounding), -128), 127) for case in cases]
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("rounding", ["double", "single"])
@pytest.mark.parametrize("shift", [-24, -23, -22, -21])
def test_sums_beyond_the_largest_bias(native_tflite8: Tflite8Library, rounding: str, shift: int) -> None:
    """Products raise sums above 2^30, the largest bias: outputs that do not saturate show the whole sum."""
    inputs, signs = 4096, (1, -1)
    cases = [(sign, m) for sign in signs for m in (2**30, 2**30 + 2**29, 2**31 - 1)]
    weights = np.array([[127 * sign] * inputs for sign, _ in cases], np.int8)
    bias = np.array([sign * 2**30 for sign, _ in cases], np.int32)
    own = Tflite8Parameters(
        weights, bias, np.array([m for _, m in cases], np.int32), np.full(len(cases), shift, np.int8),
        np.ones(len(cases), np.float32),
    )  # fmt: skip
    shapes = (1, inputs, 1), (1, 1, len(cases))
    layer = Tflite8Node("fc1", Op.FULLY_CONNECTED, (0,), *shapes, own=own, rounding=rounding)
    graph = Graph("large", (layer,), shapes[0], len(cases))
    got = native_tflite8.outputs(NativeTflite8Network(graph), np.full((1, 1, inputs), 255, np.uint8), 1)[0]
    sums = [sign * (2**30 + inputs * 127 * 255) for sign, _ in cases]
    assert min(map(abs, sums)) > 2**30
    expected = [min(max(rescaled(acc, m, shift, rounding), -128), 127) for acc, (_, m) in zip(sums, cases, strict=True)]
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("built", [OWN], indirect=True)
@pytest.mark.parametrize("network", ["resnet-tiny", "lenet5-tflite", "mcunet-48"])
def test_named_networks(native_tflite8: Tflite8Library, network: str) -> None:
    graph = build(network, 1)
    check(native_tflite8, graph, images(graph, 2, np.random.default_rng(1))[0])
