"""Roundings of the errors, momentum, quantization-aware scaling, refusals and work of bp: each by numbers made by hand or by fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import RigError
from hil.network.tflite.layers import Graph, GraphLayer, GraphOp
from hil.network.tflite.networks import build_graph
from hil.network.tflite.settings import GraphSettings
from hil.reference.floats import F
from hil.reference.gradient import Gradient
from hil.reference.methods import graph_method
from hil.reference.methods.back_propagation import BackPropagation
from hil.reference.plain import graph_backward as loops
from hil.reference.plain.numbers import Tensor
from hil.reference.tflite.backward import BackwardPass, Errors, _joined, _normalized, logits_error
from hil.reference.tflite.factors import Chain, Factor, Ratio, shares
from hil.reference.tflite.fast import FastLayer
from hil.reference.tflite.update import momentum_steps
from reference.drawn_graphs import Builder, images
from reference.test_graph_steps import after, same, whole_graph

BP = GraphSettings(method="bp", eta=0.5)


def column(values: list[float]) -> np.ndarray:
    """Return one sample of one value a channel, float32 [1, 1, 1, n]."""
    return np.array(values, F)[None, None, None]


def test_bp_is_known_by_its_name() -> None:
    assert graph_method("bp") is BackPropagation


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
        found = _normalized(np.array(sums, dtype)[None, None, None], np.array([3]))
        assert found.values.ravel().tolist() == expected
        assert found.exponents.tolist() == [3 + shift]
    assert loops.eight_bits(sums, 3) == Tensor(expected, 3 + shift)


def test_each_sample_has_a_shift_of_its_own() -> None:
    found = _normalized(np.array([[[[5.0, 300.0]]], [[[5.0, -3.0]]]]), np.array([0, 7]))
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


def layer_with(multipliers: list[int], shifts: list[int]) -> GraphLayer:
    """Return a pointwise layer of two inputs with these factors, all weights 1."""
    n = len(multipliers)
    builder = Builder(np.random.default_rng(1), (1, 1, 2), "double", 2)
    builder.append(GraphOp.POINTWISE, (1, 1, n), (1, 1), 1)
    [layer] = builder.graph.layers
    assert layer.own is not None
    changed = replace(
        layer.own,
        weights=np.ones((n, 1, 1, 2), np.int8),
        multiplier=np.array(multipliers, np.int32),
        shift=np.array(shifts, np.int8),
    )
    return replace(layer, own=changed)


def test_shares_are_floors_of_exact_quotients() -> None:
    """The first of the channels whose rounded factor is the largest counts: 2^31 - 1 and 2^31 - 2 both round to 2^31."""
    assert shares(layer_with([2**30, 2**30, 3 * 2**29], [0, -1, -1])).tolist() == [2**15, 2**14, 3 * 2**13]
    assert shares(layer_with([2**31 - 2, 2**31 - 1], [3, 3])).tolist() == [2**15, 2**15]
    assert shares(layer_with([2**31 - 1, 2**31 - 2], [3, 3])).tolist() == [2**15, 2**15 - 1]
    assert shares(layer_with([2**30, 2**31 - 1], [-31, 30])).tolist() == [0, 2**15]
    for m in (2**30 + 12345, 2**31 - 1, 1518500249):
        expected = [2**15, int(Fraction(2**15 * m, 4 * (2**31 - 1)))]
        assert shares(layer_with([2**31 - 1, m], [0, -2])).tolist() == expected


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
    builder.append(GraphOp.POINTWISE, (1, 1, 2), (1, 1), 1)
    graph = replace(builder.graph, layers=(builder.graph.layers[0], replace(layer, reads=(1,))))
    fast, held = [FastLayer(graph, one) for one in graph.layers], {}
    own = [None, fast[1].own(layer.own.weights.ravel(), layer.own.bias, np.float32)]
    BackwardPass(graph, fast, 0)._hand_on(1, Errors(column(errors), np.array([4])), [], own, held)
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
        found = _joined(Errors(column(e), np.array([x])), Errors(column(e2), np.array([x2])), ratio)
        value = found.values.item() * Fraction(2) ** found.exponents.item()
        assert abs(value - expected) <= Fraction(abs(expected), 128), (e, e2)
    cut = _joined(Errors(column([64, -64]), np.array([0])), Errors(column([-127, 127]), np.array([-22])), one)
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
    found = _joined(Errors(column(e), np.array([x])), Errors(column(e2), np.array([x2])), ratio)
    expected = loops.joined(Tensor(e, x), loops.Scaled(F(c), 0), Tensor(e2, x2), loops.Scaled(F(c2), j))
    assert (found.values.ravel().tolist(), found.exponents.item()) == (expected.values, expected.exponent)


def test_the_factors_of_a_deep_network_stay_normal() -> None:
    """MCUNet's first layer: a step of its output is worth far less than binary32 holds, but for the power of two."""
    graph = build_graph("mcunet-48", 1)
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


