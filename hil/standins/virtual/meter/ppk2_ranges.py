"""The five ranges of a Power Profiler Kit II: which one a sample is in, and what a switch does to the next samples.

Spans and resolution are those of Nordic's user guide (PPK2, measurement resolution). When the kit switches, and how its
input settles, is not published. Assumed: comparators take a larger range at once; the firmware takes the next smaller
one when the current was in it for `DWELL` samples, with some hysteresis; and after a switch the input follows its new
voltage exponentially, so that the first samples are between the voltages on the two shunts. Nordic's app smooths the
first three samples after a switch; the model disturbs as many.
"""

from __future__ import annotations

import numpy as np

TOPS_A = np.array([50e-6, 500e-6, 5e-3, 50e-3])  # of ranges 0 to 3; range 4 has the rest, up to 1 A
RESOLUTION_A = np.array([0.2e-6, 0.5e-6, 5e-6, 50e-6, 1e-3])
LARGEST = len(TOPS_A)
BACK = 0.8  # share of a range's span, below which the current must be to return to that range
DWELL = 10
SETTLING = 3
LEFT = 0.15  # share of the difference that is left from one sample to the next


class RangeSwitch:
    """The choice of the range, from sample to sample; it begins in the largest."""

    def __init__(self) -> None:
        self.range = LARGEST
        self._below = 0  # samples for which the current has been in a smaller range

    def follow(self, amps: np.ndarray) -> np.ndarray:
        """Return the range of each of the next samples; float64[n] [A] -> int64[n]."""
        needed, back = np.searchsorted(TOPS_A, amps), np.searchsorted(BACK * TOPS_A, amps)
        changes = np.flatnonzero(np.diff(needed) | np.diff(back)) + 1
        chosen = np.empty(len(amps), np.int64)
        for begin, end in zip([0, *changes], [*changes, len(amps)], strict=True):
            if begin < end:
                self._hold(chosen[begin:end], int(needed[begin]), int(back[begin]))
        return chosen

    def _hold(self, chosen: np.ndarray, needed: int, back: int) -> None:
        """Fill in the ranges of samples that all need the same range at least, and may return to the same one."""
        self.range = max(self.range, needed)
        at = 0
        while self.range > back and at + DWELL - self._below < len(chosen):
            chosen[at : at + DWELL - self._below] = self.range
            at += DWELL - self._below
            self.range, self._below = self.range - 1, 0
        chosen[at:] = self.range
        self._below = self._below + len(chosen) - at if self.range > back else 0


class Settling:
    """What a switch leaves in the samples after it."""

    def __init__(self) -> None:
        self._tail = np.zeros(SETTLING)
        self._last: tuple[int, float] | None = None

    def disturb(self, volts: np.ndarray, ranges: np.ndarray) -> np.ndarray:
        """Return the voltages that the converter sees.

        Args:
            volts: float64[n], of the next samples, one at least: the settled voltage on the shunt of its range [V].
            ranges: int64[n].
        """
        earlier = self._last or (int(ranges[0]), float(volts[0]))
        switched = np.flatnonzero(np.diff(ranges, prepend=earlier[0]))
        jump = np.diff(volts, prepend=earlier[1])[switched]
        seen = np.concatenate([volts, np.zeros(SETTLING)])
        seen[:SETTLING] += self._tail
        for later in range(SETTLING):
            seen[switched + later] -= jump * LEFT ** (later + 1)
        self._tail, self._last = seen[len(volts) :], (int(ranges[-1]), float(volts[-1]))
        return seen[: len(volts)]
