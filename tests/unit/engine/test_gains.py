"""The factors that gains make of a layer's, in C, against exact rational arithmetic (docs/arithmetic-quzo.md, section 8)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.tflite_kernels import pointer

ONE = 2**24
MULTIPLIERS = st.one_of(st.integers(2**30, 2**31 - 1), st.sampled_from([2**30, 2**30 + 1, 2**31 - 1]))
GAINS = st.one_of(st.integers(2**22, 2**26), st.sampled_from([2**22, ONE - 1, ONE, ONE + 1, 2**26]))
CHANNELS = st.lists(st.tuples(MULTIPLIERS, st.integers(-29, 27), GAINS), min_size=1, max_size=40)


class Gains(ctypes.Structure):
    """gains_t of kernels/gains.h."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("gain", "multiplier", "shift", "made_multiplier", "made_shift")),
        ("n", ctypes.c_uint32),
    ]  # fmt: skip


def made(library: ctypes.CDLL, channels: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Return M' and shift' of channels with M, shift and a gain."""
    columns = zip(*channels, strict=True)
    multiplier, shift, gain = (np.array(column, kind) for column, kind in zip(columns, ("i4", "i1", "i4"), strict=True))
    made_multiplier, made_shift = np.zeros_like(multiplier), np.zeros_like(shift)
    arrays = (gain, multiplier, shift, made_multiplier, made_shift)
    library.gains_make(ctypes.byref(Gains(*(pointer(array) for array in arrays), len(channels))))
    return list(zip(made_multiplier.tolist(), made_shift.tolist(), strict=True))


def factor(multiplier: int, shift: int) -> Fraction:
    """Return the real factor of M and shift."""
    return multiplier * Fraction(2) ** (shift - 31)


@given(channels=CHANNELS)
def test_a_factor_is_the_nearest_to_the_exact_product(
    library: ctypes.CDLL, channels: list[tuple[int, int, int]]
) -> None:
    for (multiplier, shift, gain), (found, found_shift) in zip(channels, made(library, channels), strict=True):
        exact = factor(multiplier, shift) * Fraction(gain, ONE)
        beyond = (factor(found, found_shift) - exact) / factor(1, found_shift)  # in steps of M'
        assert 2**30 <= found < 2**31 and -31 <= found_shift <= 30
        assert -Fraction(1, 2) < beyond <= Fraction(1, 2)  # a half goes up


@given(channels=CHANNELS)
def test_a_gain_of_one_leaves_the_factor(library: ctypes.CDLL, channels: list[tuple[int, int, int]]) -> None:
    alone = [(multiplier, shift, ONE) for multiplier, shift, _ in channels]
    assert made(library, alone) == [(multiplier, shift) for multiplier, shift, _ in channels]


@given(channels=CHANNELS, power=st.integers(-2, 2))
def test_a_gain_of_a_power_of_two_moves_the_shift_alone(
    library: ctypes.CDLL, channels: list[tuple[int, int, int]], power: int
) -> None:
    powers = [(multiplier, shift, 2 ** (24 + power)) for multiplier, shift, _ in channels]
    assert made(library, powers) == [(multiplier, shift + power) for multiplier, shift, _ in channels]