def velocity_after(gradients: list[int], momentum: float, exponent: int, factor: float) -> list[tuple[float, int]]:
    """Return V and D after each step of one coordinate."""
    velocity, found = np.zeros(1, F), []
    for gradient in gradients:
        velocity, by = momentum_steps(velocity, momentum, np.array([gradient]), exponent, np.array([factor], F))
        found.append((velocity.item(), by.item()))
    return found


def test_momentum_by_hand() -> None:
    assert velocity_after([6, 0, 0, -10], 0.5, 0, 0.5) == [(3.0, 3), (1.5, 2), (0.75, 1), (-4.625, -5)]
    assert velocity_after([5, 5], 0.5, -1, 1.0) == [
        (2.5, 2),
        (3.75, 4),
    ]  # halves to even: weights and V are not the same
    assert velocity_after([2**30, 2**30, -1], 0.5, 0, 1.0) == [(2**22, 2**22)] * 2 + [(2**21 - 1, 2**21 - 1)]
    assert velocity_after([2**31 - 1, 0], 0.5, 120, 1.0) == [(2**22, 2**22), (2**21, 2**21)]  # the product is infinite


def test_momentum_where_a_factor_is_not_normal() -> None:
    """F below 2^-126 is 0 and V decays; F of 2^128, or f that is not normal: nothing moves."""
    before = np.array([8.0], F)

    def moved(factor: float, exponent: int) -> tuple[float, int]:
        velocity, by = momentum_steps(before, 0.5, np.array([2**30]), exponent, np.array([factor], F))
        return velocity.item(), by.item()

    assert moved(1.0, -200) == (4.0, 4)
    assert moved(float(F(2) - F(2**-23)), -127) == (4.0, 4)
    assert moved(1.0, -126) == (4.0, 4)  # 2^30 * 2^-126 is lost beside 4
    assert moved(1.0, 127) == (2**22, 2**22)
    assert moved(1.0, 128) == (8.0, 0)
    for factor in (0.0, 2.0**-127, float("inf"), float("nan")):
        assert moved(factor, 0) == (8.0, 0)


def test_momentum_begins_anew_with_the_settings() -> None:
    """And goes on otherwise: the second of two steps is another one than the first."""
    graph = whole_graph(bits=6)
    pictures, labels = images(graph, 2, np.random.default_rng(9))
    chosen = replace(BP, eta=0.02, momentum=0.9)

    def second(anew: bool, momentum: float) -> list[np.ndarray]:
        method = BackPropagation(graph, replace(chosen, momentum=momentum))
        method.step(pictures, labels)
        if anew:
            method.configure(method.settings, 1)
        method.step(pictures, labels)
        return method.weights

    begun = second(True, 0.9)
    assert not all(np.array_equal(a, b) for a, b in zip(begun, second(False, 0.9), strict=True))
    first = [BackPropagation(graph, replace(chosen, momentum=m)) for m in (0.9, 0.1)]
    for method in first:
        method.step(pictures, labels)
    for a, b in zip(*(method.weights for method in first), strict=True):  # V is 0 before the first step
        assert np.array_equal(a, b)


