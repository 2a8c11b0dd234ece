"""Location and scatter of a few nights, so that an outlier counts for no more than any other night."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hil.errors import RigError
from hil.quantity import Quantity

FEWEST_NIGHTS, MOST_NIGHTS = 5, 14
OF_NORMAL = 1.4826  # standard deviation over median absolute deviation, of normal numbers
OF_MEAN = math.sqrt(
    math.pi / 2
)  # standard deviation over mean absolute deviation, and over the mean's, of the median's


def spread(values: np.ndarray) -> float:
    """Return an estimate of the standard deviation from the median absolute deviation.

    If more than half of the values are equal, that is 0 and says nothing; then from the mean absolute deviation.
    """
    distance = np.abs(values - np.median(values))
    return float(OF_NORMAL * np.median(distance) or OF_MEAN * np.mean(distance))


def median_of(values: np.ndarray) -> tuple[float, float]:
    """Return the median and its standard uncertainty, that of the median of as many normal numbers."""
    return float(np.median(values)), OF_MEAN * spread(values) / math.sqrt(len(values))


def median_of_last(values: Sequence[Quantity]) -> Quantity | None:
    """Return the median over the newest MOST_NIGHTS good nights; None of fewer than FEWEST_NIGHTS.

    Its uncertainty is from the scatter of the nights. What all nights share, such as the gain of the meter, the next
    night shares as well, so that it does not count.

    Args:
        values: of one quantity in nights whose trial passed, the oldest first.

    Raises:
        RigError: units or provenances differ.
    """
    last = values[-MOST_NIGHTS:]
    if len(last) < FEWEST_NIGHTS:
        return None
    kinds = dict.fromkeys((one.unit, one.provenance.value) for one in last)
    if len(kinds) > 1:
        mixed = " and ".join(f"{word} in {unit}" for unit, word in kinds)
        raise RigError(f"a median of nights that are {mixed}: compare nights of one unit and provenance.")
    value, uncertainty = median_of(np.array([one.value for one in last], float))
    note = f"median of the last {len(last)} good nights"
    return Quantity(value, last[0].unit, last[0].provenance, uncertainty, note)
