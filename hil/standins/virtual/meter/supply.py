"""The true supply of the virtual board: a model of its current, which only the meter sees.

A board draws one current while its core is awake and another while it sleeps, and more while the debug port requests
power. The currents are assumptions (see
hil/standins/virtual/boards/). They make the measuring chain testable and say nothing about silicon.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.debug_power import DebugPower

EDGES_KEPT = 1000


@dataclass(frozen=True)
class Currents:
    """Currents that a board draws at its full clock.

    Attributes:
        awake_a: current with the core awake [A].
        asleep_a: current with the core asleep and clocks running [A].
        stopped_a: current with the core halted or in reset [A].
        volt: voltage of the supply that the meter feeds [V].
        source: source of these values.
        debug_a: additional current while the debug port requests power [A].
    """

    awake_a: float
    asleep_a: float
    stopped_a: float
    volt: float
    source: str
    debug_a: float = 0.0


@dataclass(frozen=True)
class Activity:
    """Activity of the core up to now. Times are virtual picoseconds.

    Attributes:
        now: present time.
        sleeps: (begin, end) of the latest sleeps.
        asleep: whether the core sleeps now.
        stopped: whether the core is halted or in reset.
        slept_ps: total time asleep; None if `sleeps` has all sleeps.
    """

    now: int
    sleeps: Sequence[tuple[int, int]]
    asleep: bool
    stopped: bool
    slept_ps: int | None = None


class Supply:
    """True supply of a board (`Truth`). `now` observes the board; all other methods use the latest observation.

    Args:
        currents: currents of the board.
        activity: returns the present Activity.
        debug: when the debug port requests power; default: never.
    """

    def __init__(
        self, currents: Currents, activity: Callable[[], Activity], debug: DebugPower | None = None
    ) -> None:  # fmt: skip
        self.currents = currents
        self.observe = activity
        self._debug = debug or DebugPower(lambda: 0, lambda line: None)
        self._edges: deque[tuple[int, int]] = deque(maxlen=EDGES_KEPT)
        self._seen: Activity | None = None

    def edge(self, time_ps: int, level: int) -> None:
        """Record an edge of the marker. Any thread may call this."""
        self._edges.append((time_ps, level))

    def now(self) -> int:
        self._seen = self.observe()
        return self._seen.now

    def _latest(self) -> Activity:
        if self._seen is None:
            self._seen = self.observe()
        return self._seen

    def volt(self) -> float:
        return self.currents.volt

    def edges(self) -> Sequence[tuple[int, int]]:
        return [edge for edge in tuple(self._edges) if edge[0] <= self._latest().now]

    def charge(self, times: np.ndarray) -> np.ndarray:
        return (
            self.currents.awake_a * times
            - (self.currents.awake_a - self.currents.asleep_a) * self._slept(times)
            + self.currents.debug_a * self._debug.lasted(times)
        ) / PS_PER_S

    def current(self, times: np.ndarray) -> np.ndarray:
        seen = self._latest()
        begins, ends, _ = self._sleeps_from(int(np.min(times, initial=seen.now)))
        place = np.searchsorted(begins, times, side="right") - 1
        asleep = (place >= 0) & (times < ends[place]) if len(ends) else np.zeros(times.shape, bool)
        level = np.where(asleep, self.currents.asleep_a, self.currents.awake_a)
        core = np.where(times >= seen.now, self._of_core(seen), level)
        return core + self.currents.debug_a * self._debug.at(times)

    def _slept(self, times: np.ndarray) -> np.ndarray:
        """Return the total time asleep up to each time; int64[n] ps."""
        begins, ends, before = self._sleeps_from(int(np.min(times, initial=self._latest().now)))
        if not len(begins):
            return np.full(times.shape, before)
        total = before + np.concatenate([[0], np.cumsum(ends - begins)])
        place = np.searchsorted(begins, times, side="right")
        last = np.maximum(place - 1, 0)
        return total[place] - np.where(place > 0, np.maximum(ends[last] - times, 0), 0)

    def _sleeps_from(self, time: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Return begins and ends of sleeps from the last one before `time` on, and the time asleep before them; ps."""
        seen = self._latest()
        at = max(bisect_right(seen.sleeps, (time, time)) - 1, 0)
        rest = np.array(seen.sleeps[at:], np.int64).reshape(-1, 2)
        slept = sum(end - begin for begin, end in seen.sleeps) if seen.slept_ps is None else seen.slept_ps
        return rest[:, 0], rest[:, 1], slept - int(np.sum(rest[:, 1] - rest[:, 0]))

    def present(self, seen: Activity) -> float:
        """Return the present current, in amperes."""
        debug = bool(self._debug.at(np.array([seen.now]))[0])
        return self._of_core(seen) + self.currents.debug_a * debug

    def _of_core(self, seen: Activity) -> float:
        if seen.stopped:
            return self.currents.stopped_a
        return self.currents.asleep_a if seen.asleep else self.currents.awake_a

    def mean(self, seen: Activity, begin: int, end: int) -> float:
        """Return the mean current over a past interval of virtual time (picoseconds), in amperes."""
        asleep, at = 0, max(bisect_right(seen.sleeps, (begin, begin)) - 1, 0)
        for first, last in seen.sleeps[at:]:
            if first >= end:
                break
            asleep += max(0, min(last, end) - max(first, begin))
        share = asleep / (end - begin)
        first, last = self._debug.lasted(np.array([begin, end]))
        debug = self.currents.debug_a * float(last - first) / (end - begin)
        return self.currents.asleep_a * share + self.currents.awake_a * (1 - share) + debug

    def energy(self, seen: Activity, begin: int, end: int) -> float:
        """Return the energy over a past interval of virtual time (picoseconds), in joules."""
        return self.currents.volt * self.mean(seen, begin, end) * (end - begin) / PS_PER_S
