"""Vary the interval from window to window, for meters that pause between readings.

Readings at a fixed interval see what repeats with the same period either always or never. This is so in every window,
so the scatter of the windows does not show it. With another interval in each window the error differs from window to window,
so it appears in their scatter.
"""

from __future__ import annotations

import math

SPREAD = 0.1  # longest increase, as a share of the interval
GOLDEN = (math.sqrt(5) - 1) / 2  # the multiples, modulo one, stay well apart (Weyl sequence)


class Pace:
    """The factor by which the interval of each window is longer; 1 for the first window."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Start again with the first window."""
        self._window = -1

    def factor(self) -> float:
        """Return the factor of the next window, from 1 to 1 + SPREAD."""
        self._window += 1
        return 1 + SPREAD * (self._window * GOLDEN % 1)
