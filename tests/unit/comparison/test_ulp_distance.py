"""The distance in units in the last place is the number of steps of `numpy.nextafter`, checked step by step."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.comparison import ulp_distance

FARTHEST = 2**64 - 1
FLOATS = (np.float16, np.float32, np.float64)
INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


def distance(one: object, other: object, dtype: type) -> int:
    found = ulp_distance(np.array([one], dtype), np.array([other], dtype))
    assert found.dtype == np.uint64 and found.shape == (1,)
    return int(found[0])


@pytest.mark.filterwarnings("ignore:overflow encountered in nextafter")
@pytest.mark.parametrize("dtype", FLOATS)
@given(data=st.data())
def test_steps_of_nextafter_are_counted(dtype: type, data: st.DataObject) -> None:
    width = 8 * np.dtype(dtype).itemsize
    start = dtype(data.draw(st.floats(width=width, allow_nan=False, allow_infinity=False)))
    steps = data.draw(st.integers(0, 40))
    toward = dtype(data.draw(st.sampled_from([-math.inf, math.inf])))
    value, crossed = start, 0
    for _ in range(steps):
        after = np.nextafter(value, toward)
        if np.isinf(after):
            break
        value, crossed = after, crossed + 1
    assert distance(start, value, dtype) == distance(value, start, dtype) == crossed


@pytest.mark.parametrize("dtype", FLOATS)
def test_steps_across_zero_and_through_subnormal_numbers(dtype: type) -> None:
    tiny = np.nextafter(dtype(0), dtype(1))
    assert distance(-tiny, tiny, dtype) == 2
    assert distance(-0.0, 0.0, dtype) == 0
    assert distance(-0.0, tiny, dtype) == distance(0.0, tiny, dtype) == 1


def test_all_of_float16_lie_in_one_line() -> None:
    """Every finite float16, in order: neighbours are 1 apart, and any two as far as their places in the line."""
    value, line = np.float16(-65504), []
    while value < 65504:
        line.append(value)
        value = np.nextafter(value, np.float16(np.inf))
    line.append(value)
    values = np.array(line)
    assert len(values) == 2 * 31 * 1024 - 1
    assert (ulp_distance(values[1:], values[:-1]) == 1).all()
    places = np.arange(len(values))
    assert (ulp_distance(values, values[::-1].copy()) == np.abs(places - places[::-1])).all()


@given(
    st.floats(allow_nan=False, allow_infinity=False, width=64),
    st.floats(allow_nan=False, allow_infinity=False, width=64),
)
def test_any_two_of_float64(one: float, other: float) -> None:
    def place(value: float) -> int:  # sign and magnitude, in integers without a limit
        (bits,) = struct.unpack("<Q", struct.pack("<d", value))
        return -(bits - 2**63) if bits >> 63 else bits

    assert distance(one, other, np.float64) == abs(place(one) - place(other))


@pytest.mark.parametrize("dtype", FLOATS)
def test_no_number_is_near_nan_or_an_infinity(dtype: type) -> None:
    largest = np.finfo(dtype).max
    assert distance(np.nan, np.nan, dtype) == distance(np.nan, 1, dtype) == distance(1, np.nan, dtype) == FARTHEST
    assert distance(np.inf, largest, dtype) == distance(-largest, -np.inf, dtype) == FARTHEST
    assert distance(np.inf, -np.inf, dtype) == FARTHEST
    assert distance(np.inf, np.inf, dtype) == distance(-np.inf, -np.inf, dtype) == 0


@pytest.mark.parametrize("dtype", INTEGERS)
@given(data=st.data())
def test_units_of_integers_are_the_difference(dtype: type, data: st.DataObject) -> None:
    limits = np.iinfo(dtype)
    one, other = (data.draw(st.integers(int(limits.min), int(limits.max))) for _ in range(2))
    assert distance(one, other, dtype) == abs(one - other)
    assert distance(limits.min, limits.max, dtype) == int(limits.max) - int(limits.min)


def test_shapes_are_kept_and_bool_has_distances() -> None:
    one = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert ulp_distance(one, one.T.copy().T).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert ulp_distance(np.array([True, False]), np.array([True, True])).tolist() == [0, 1]
    assert Fraction(np.nextafter(np.float32(1), np.float32(2)).item()) - 1 == Fraction(1, 2**23)
