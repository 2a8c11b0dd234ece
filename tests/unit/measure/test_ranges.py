"""Which range is taken, and which readings are too near to its end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.measure.data_sheet import known_meters, load_data_sheet
from hil.measure.ranges import FULL, HEADROOM, at_limit, first_range, next_range, peak_current, range_with_headroom

SHEETS = [load_data_sheet(key) for key in known_meters()]


@given(st.sampled_from(SHEETS), st.floats(0, 20))
def test_a_range_has_room_above_the_peak_and_no_smaller_one_has(sheet, peak_a):
    found = range_with_headroom(sheet, peak_a)
    if found is not sheet.ranges[-1]:
        assert HEADROOM * peak_a <= found.amperes and at_limit(np.array([peak_a]), found.amperes) == 0
    assert all(HEADROOM * peak_a > one.amperes for one in sheet.ranges if one.amperes < found.amperes)


@pytest.mark.parametrize("sheet", SHEETS, ids=[sheet.key for sheet in SHEETS])
def test_the_first_range_is_the_largest_and_the_next_one_is_above(sheet):
    assert first_range(sheet).amperes == max(one.amperes for one in sheet.ranges) and next_range(sheet, first_range(sheet).amperes) is None
    assert [next_range(sheet, one.amperes) for one in sheet.ranges[:-1]] == list(sheet.ranges[1:])


@given(st.lists(st.floats(-2, 2), max_size=30), st.floats(0.01, 1))
def test_readings_at_a_limit_are_counted_whatever_their_sign(amperes, limit_a):
    current = np.array([*amperes, np.nan])
    assert at_limit(current, limit_a) == sum(abs(one) >= FULL * limit_a for one in amperes)
    assert peak_current(current) == max(map(abs, amperes), default=0.0)
