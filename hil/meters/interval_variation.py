"""Vary the interval from window to window, for meters that pause between readings.

Readings at a fixed interval see what repeats with the same period either always or never. This is so in every window,
so the scatter of the windows does not show it. With another interval in each window the error differs from window to
window, so it appears in their scatter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

SPREAD = 0.1  # longest increase, as a share of the interval
GOLDEN = (math.sqrt(5) - 1) / 2  # the multiples, modulo one, stay well apart (Weyl sequence)


def interval_factors() -> Iterator[float]:
    """Return the factors by which the intervals are longer: 1 in the first window, then from 1 to 1 + SPREAD."""
    return (1 + SPREAD * (window * GOLDEN % 1) for window in itertools.count())
