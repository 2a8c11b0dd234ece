"""Rounding and accumulation against fractions and strings of bits (docs/arithmetic.md, sections 1, 2 and 7)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.training.reference import arith
from hil.training.reference.formats.bfp8.layers import requantize
from tests.oracle import numbers as plain

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
    narrow = edges[np.abs(edges) < 2**31].astype(np.int32)
    for shift in (arith.psto_shift, arith.trunc_shift):
        if s < 31:
            assert shift(narrow, s).tolist() == shift(narrow.astype(np.int64), s).tolist()
    assert arith.trunc_shift(edges, s).tolist() == [0 if s >= 31 else int(Fraction(x, 2**s)) for x in EDGES]


@pytest.mark.parametrize(("dtype", "bits"), [(np.float32, 24), (np.float64, 31)])
@given(data=st.data(), together=st.booleans())
def test_sums_become_bytes_by_the_largest_of_their_sample_or_group(
    dtype: type, bits: int, data: st.DataObject, together: bool
) -> None:
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
    sums = np.array(exact, dtype).T.reshape(3, 1, 1, len(rows))
    values, exponents = requantize(sums, np.zeros(len(rows), int), together)
    assert exponents.tolist() == shifts
    assert values.dtype == np.int8
    assert values.reshape(3, -1).T.tolist() == [
        [rounded(x, s) if s else x for x in row] for row, s in zip(exact, shifts, strict=True)
    ]


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
