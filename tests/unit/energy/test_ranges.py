"""Which range is taken, and which readings are too near to its end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.energy.current_ranges import (
    FULL,
    HEADROOM,
    at_limit,
    coarser_stretch,
    first_range,
    next_range,
    peak_current,
    range_with_headroom,
)
from hil.energy.data_sheet import known_meters, load_data_sheet

SHEETS = [load_data_sheet(key) for key in known_meters()]


@given(st.sampled_from(SHEETS), st.floats(0, 20))
def test_a_range_has_room_above_the_peak_and_no_smaller_one_has(sheet, peak_a):
    found = range_with_headroom(sheet, peak_a)
    if found is not sheet.ranges[-1]:
        assert HEADROOM * peak_a <= found.amperes and at_limit(np.array([peak_a]), found.amperes) == 0
    assert all(HEADROOM * peak_a > one.amperes for one in sheet.ranges if one.amperes < found.amperes)


@pytest.mark.parametrize("sheet", SHEETS, ids=[sheet.key for sheet in SHEETS])
def test_the_first_range_is_the_largest_and_the_next_one_is_above(sheet):
    assert (
        first_range(sheet).amperes == max(one.amperes for one in sheet.ranges)
        and next_range(sheet, first_range(sheet).amperes) is None
    )
    assert [next_range(sheet, one.amperes) for one in sheet.ranges[:-1]] == list(sheet.ranges[1:])


@given(st.lists(st.floats(-2, 2), max_size=30), st.floats(0.01, 1))
def test_readings_at_a_limit_are_counted_whatever_their_sign(amperes, limit_a):
    current = np.array([*amperes, np.nan])
    assert at_limit(current, limit_a) == sum(abs(one) >= FULL * limit_a for one in amperes)
    assert peak_current(current) == max(map(abs, amperes), default=0.0)


@given(st.integers(0, 999), st.integers(16, 60), st.floats(1e-3, 0.09))
def test_a_stretch_on_another_range_is_told_by_its_rounding(seed, length, level_a):
    """100 mA and 1 A of the 2450, rounded to 100 nA and 1 uA, with noise of a few of the smaller steps."""
    rng = np.random.default_rng(seed)
    sheet = load_data_sheet("keithley-2450")
    fine, coarse = sheet.ranges[1], sheet.ranges[2]
    current = np.rint(rng.normal(level_a, 2e-6, 300) / fine.resolution_a) * fine.resolution_a
    assert coarser_stretch(current, fine, sheet) == 0
    away = slice(100, 100 + length)
    current[away] = np.rint(current[away] / coarse.resolution_a) * coarse.resolution_a
    assert length <= coarser_stretch(current, fine, sheet) <= length + 20
    assert coarser_stretch(current + rng.normal(0, 0.1 * fine.resolution_a, 300), fine, sheet) == 0, (
        "an instrument that does not round"
    )
    assert coarser_stretch(np.full(300, 0.02), fine, sheet) == 0, "nor one that always reads the same"
