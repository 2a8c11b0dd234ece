"""Another interval in each window, for meters that leave a pause between readings: what a board does at the pace of one is not at that of the next.

Readings on a grid see what repeats at their own pace always or never, in window after window, with no scatter to tell of it. Where each window has a pace
of its own, the error differs from window to window, and stands in their scatter.
"""

from __future__ import annotations

import math

SPREAD = 0.1  # of the interval: so much longer is the longest
GOLDEN = (math.sqrt(5) - 1) / 2  # whose multiples, modulo one, never come near each other (Weyl sequence)


class Pace:
    """Says by which factor the interval of each window is longer: the first not at all."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin again: the next window is the first."""
        self._window = -1

    def factor(self) -> float:
        """Return the factor of the next window, from 1 to 1 + SPREAD."""
        self._window += 1
        return 1 + SPREAD * (self._window * GOLDEN % 1)
