"""The fast passes through a graph against the int64 path, that against loops, and every rounding against fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import AddFactors, Tflite8Node, Tflite8Parameters
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.formats.tflite8.fast import FastLayer
from hil.training.reference.formats.tflite8.passes import Passes
from hil.training.reference.formats.tflite8.rescale import rescale
from hil.training.reference.formats.tflite8.scaling import LARGEST_SHIFT, FloatScaling
from hil.training.reference.methods.poor_mans import PoorMans
from reference.drawn_graphs import drawn_graph, images, sums
from tests.oracle import graph_layers as loops
from tests.oracle import tflite_graph as spec

ROUNDINGS = ("double", "single")


def extreme(graph: Graph, rng: np.random.Generator) -> Graph:
    """Return the graph with shifts, multipliers and biases from all over their ranges in some layers."""
    layers = []
    for layer in graph.layers:
        if layer.own is not None and rng.random() < 0.6:
            n = layer.channels
            low, high = [(-31, 31), (-LARGEST_SHIFT, -4), (-3, 6)][rng.integers(3)]
            size = 2 ** int(rng.integers(4, 30))
            layer = replace(
                layer,
                own=replace(
                    layer.own,
                    multiplier=rng.choice([2**30, 2**31 - 1, int(rng.integers(2**30, 2**31))], n).astype(np.int32),
                    shift=rng.integers(low, high, n).astype(np.int8),
                    bias=rng.integers(-size, size + 1, n).astype(np.int32),
                ),
            )
        layers.append(layer)
    return replace(graph, layers=tuple(layers))


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), wild=st.booleans())
def test_three_hands_agree(seed: int, wild: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng, largest=6, middle=6, more=(Op.MEAN, Op.TABLE))
    graph = extreme(graph, rng) if wild else graph
    pictures, _ = images(graph, 2, rng)
    values = spec.forward(graph, pictures)
    method = PoorMans(graph, GraphSettings())
    fast = Passes(graph).clean(pictures, method.own_now())
    plain = [[int(p) - 128 for p in pictures[0].ravel()]]
    for index, layer in enumerate(graph.layers):
        own = None if layer.own is None else loops.Own(layer.own.weights.ravel().tolist(), layer.own.bias.tolist())
        plain.append(loops.run(graph, layer, [plain[v] for v in layer.reads], own))
        assert values[index + 1][0].ravel().tolist() == plain[-1], layer.name
    for value, (ours, theirs) in enumerate(zip(values, fast, strict=True)):
        np.testing.assert_array_equal(ours, theirs[:, 0] + graph.zero_of(value))


@given(
    acc=st.integers(-(2**24), 2**24),
    multiplier=st.sampled_from([2**30, 2**30 + 1, 2**31 - 1, 3 * 2**29]) | st.integers(2**30, 2**31 - 1),
    shift=st.integers(-LARGEST_SHIFT, 30),
    rounding=st.sampled_from(ROUNDINGS),
    near=st.integers(-3, 3),
    target=st.integers(-300, 300),
)
def test_scaling_in_floats(acc: int, multiplier: int, shift: int, rounding: str, near: int, target: int) -> None:
    """Also on the sums next to a half, where the two roundings and one float too many would show."""
    half = round(Fraction(2 * target + 1, 2) * 2**31 / Fraction(multiplier) / Fraction(2) ** shift) + near
    for a in (acc, max(min(half, 2**24), -(2**24))):
        expected = loops.clamp(loops.rescale(a, multiplier, shift, rounding), -140, 115)
        parts = np.array([multiplier], np.int32), np.array([shift], np.int8)
        scaling = FloatScaling.of(*parts, rounding, -140, 115)
        assert scaling is not None
        for dtype in (np.float32, np.float64):
            assert scaling.apply(np.array([a], dtype)).tolist() == [expected]


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("multiplier", [2**30, 2**31 - 1, 1518500250])
def test_scaling_of_every_sum(rounding: str, multiplier: int) -> None:
    """All sums whose output is not clipped, at every shift that floats hold up to 7; random ones beyond."""
    for shift in range(-LARGEST_SHIFT, 3):
        reach = 2 ** min(10 - shift, 17)
        acc = np.arange(-reach, reach + 1)
        if shift < -7:
            acc = acc * 2 ** (-7 - shift) + np.random.default_rng(shift + 99).integers(0, 2 ** (-7 - shift), acc.size)
        scaling = FloatScaling.of(np.array([multiplier], np.int32), np.array([shift], np.int8), rounding, -255, 255)
        assert scaling is not None
        expected = np.clip(rescale(acc, np.int64(multiplier), np.int64(shift), rounding), -255, 255)
        np.testing.assert_array_equal(scaling.apply(acc[:, None].astype(np.float32))[:, 0], expected)


def test_a_shift_beyond_what_floats_hold_is_left_to_integers() -> None:
    assert FloatScaling.of(np.array([2**30], np.int32), np.array([-LARGEST_SHIFT - 1], np.int8), "double", 0, 1) is None


@cache
def in_fractions(value: int, multiplier: int, shift: int, rounding: str) -> int:
    """`rescale` for shifts of 0 and less."""
    if rounding == "single":
        return loops.half_up(Fraction(value * multiplier) * Fraction(2) ** (shift - 31))
    return loops.half_away(Fraction(loops.half_up(Fraction(value * multiplier, 2**31)), 2**-shift))


def added(a: int, b: int, zeros: tuple[int, int, int], factors: AddFactors, rounding: str) -> int:
    """The text's two lines, in fractions."""
    by_place = list(zip(factors.multipliers, factors.shifts, strict=True))
    s = in_fractions((a - zeros[0]) * 2**20, *by_place[0], rounding) + in_fractions(
        (b - zeros[1]) * 2**20, *by_place[1], rounding
    )
    return loops.clamp(zeros[2] + in_fractions(s, *by_place[2], rounding), -110, 120)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_add_of_every_pair(rounding: str) -> None:
    """All 65,536 pairs; the second factors are such that sums fall on halves, where the roundings part."""
    for zeros, factors in (
        ((-128, 3, -7), AddFactors((1518500250, 2**30, 1317624577), (0, -1, -18))),
        ((5, -20, 0), AddFactors((2**30, 2**30, 2**30), (0, 0, -20))),
    ):
        layer = Tflite8Node(
            "add1",
            Op.ADD,
            (1, 2),
            (256, 256, 1),
            (256, 256, 1),
            act_min=-110,
            act_max=120,
            zero=zeros[2],
            factors=factors,
            rounding=rounding,
        )
        before = [replace(layer, op=Op.MAX_POOL, zero=zero, factors=None) for zero in zeros[:2]]
        graph = Graph("add", (*before, layer), (256, 256, 1), 2)
        a, b = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128), indexing="ij")
        expected = [[added(p, q, zeros, factors, rounding) for q in range(-128, 128)] for p in range(-128, 128)]
        pair = [side.astype(np.int8)[..., None] for side in (a, b)]
        assert spec.run(graph, layer, pair, None, None)[..., 0].tolist() == expected
        shifted = [(side - np.float32(zero))[None, None] for side, zero in zip(pair, zeros, strict=False)]
        assert (FastLayer(graph, layer).run(shifted, None)[0, 0, :, :, 0] + zeros[2]).tolist() == expected


