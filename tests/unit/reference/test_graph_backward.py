"""Roundings and factors of the errors of bp, each by numbers made by hand or by fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.training.graph.formats import Op
from hil.training.graph.node import Node
from hil.training.networks import build
from hil.training.reference.floats import F
from hil.training.reference.formats.tflite8.backward import ErrorPass, Tflite8Errors, joined, logits_error, normalized
from hil.training.reference.formats.tflite8.factors import Chain, Factor, Ratio, shares
from hil.training.reference.formats.tflite8.fast import FastLayer
from hil.training.reference.gradient import Gradient
from reference.drawn_graphs import Builder
from tests.oracle import graph_backward as loops
from tests.oracle.numbers import Tensor


def column(values: list[float]) -> np.ndarray:
    """Return one sample of one value a channel, float32 [1, 1, 1, n]."""
    return np.array(values, F)[None, None, None]


@pytest.mark.parametrize(
    ("sums", "expected", "shift"),
    [
        ([127, -127, 0], [127, -127, 0], 0),
        ([128, -3, -1, 1, 3], [64, -2, -1, 1, 2], 1),  # halves away from zero
        ([255, -255], [127, -127], 1),  # 127.5 is 128, and clipped
        ([-1024, 12, 11, 4, -4, 3], [-64, 1, 1, 0, 0, 0], 4),
        ([0, 0], [0, 0], 0),
        ([2**24 - 1, 2**16, 2**16 - 1, -(2**16)], [127, 1, 0, -1], 17),
        ([2**31 - 1, 2**23, 2**23 - 1], [127, 1, 0], 24),
    ],
)
def test_sums_in_eight_bits(sums: list[int], expected: list[int], shift: int) -> None:
    for dtype in (np.float32, np.float64) if max(sums) < 2**24 else (np.float64,):
        found = normalized(np.array(sums, dtype)[None, None, None], np.array([3]))
        assert found.values.ravel().tolist() == expected
        assert found.exponents.tolist() == [3 + shift]
    assert loops.eight_bits(sums, 3) == Tensor(expected, 3 + shift)


def test_each_sample_has_a_shift_of_its_own() -> None:
    found = normalized(np.array([[[[5.0, 300.0]]], [[[5.0, -3.0]]]]), np.array([0, 7]))
    assert found.values.reshape(2, 2).tolist() == [[1, 75], [5, -3]]
    assert found.exponents.tolist() == [2, 7]


def test_the_error_of_the_logits_is_rounded_half_to_even() -> None:
    """Equal logits: 1 / 2 of 127 is 63.5, which becomes 64, and -63.5 -64; of four 31.75."""
    assert logits_error(np.array([[9, 9]]), np.array([1]), 0.1).tolist() == [[64, -64]]
    assert logits_error(np.array([[-5, -5, -5, -5]]), np.array([0]), 0.1).tolist() == [[-95, 32, 32, 32]]
    assert logits_error(np.array([[127, -128]]), np.array([0]), 3.0).tolist() == [[0, 0]]
    assert logits_error(np.array([[127, -128]]), np.array([1]), 3.0).tolist() == [[127, -127]]


@given(
    st.lists(st.integers(-128, 127), min_size=2, max_size=9),
    st.integers(0, 1),
    st.sampled_from([0.001, 0.05, 0.7, 3.0]),
)
def test_the_error_of_the_logits_is_the_slope_of_the_loss(logits: list[int], label: int, scale: float) -> None:
    x = (np.array(logits) - max(logits)) * float(F(scale))
    slope = np.exp(x) / np.exp(x).sum() - (np.arange(len(x)) == label)
    found = logits_error(np.array([logits]), np.array([label]), scale)[0]
    assert np.abs(found - 127 * slope).max() <= 0.5 + 1e-4
    assert found.tolist() == loops.logits_error(logits, label, F(scale)).values


def layer_with(multipliers: list[int], shifts: list[int]) -> Node:
    """Return a pointwise layer of two inputs with these factors, all weights 1."""
    n = len(multipliers)
    builder = Builder(np.random.default_rng(1), (1, 1, 2), "double", 2)
    builder.append(Op.POINTWISE, (1, 1, n), (1, 1), 1)
    [layer] = builder.graph.layers
    assert layer.own is not None
    changed = replace(
        layer.own,
        weights=np.ones((n, 1, 1, 2), np.int8),
        multiplier=np.array(multipliers, np.int32),
        shift=np.array(shifts, np.int8),
    )
    return replace(layer, own=changed)


def shares_with(multipliers: list[int], shifts: list[int]) -> np.ndarray:
    return shares(layer_with(multipliers, shifts).own)


def test_shares_are_floors_of_exact_quotients() -> None:
    """The first of the channels whose rounded factor is the largest counts: 2^31 - 1 and 2^31 - 2 both round to 2^31."""
    assert shares_with([2**30, 2**30, 3 * 2**29], [0, -1, -1]).tolist() == [2**15, 2**14, 3 * 2**13]
    assert shares_with([2**31 - 2, 2**31 - 1], [3, 3]).tolist() == [2**15, 2**15]
    assert shares_with([2**31 - 1, 2**31 - 2], [3, 3]).tolist() == [2**15, 2**15 - 1]
    assert shares_with([2**30, 2**31 - 1], [-31, 30]).tolist() == [0, 2**15]
    for m in (2**30 + 12345, 2**31 - 1, 1518500249):
        expected = [2**15, int(Fraction(2**15 * m, 4 * (2**31 - 1)))]
        assert shares_with([2**31 - 1, m], [0, -2]).tolist() == expected


@pytest.mark.parametrize(
    ("errors", "expected", "exponent"),
    [
        ([10, -3], 8, 4),
        ([10, 5], 13, 4),
        ([0, 127], 64, 4),
        ([0, 1], 1, 4),
        ([0, -1], -1, 4),
        ([-127, -127], -96, 5),  # -127 and -64: -191, halved
    ],
)
def test_errors_are_made_even_before_they_are_summed(errors: list[int], expected: int, exponent: int) -> None:
    """Shares of 1 and 1/2, halves away from zero: -3 becomes -2, 5 becomes 3; then the sum of both."""
    layer = layer_with([2**30, 2**30], [0, -1])
    builder = Builder(np.random.default_rng(1), (1, 1, 2), "double", 2)
    builder.append(Op.POINTWISE, (1, 1, 2), (1, 1), 1)
    graph = replace(builder.graph, layers=(builder.graph.layers[0], replace(layer, reads=(1,))))
    fast, held = [FastLayer(graph, one) for one in graph.layers], {}
    own = [None, fast[1].own(layer.own.weights.ravel(), layer.own.bias, np.float32)]
    ErrorPass(graph, fast, 0).hand_on(1, Tflite8Errors(column(errors), np.array([4])), [], own, held)
    assert held[1].values.ravel().tolist() == [expected] * 2
    assert held[1].exponents.tolist() == [exponent]


@pytest.mark.parametrize(
    ("reader", "value", "m", "k"),
    [
        (Factor(F(1), 0), Factor(F(1), 0), 2**15, -15),
        (Factor(F(1), 0), Factor(F(1.5), 3), 0xAAAA, -19),  # 2 / 3: the rest of the fraction is cut off
        (Factor(F(1.75), -4), Factor(F(1), -9), 7 * 2**13, -10),
        (Factor(F(2) - F(2**-23), 0), Factor(F(1), 0), 2**16 - 1, -15),
    ],
)
def test_ratios(reader: Factor, value: Factor, m: int, k: int) -> None:
    assert Ratio.of(reader, value) == Ratio(m, k)


def test_a_reader_is_added_in_the_larger_of_the_exponents() -> None:
    """By hand, with a ratio of 1: 3 * 2^4 + 5 * 2^2 = 68; a far smaller one is cut off toward zero, of either sign."""
    one = Ratio(2**15, -15)
    cases = [
        ([3], 4, [5], 2, one, 68),
        ([3], 4, [-3], 4, one, 0),
        ([1], 20, [127], 5, one, 2**20 + 127 * 2**5),
        ([127], 0, [127], 0, one, 254),
        ([1], 40, [-127], 0, one, 2**40),
        ([-1], 0, [1], 60, one, 2**60),
        ([10], 0, [10], 0, Ratio(3 * 2**14, -15), 25),
    ]
    for e, x, e2, x2, ratio, expected in cases:
        found = joined(Tflite8Errors(column(e), np.array([x])), Tflite8Errors(column(e2), np.array([x2])), ratio)
        value = found.values.item() * Fraction(2) ** found.exponents.item()
        assert abs(value - expected) <= Fraction(abs(expected), 128), (e, e2)
    cut = joined(
        Tflite8Errors(column([64, -64]), np.array([0])), Tflite8Errors(column([-127, 127]), np.array([-22])), one
    )
    assert (cut.values.ravel().tolist(), cut.exponents.tolist()) == ([64, -64], [0])


@given(
    st.lists(st.tuples(st.integers(-127, 127), st.integers(-127, 127)), min_size=1, max_size=4),
    st.integers(-40, 40),
    st.integers(-40, 40),
    st.floats(1, 2, exclude_max=True, width=32),
    st.floats(1, 2, exclude_max=True, width=32),
    st.integers(-20, 20),
)
def test_joins_are_those_in_loops(pairs: list[tuple[int, int]], x: int, x2: int, c: float, c2: float, j: int) -> None:
    e, e2 = ([pair[side] for pair in pairs] for side in (0, 1))
    ratio = Ratio.of(Factor(F(c2), j), Factor(F(c), 0))
    found = joined(Tflite8Errors(column(e), np.array([x])), Tflite8Errors(column(e2), np.array([x2])), ratio)
    expected = loops.joined(Tensor(e, x), loops.Scaled(F(c), 0), Tensor(e2, x2), loops.Scaled(F(c2), j))
    assert (found.values.ravel().tolist(), found.exponents.item()) == (expected.values, expected.exponent)


def test_the_factors_of_a_deep_network_stay_normal() -> None:
    """MCUNet's first layer: a step of its output is worth far less than binary32 holds, but for the power of two."""
    graph = build("mcunet-48", 1)
    chain = Chain.of(graph, 0)
    assert len(chain.of_value) == len(graph.layers)
    assert all(1 <= factor.c < 2 for factor in chain.of_value.values())
    assert chain.of_value[1].j < -149
    for (index, place), ratio in chain.of_reader.items():
        assert graph.layers[index].reads[place] in chain.of_value
        assert 2**15 <= ratio.m < 2**16


@given(
    st.lists(st.integers(-40, 10), min_size=1, max_size=6),
    st.integers(0, 2**32),
    st.sampled_from([5, 2**10, 2**23, 2**31 - 1]),
    st.integers(1, 6),
)
def test_samples_together_are_samples_one_by_one(exponents: list[int], seed: int, size: int, at_once: int) -> None:
    """Also where a sum saturates."""
    rng = np.random.default_rng(seed)
    each = rng.integers(-size, size + 1, (len(exponents), 4))
    together, one_by_one = Gradient(), Gradient()
    for gradient, exponent in zip(each, exponents, strict=True):
        one_by_one.add(gradient, exponent)
    for first in range(0, len(each), at_once):
        part = slice(first, first + at_once)
        together.add_all(each[part].astype(np.float64), np.array(exponents[part]))
    assert (together.total.tolist(), together.exponent) == (one_by_one.total.tolist(), one_by_one.exponent)
