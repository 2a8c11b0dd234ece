"""The median of a quantity over the last good nights, with which a relative gate compares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.errors import RigError
from hil.history.statistics.spread import median_of
from hil.quantity import Quantity

FEWEST_NIGHTS, MOST_NIGHTS = 5, 14


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
