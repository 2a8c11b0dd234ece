"""Rounding and accumulation against fractions and strings of bits (docs/arithmetic.md, sections 1, 2 and 7)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.reference import arith, plain
from hil.reference.methods.elasticzo_int8 import Gradient

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
    assert arith.round_shift(X, s).tolist() == expected
    assert [plain.round_shift(int(x), s) for x in X] == expected


@pytest.mark.parametrize("s", range(15))
def test_psto_shift_of_every_number(s: int) -> None:
    expected = [pseudo_stochastic(int(x), s) for x in X]
    assert arith.psto_shift(X, s).tolist() == expected
    assert [plain.psto_shift(int(x), s) for x in X] == expected


@pytest.mark.parametrize("s", range(1, 32))
def test_shifts_at_the_edges_of_int32(s: int) -> None:
    edges = np.array(EDGES, np.int64)
    assert arith.round_shift(edges, s).tolist() == [rounded(x, s) for x in EDGES]
    assert arith.psto_shift(edges, s).tolist() == [pseudo_stochastic(x, s) for x in EDGES]
    assert arith.trunc_shift(edges, s).tolist() == [0 if s >= 31 else int(Fraction(x, 2**s)) for x in EDGES]


@given(rows=st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(1, 25)), min_size=1, max_size=20))
def test_every_row_has_its_own_shift(rows: list[tuple[int, int]]) -> None:
    x, s = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    assert arith.round_shift(x, s).tolist() == [rounded(*row) for row in rows]


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
    gradient = Gradient()
    for values, x in samples:
        if x > exponent:
            total, exponent = [shifted(t, x - exponent) for t in total], x
        total = [
            max(-(2**31), min(2**31 - 1, t + shifted(v, exponent - x))) for t, v in zip(total, values, strict=True)
        ]
        gradient.add(np.array(values, np.int64), x)
        assert gradient.total.tolist() == total
        assert gradient.exponent == exponent


def test_a_saturated_gradient_that_is_shifted_far_is_0() -> None:
    gradient = Gradient()
    gradient.add(np.array([-(2**31) + 1]), 0)
    gradient.add(np.array([-5]), 0)
    assert gradient.total.tolist() == [-(2**31)]
    gradient.add(np.array([0]), 31)
    assert gradient.total.tolist() == [0]  # not -1
