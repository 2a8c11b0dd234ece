"""Rounding and accumulation against fractions and strings of bits (docs/arithmetic.md, sections 1, 2 and 7)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.network.graph import Layer, Op
from hil.reference import arith, gradient
from hil.reference.gradient import Gradient, batch_gradient
from hil.reference.layers import requantize
from hil.reference.plain import numbers as plain

X = np.arange(-5000, 5001, dtype=np.int64)
EDGES = sorted({s * (2**k + d) for k in range(31) for d in (-1, 0, 1) for s in (-1, 1)} | {2**31 - 1, -(2**31)})


def clipped(x: int) -> int:
    return max(-127, min(127, x))


def rounded(x: int, s: int) -> int:
    """x / 2^s to the nearest integer, ties away from zero."""
    nearest = math.floor(Fraction(abs(x), 2**s) + Fraction(1, 2))
    return clipped(nearest if x >= 0 else -nearest)


def pseudo_stochastic(x: int, s: int) -> int:
    """The remainder as a string of s bits: its upper half against its lower half, which gets a 0 behind it if it is shorter."""
    whole = math.floor(Fraction(abs(x), 2**s))
    text = format(abs(x) - whole * 2**s, f"0{s}b") if s else ""
    upper, lower = text[: len(text) - s // 2], text[len(text) - s // 2 :]
    up = whole + (upper > lower + "0" * (s % 2))
    return clipped(up if x >= 0 else -up)


@pytest.mark.parametrize("s", range(1, 15))
def test_round_shift_of_every_number(s: int) -> None:
    expected = [rounded(int(x), s) for x in X]
    assert [plain.round_shift(int(x), s) for x in X] == expected


@pytest.mark.parametrize("s", range(15))
def test_psto_shift_of_every_number(s: int) -> None:
    expected = [pseudo_stochastic(int(x), s) for x in X]
    assert arith.psto_shift(X, s).tolist() == expected
    assert [plain.psto_shift(int(x), s) for x in X] == expected


@pytest.mark.parametrize("s", range(1, 32))
def test_shifts_at_the_edges_of_int32(s: int) -> None:
    edges = np.array(EDGES, np.int64)
    assert arith.psto_shift(edges, s).tolist() == [pseudo_stochastic(x, s) for x in EDGES]
    assert arith.trunc_shift(edges, s).tolist() == [0 if s >= 31 else int(Fraction(x, 2**s)) for x in EDGES]


@pytest.mark.parametrize(("dtype", "bits"), [(np.float32, 24), (np.float64, 31)])
@given(data=st.data(), together=st.booleans())
def test_sums_become_bytes_by_the_largest_of_their_sample_or_group(dtype: type, bits: int, data: st.DataObject, together: bool) -> None:
    """Floats that hold the sums exactly round as integers do, ties and edges too, each row by its own shift."""
    sizes = data.draw(st.lists(st.integers(1, bits), min_size=1, max_size=4))
    near = st.integers(0, 2**bits - 1)
    rows = []
    for size in sizes:
        half = st.sampled_from([2**k + d for k in range(size) for d in (-1, 0, 1) if 0 <= 2**k + d < 2**size])
        value = st.one_of(half, near.map(lambda v, size=size: v % 2**size))
        rows.append(data.draw(st.lists(st.tuples(value, st.booleans()), min_size=3, max_size=3)))
    exact = [[-v if negative else v for v, negative in row] for row in rows]
    largest = [max(map(abs, row)) for row in exact]
    shifts = [max(m.bit_length() - 7, 0) for m in ([max(largest)] * len(rows) if together else largest)]
    values, exponents = requantize(np.array(exact, dtype), np.zeros(len(rows), int), together)
    assert exponents.tolist() == shifts
    assert values.tolist() == [[rounded(x, s) if s else x for x in row] for row, s in zip(exact, shifts, strict=True)]


def test_pseudo_stochastic_rounding_is_nearly_fair() -> None:
    """Over all remainders of 8 bits it goes up for a little less than half: ties of the two halves go down."""
    up = arith.psto_shift(np.arange(256), 8)
    assert up.sum() == (256 - 16) // 2


def test_bits() -> None:
    numbers = [*range(1, 5000), *(2**k + d for k in range(12, 33) for d in (-1, 0, 1))]
    for m in numbers:
        expected = next(n for n in range(40) if 2**n > m)
        assert arith.bits(m) == plain.bits(m) == expected
    assert arith.bits(0) == plain.bits(0) == 0
    assert arith.bits(1) == 1  # where the public NITI code has 0


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


@pytest.mark.parametrize("op", [Op.CONV2D, Op.FULLY_CONNECTED])
@given(seed=st.integers(0, 2**32), spread=st.sampled_from([0, 1, 3, 40]))
def test_a_batch_is_summed_as_its_samples_are(op: Op, seed: int, spread: int) -> None:
    """The quick way, by exponents that stand still, against the slow one, which saturates at every sample."""
    rng = np.random.default_rng(seed)
    conv = op is Op.CONV2D
    shapes = ((4, 3, 2), (4, 3, 3), (3, 3, 3, 2), 1) if conv else ((4, 3, 2), (1, 1, 5), (5, 24), 0)
    weights = np.zeros(shapes[2], np.int8)
    layer = Layer("layer", op, shapes[0], shapes[1], kernel=(3, 3), stride=1, pad=shapes[3], weights=weights)
    error, x = (rng.integers(-127, 128, (9, *shape)).astype(np.int8) for shape in (shapes[1], shapes[0]))
    exponents = rng.integers(-spread, spread + 1, 9)
    quick = batch_gradient(layer, error, x, exponents)
    assert quick.tolist() == gradient._one_by_one(layer, error, x, exponents).tolist()


def test_where_a_sum_may_saturate_it_is_made_sample_by_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient, "INT32_MAX", 20_000)
    monkeypatch.setattr(gradient, "INT32_MIN", -20_000)
    layer = Layer("fc", Op.FULLY_CONNECTED, (1, 1, 1), (1, 1, 1), weights=np.zeros((1, 1), np.int8))
    error, x = np.array([127, 127, -127], np.int8).reshape(3, 1, 1, 1), np.full((3, 1, 1, 1), 127, np.int8)
    assert batch_gradient(layer, error, x, np.zeros(3, int)).tolist() == [20_000 - 127 * 127]
