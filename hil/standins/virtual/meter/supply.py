"""The truth about the board's supply: a small model of the current that flows, which only the meter sees.

A board draws one current while its core is awake and another while it sleeps. The figures are assumptions (see
hil/standins/virtual/boards/); they make the measuring chain testable and say nothing about silicon.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hil.standins.virtual.chip.clock import PS_PER_S


@dataclass(frozen=True)
class Currents:
    """What a board draws at its full clock, in amperes, and at which voltage.

    Attributes:
        awake_a: core awake.
        asleep_a: core asleep, clocks running.
        stopped_a: core halted or in reset.
        volt: of the supply that the meter feeds.
        source: where the figures come from.
    """

    awake_a: float
    asleep_a: float
    stopped_a: float
    volt: float
    source: str


@dataclass(frozen=True)
class Activity:
    """What the core has done up to now: virtual time in picoseconds, the latest sleeps (begin, end), whether it sleeps now."""

    now: int
    sleeps: Sequence[tuple[int, int]]
    asleep: bool
    stopped: bool


class Supply:
    """Args:
        currents: of the board.
        activity: returns the present Activity.
    """

    def __init__(self, currents: Currents, activity: Callable[[], Activity]) -> None:
        self.currents = currents
        self.observe = activity

    def present(self, seen: Activity) -> float:
        """Return the current that flows now, in amperes."""
        if seen.stopped:
            return self.currents.stopped_a
        return self.currents.asleep_a if seen.asleep else self.currents.awake_a

    def mean(self, seen: Activity, begin: int, end: int) -> float:
        """Return the mean current over a past stretch of virtual time (picoseconds), in amperes."""
        asleep, at = 0, max(bisect_right(seen.sleeps, (begin, begin)) - 1, 0)
        for first, last in seen.sleeps[at:]:
            if first >= end:
                break
            asleep += max(0, min(last, end) - max(first, begin))
        share = asleep / (end - begin)
        return self.currents.asleep_a * share + self.currents.awake_a * (1 - share)

    def energy(self, seen: Activity, begin: int, end: int) -> float:
        """Return the energy over a past stretch of virtual time, in joules."""
        return self.currents.volt * self.mean(seen, begin, end) * (end - begin) / PS_PER_S
