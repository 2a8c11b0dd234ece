"""Which current range a meter is set to, and which of its readings lie too near to the end of one.

A source that reaches its limit, and a meter at its full scale, hand back a smaller current than a board wants, and call it a reading. So a range is
chosen from the largest single reading with room above it, and what comes near the end of a range is taken for the end itself.
"""

from __future__ import annotations

import numpy as np

from hil.measure.data_sheet import CurrentRange, DataSheet

HEADROOM = 1.5  # times the largest reading: a reading is a mean, and what it hides is higher
COARSER, ALIKE = 5.0, 16  # times the resolution, of another range; readings in a row that are rounded to that
LIVE, MOSTLY = 8, 0.3  # different readings beside them, of which no larger share is rounded so
FULL = 0.97  # of a range or a limit of current: from there on a reading may be the limit itself


def first_range(sheet: DataSheet) -> CurrentRange:
    """Return the range to begin with: the largest, on which nothing is cut off that another range could show."""
    return sheet.ranges[-1]


def range_with_headroom(sheet: DataSheet, peak_a: float) -> CurrentRange:
    """Return the smallest range with room above the largest reading of a capture, or the largest one where none has.

    Args:
        sheet: of the meter.
        peak_a: largest current of any single reading (`peak_current`), in amperes.
    """
    return next((one for one in sheet.ranges if HEADROOM * peak_a <= one.amperes), sheet.ranges[-1])


def next_range(sheet: DataSheet, amperes: float) -> CurrentRange | None:
    """Return the next range above one, or None where that was the largest."""
    return next((one for one in sheet.ranges if one.amperes > amperes), None)


def peak_current(current_a: np.ndarray) -> float:
    """Return the largest current of readings, float64[n] amperes, without those that are no number; 0 where there is none."""
    known = np.abs(current_a[np.isfinite(current_a)])
    return float(np.max(known, initial=0.0))


def at_limit(current_a: np.ndarray, limit_a: float) -> int:
    """Return how many readings, float64[n] amperes, lie at a limit of current or so near to it that they may be cut off."""
    return int(np.sum(np.abs(current_a) >= FULL * limit_a))


def coarser_stretch(current_a: np.ndarray, used: CurrentRange, sheet: DataSheet) -> int:
    """Return the longest row of readings, float64[n] amperes, that are rounded as another range rounds and not as the one in use; 0 for none.

    It tells that a meter changed its range and came back where it cannot say so itself. Whoever rounds finer than its data sheet says, or not at all,
    gives nothing away.
    """
    longest = 0
    for step in {one.resolution_a for one in sheet.ranges if one.resolution_a >= COARSER * used.resolution_a > 0}:
        on = np.abs(current_a / step - np.rint(current_a / step)) < 1e-3
        borders = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
        begins, ends = borders[::2], borders[1::2]
        rows = ends - begins >= ALIKE
        in_row = np.zeros(len(on), bool)
        for begin, end in zip(begins[rows], ends[rows], strict=True):
            in_row[begin:end] = True
        others = current_a[~in_row]
        if rows.any() and len(np.unique(others)) >= LIVE and np.mean(on[~in_row]) <= MOSTLY:
            longest = max(longest, int(np.max(ends[rows] - begins[rows])))
    return longest