def test_quantization_aware_scaling_divides_by_the_square_of_the_scale() -> None:
    """Powers of two as scales, so that a learning rate takes the place of them exactly: 2^-4 weighs as 2^8, the bias's 2^-7 as 2^14."""
    graph = whole_graph()
    layers = []
    for layer in graph.layers:
        own = layer.own
        layers.append(replace(layer, own=replace(own, scale=np.full_like(own.scale, 2.0**-4))) if own else layer)
    graph = replace(graph, layers=tuple(layers), scale=2.0**-3)
    for momentum in (0.0, 0.9):
        common = replace(BP, momentum=momentum)
        scaled, plain = (after(graph, replace(common, qas=qas, eta=2.0**eta)) for qas, eta in ((1, -2), (0, 6)))
        for index, name in ((0, "conv1"), (1, "dw1"), (2, "pw1"), (5, "fc1")):
            assert np.array_equal(scaled[name][0], plain[name][0]), name
            assert not np.array_equal(plain[name][0], graph.layers[index].own.weights), name
        scaled, plain = (after(graph, replace(common, qas=qas, eta=2.0**eta)) for qas, eta in ((1, 0), (0, 14)))
        assert np.array_equal(scaled["conv1"][1], plain["conv1"][1])
        assert not np.array_equal(scaled["conv1"][1], graph.layers[0].own.bias)


def test_updates_are_synchronised() -> None:
    """A layer that is trained with all others gets the update that it gets when it is trained alone."""
    graph = whole_graph(bits=6)
    together = after(graph, BP)
    for block in range(4):
        [(name, alone)] = after(graph, replace(BP, blocks=1 << block)).items()
        assert same(alone, together[name]), name


def test_perturbations_count_for_nothing() -> None:
    graph = whole_graph()
    for changes in ({"perturb": "node"}, {"wise": "model"}, {"gns": 0}, {"queries": 3}, {"sparsity": 99}, {"seed": 7}):
        assert all(
            same(a, b)
            for a, b in zip(after(graph, BP).values(), after(graph, replace(BP, **changes)).values(), strict=True)
        )


def pooled(op: GraphOp, kernel: tuple[int, int], stride: int, pad: int, out: tuple[int, int], block: int = 1) -> Graph:
    """Return a pointwise layer on 4 x 5, a pool and the logits; the last in block 2."""
    builder = Builder(np.random.default_rng(1), (4, 5, 2), "double", 2)
    builder.append(GraphOp.POINTWISE, (4, 5, 2), (1, 1), 1)
    builder.append(op, (*out, 2), kernel, stride, pad)
    builder.append(GraphOp.FULLY_CONNECTED, (1, 1, 2))
    first, pool, last = builder.graph.layers
    return replace(builder.graph, layers=(replace(first, block=1), pool, replace(last, block=2)))


@pytest.mark.parametrize("op", [GraphOp.MAX_POOL, GraphOp.AVERAGE_POOL])
def test_pools_whose_windows_overlap_or_leave_the_image_are_refused(op: GraphOp) -> None:
    refused = [
        ((2, 2), 1, 0, (3, 4)),
        ((3, 2), 2, 0, (1, 2)),
        ((2, 3), 2, 0, (2, 2)),
        ((2, 2), 2, 1, (2, 3)),
        ((2, 2), 2, 0, (2, 3)),
    ]
    for shape in refused[:1] + refused[2:]:
        graph = pooled(op, *shape)
        with pytest.raises(RigError, match=graph.layers[1].name):
            BackPropagation(graph, BP)
        BackPropagation(graph, replace(BP, blocks=2))  # no error passes it
    for shape in (
        refused[1],
        ((4, 5), 1, 0, (1, 1)),
        ((2, 2), 2, 0, (2, 2)),
        ((1, 2), 3, 0, (2, 2)),
        ((4, 2), 2, 0, (1, 2)),
    ):
        BackPropagation(pooled(op, *shape), BP)


def test_work_by_hand() -> None:
    """Forward all; back one run a layer, products of what hands an error on, and of what trains weights."""
    graph = whole_graph()
    conv, depthwise, pointwise, logits = (layer.macs for layer in graph.layers if layer.own is not None)
    forward = conv + depthwise + pointwise + logits
    for changes, back, runs in (
        ({}, conv + 2 * (depthwise + pointwise + logits), 6),
        ({"train": "bias"}, depthwise + pointwise + logits, 6),
        ({"blocks": 4}, pointwise + logits, 4),
        ({"train": "last"}, logits, 1),
    ):
        method = BackPropagation(graph, replace(BP, **changes))
        method.step(*images(graph, 3, np.random.default_rng(9)))
        assert (method.work.macs, method.work.layer_runs) == (3 * (forward + back), 3 * (6 + runs))
