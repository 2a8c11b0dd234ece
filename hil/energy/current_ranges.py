"""Choose the current range of a meter, and count readings near the end of a range.

A source at its limit and a meter at full scale report a smaller current than the board draws. So a range is chosen
with headroom above the largest single reading, and a reading near the end of a range counts as clipped.
"""

from __future__ import annotations

import numpy as np

from hil.energy.data_sheet import CurrentRange, DataSheet

HEADROOM = 1.5  # times the largest reading: a reading is a mean and hides higher peaks
COARSER = 5.0  # times the resolution in use: so coarse a resolution belongs to another range
ALIKE = 16  # consecutive readings with such rounding
LIVE = 8  # other, different readings needed for the comparison
MOSTLY = 0.3  # largest share of those with such rounding
FULL = 0.97  # of a range or current limit: a reading above that may be clipped


def first_range(sheet: DataSheet) -> CurrentRange:
    """Return the range to begin with: the largest, which clips the least."""
    return sheet.ranges[-1]


def range_with_headroom(sheet: DataSheet, peak_a: float) -> CurrentRange:
    """Return the smallest range with headroom above the largest reading of a capture, or the largest range.

    Args:
        sheet: data sheet of the meter.
        peak_a: largest single reading (`peak_current`), in amperes.
    """
    return next((one for one in sheet.ranges if HEADROOM * peak_a <= one.amperes), sheet.ranges[-1])


def next_range(sheet: DataSheet, amperes: float) -> CurrentRange | None:
    """Return the next larger range, or None if there is none."""
    return next((one for one in sheet.ranges if one.amperes > amperes), None)


def peak_current(current_a: np.ndarray) -> float:
    """Return the largest absolute current of float64[n] amperes, ignoring NaN and infinity; 0 if there is none."""
    known = np.abs(current_a[np.isfinite(current_a)])
    return float(np.max(known, initial=0.0))


def at_limit(current_a: np.ndarray, limit_a: float) -> int:
    """Return how many readings, float64[n] amperes, are so near to a current limit that they may be clipped."""
    return int(np.sum(np.abs(current_a) >= FULL * limit_a))


def coarser_stretch(current_a: np.ndarray, used: CurrentRange, sheet: DataSheet) -> int:
    """Return the longest run of readings, float64[n] amperes, that are rounded as on another range; 0 for none.

    Such a run shows that a meter without a range query changed its range and came back. A meter that rounds finer than
    its data sheet says, or not at all, cannot be checked in this way.
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