def test_the_roundings_of_an_add_differ() -> None:
    factors = AddFactors((2**30, 2**30, 2**30), (0, 0, -20))
    differ = [
        a
        for a in range(-128, 128)
        if added(a, 0, (0, 0, 0), factors, "double") != added(a, 0, (0, 0, 0), factors, "single")
    ]
    assert differ


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32), queries=st.integers(1, 4))
def test_a_pass_from_any_layer_on_is_the_end_of_a_whole_one(seed: int, queries: int) -> None:
    """With weights of its own for each pass, and nothing but the values that the later layers read."""
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng, middle=6, more=(Op.MEAN, Op.TABLE))
    pictures, _ = images(graph, 2, rng)
    method = PoorMans(graph, GraphSettings(blocks=15))
    for layer in method.trained:
        layer.clip()  # where weights rest when they are perturbed
    values = method.forward.clean(pictures, method.own_now())
    for layer in method.trained:
        noise = rng.choice([-1, 1], (2, queries, layer.coordinates)).astype(np.int8)
        own = method.own_now()
        own[layer.index] = layer.perturbed(noise)
        logits = method.forward.logits(layer.index, dict(enumerate(values)), own)
        for n in range(2):
            for q in range(queries):
                weights, bias = np.split(noise[n, q].astype(np.int32), [layer.layer.weight_count])
                changed = (
                    layer.weights + weights.reshape(layer.weights.shape).astype(np.int8),
                    layer.bias + (bias << layer.bias_steps).astype(np.int32),
                )
                whole = spec.forward(
                    graph.with_parameters(_as_they_are(method) | {layer.index: changed}), pictures[n : n + 1]
                )[-1]
                np.testing.assert_array_equal(logits[n, q] + graph.layers[-1].zero, whole.ravel())


def _as_they_are(method: PoorMans) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    return {layer.index: (layer.weights, layer.bias) for layer in method.trained}


def wide_layer(weight: int, bias: int) -> tuple[Graph, np.ndarray]:
    """Return a fully connected layer of 600 equal weights, and the input at which its sum is largest."""
    own = Tflite8Parameters(
        np.full((2, 600), weight, np.int8),
        np.full(2, bias, np.int32),
        np.full(2, 2**30, np.int32),
        np.full(2, -10, np.int8),
        np.ones(2, np.float32),
    )
    layer = Tflite8Node("fc1", Op.FULLY_CONNECTED, (0,), (1, 1, 600), (1, 1, 2), block=1, own=own)
    return Graph("wide", (layer,), (1, 1, 600), 2), np.full((1, 1, 1, 600), 255, np.uint8)


@pytest.mark.parametrize(("weight", "dtype"), [(108, np.float32), (109, np.float64)])
def test_the_float_type_changes_where_a_sum_may_leave_the_mantissa(weight: int, dtype: type) -> None:
    graph, _ = wide_layer(weight, 0)  # 600 * 255 * (weight + 1) is 2^24 between the two
    own = graph.layers[0].own
    assert own is not None
    assert FastLayer(graph, graph.layers[0]).float_type(own.weights, own.bias) is dtype


def test_a_sum_beyond_the_mantissa_of_binary32_is_exact() -> None:
    graph, pictures = wide_layer(127, 2**25 + 1)
    layer, own = FastLayer(graph, graph.layers[0]), graph.layers[0].own
    assert own is not None
    acc = layer.sums(
        Passes(graph).input_values(pictures),
        layer.own(own.weights.ravel(), own.bias, layer.float_type(own.weights, own.bias)),
    )
    assert acc.ravel().tolist() == sums(graph, graph.layers[0], spec.input_values(graph, pictures)).ravel().tolist()
    assert acc.ravel()[0] == 600 * 255 * 127 + 2**25 + 1


def test_a_layer_whose_sums_may_leave_int32_is_refused() -> None:
    graph, _ = wide_layer(127, 2**31 - 10)
    with pytest.raises(OverflowError, match="fc1"):
        PoorMans(graph, GraphSettings())
