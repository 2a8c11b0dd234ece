"""The gradient of a batch: samples of differing exponents, summed at once, against the text's order (docs/arithmetic.md, section 7)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network.drawn import networks

from hil.training.graph.chain import bfp8_node
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.reference import gradient
from hil.training.reference.gradient import Gradient, batch_gradient, outer_sum
from tests.oracle import layers as plain
from tests.oracle.numbers import Tensor


@given(
    samples=st.lists(
        st.tuples(st.lists(st.integers(-(2**31) + 1, 2**31 - 1), min_size=3, max_size=3), st.integers(-60, 60)),
        min_size=1,
        max_size=6,
    )
)
def test_gradients_of_differing_exponents(samples: list[tuple[list[int], int]]) -> None:
    def shifted(value: int, n: int) -> int:
        return 0 if n >= 31 else int(Fraction(value, 2**n))

    total, exponent = [0, 0, 0], samples[0][1]
    one_by_one = Gradient()
    for values, x in samples:
        if x > exponent:
            total, exponent = [shifted(t, x - exponent) for t in total], x
        total = [
            max(-(2**31), min(2**31 - 1, t + shifted(v, exponent - x))) for t, v in zip(total, values, strict=True)
        ]
        one_by_one.add(np.array(values, np.int64), x)
        assert one_by_one.total.tolist() == total
        assert one_by_one.exponent == exponent


def test_a_saturated_gradient_that_is_shifted_far_is_0() -> None:
    total = Gradient()
    total.add(np.array([-(2**31) + 1]), 0)
    total.add(np.array([-5]), 0)
    assert total.total.tolist() == [-(2**31)]
    total.add(np.array([0]), 31)
    assert total.total.tolist() == [0]  # not -1


@settings(max_examples=150, deadline=None)
@given(data=st.data(), batch=st.integers(1, 40), width=st.integers(1, 6), seed=st.integers(0, 2**32))
def test_outer_products_are_cut_off_one_by_one(data: st.DataObject, batch: int, width: int, seed: int) -> None:
    """Whether a shift has many samples or few: each product is rounded toward zero before it is added."""
    rng = np.random.default_rng(seed)
    errors, inputs = (rng.integers(-127, 128, (batch, n)).astype(np.int8) for n in (3, width))
    some = data.draw(st.lists(st.integers(0, 40), min_size=1, max_size=3))
    shifts = rng.choice(some, batch)
    exact = [
        sum(int(Fraction(int(e[o]) * int(x[i]), 2 ** int(s))) for e, x, s in zip(errors, inputs, shifts, strict=True))
        for o in range(3)
        for i in range(width)
    ]
    assert outer_sum(errors, inputs, shifts).tolist() == exact


@pytest.mark.parametrize("shift", range(15))
def test_products_of_a_large_batch(shift: int) -> None:
    """More samples than any table of 2^shift values has."""
    pairs = np.array([(e, x) for e in range(-127, 128, 2) for x in range(-127, 128, 2)], np.int8)
    e, x = pairs.astype(int).T
    exact = int((np.sign(e * x) * (np.abs(e * x) >> shift)).sum())
    assert outer_sum(pairs[:, :1], pairs[:, 1:], np.full(len(pairs), shift)).tolist() == [exact]


def test_sums_beyond_the_mantissa() -> None:
    pairs = np.array([(e, x) for e in range(127) for x in range(1, 127)], np.int8)
    total = outer_sum(pairs[:, :1], pairs[:, 1:], np.zeros(len(pairs), int))
    assert total.tolist() == [(126 * 127 // 2) ** 2]
    assert total[0] > 2**24 and total[0] % 2


@settings(max_examples=150, deadline=None)
@given(
    network=networks(largest=5),
    seed=st.integers(0, 2**32),
    spread=st.sampled_from([0, 1, 3, 40]),
    batch=st.integers(1, 9),
)
def test_a_batch_is_summed_as_the_text_says(network: Graph, seed: int, spread: int, batch: int) -> None:
    """Layers of all shapes and kernels; the loops of the specification add one sample after the other."""
    rng = np.random.default_rng(seed)
    for layer in network.trained:
        error, x = (
            rng.integers(-127, 128, (*shape, batch)).astype(np.int8) for shape in (layer.out_shape, layer.in_shape)
        )
        exponents = rng.integers(-spread, spread + 1, batch)
        expected = None
        for sample in range(batch):
            source = Tensor(x[..., sample].ravel().tolist(), int(exponents[sample]))
            back = Tensor(error[..., sample].ravel().tolist(), 0)
            expected = plain.accumulated(expected, plain.weight_gradient(layer, source, back))
        assert batch_gradient(layer, error, x, exponents).tolist() == expected.values


def test_where_a_sum_may_saturate_it_is_made_sample_by_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient, "INT32_MAX", 30_000)
    monkeypatch.setattr(gradient, "INT32_MIN", -30_000)
    weights = np.zeros((1, 1, 1, 1), np.int8)
    layer = bfp8_node("conv", Op.CONV2D, (1, 1, 1), (1, 1, 1), kernel=(1, 1), stride=(1, 1), weights=weights)
    error, x = np.array([127, 127, -127], np.int8).reshape(1, 1, 1, 3), np.full((1, 1, 1, 3), 127, np.int8)
    assert batch_gradient(layer, error, x, np.zeros(3, int)).tolist() == [30_000 - 127 * 127]


def test_no_batch_saturates_a_fully_connected_gradient() -> None:
    """What outer_sum leaves out: the largest batch of the settings stays within int32."""
    assert 65535 * 127 * 127 < 2**31
