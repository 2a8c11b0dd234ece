"""What may go wrong within an instrument while it reads, as a scenario says: of readings and their time stamps, of
logs and of displays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hil.energy.data_sheet import CurrentRange, DataSheet

from .analog import OVERFLOW
from .trace import Script

SETTLING, WRONG = 6.0, 0.35  # readings, and share of the current, by which it is wrong after a change of range: assumed


@dataclass
class Faults:
    """Attributes:
    random: draws where and when.
    spikes: share of the readings that are `spike` times too large.
    overflow, duplicate, backward: how many readings of every window say 9.9E37, repeat the time stamp before, or go
        back in time.
    other_range: for how many readings of every window another range is selected.
    lost: readings of every window that are in no buffer.
    log_late_s: how much later than it says a log begins.
    lost_a_fetch: records that are gone at every fetch.
    refresh_s: how often a display, and what a query answers, is renewed.
    interval_s: from one reading to the next; the instrument says it.
    """

    random: np.random.Generator
    spikes: float = 0.0
    spike: float = 8.0
    overflow: int = 0
    duplicate: int = 0
    backward: int = 0
    other_range: int = 0
    lost: int = 0
    log_late_s: float = 0.0
    lost_a_fetch: int = 0
    refresh_s: float = 0.0
    interval_s: float = 0.0
    _places: dict[tuple[int, str], np.ndarray] = field(default_factory=dict)

    def _where(self, script: Script | None, what: str, count: int) -> np.ndarray:
        """Return instants within the steps of a window, drawn once for each."""
        if script is None or not count:
            return np.empty(0)
        key = (id(script), what)
        if key not in self._places:
            span = script.down_s - script.up_s
            self._places[key] = np.sort(script.up_s + span * self.random.uniform(0.1, 0.9, count))
        return self._places[key]

    def _hit(self, begins: np.ndarray, instants: np.ndarray) -> np.ndarray:
        """Return the places of the readings that begin next after each instant, as far as they are among these; never
        the first of them."""
        if len(begins) < 2:
            return np.empty(0, int)
        among = instants[(instants > begins[0] - self.interval_s) & (instants <= begins[-1])]
        return np.unique(np.maximum(np.searchsorted(begins, among), 1))

    def kept(self, begins: np.ndarray, script: Script | None) -> np.ndarray:
        """Return which readings are stored, bool[n]."""
        kept = np.ones(len(begins), bool)
        kept[self._hit(begins, self._where(script, "lost", self.lost))] = False
        return kept

    def _elsewhere(self, script: Script | None) -> tuple[float, float]:
        if script is None or not self.other_range:
            return np.inf, np.inf
        begin = float(self._where(script, "range", 1)[0])
        begin = min(begin, script.down_s - 1.5 * self.other_range * self.interval_s)
        return begin, begin + self.other_range * self.interval_s

    def range_at(
        self, begins: np.ndarray, used: CurrentRange, sheet: DataSheet, script: Script | None
    ) -> Sequence[CurrentRange]:
        """Return the range of every reading."""
        if not self.other_range or len(begins) == 0:
            return [used] * len(begins)
        first, last = self._elsewhere(script)
        other = self.another(used, sheet)
        return [other if first <= one < last else used for one in begins]

    def another(self, used: CurrentRange, sheet: DataSheet) -> CurrentRange:
        """Return the range that somebody selects meanwhile: the next one up, or down where there is none."""
        above = [one for one in sheet.ranges if one.amperes > used.amperes]
        return above[0] if above else sheet.ranges[-2]

    def selected(self, now_s: float, used: CurrentRange, sheet: DataSheet, script: Script | None) -> CurrentRange:
        """Return the range that the instrument says it is on."""
        return self.range_at(np.array([now_s]), used, sheet, script)[0]

    def changed(self, begins: np.ndarray, current: np.ndarray, script: Script | None) -> np.ndarray:
        """Return the readings with what is wrong with them."""
        current = current.copy()
        if self.spikes and len(current):
            inside = (
                np.ones(len(current), bool) if script is None else (begins > script.up_s) & (begins < script.down_s)
            )
            hit = inside & (self.random.uniform(size=len(current)) < self.spikes)
            current[hit] *= self.spike
        if self.other_range and script is not None:
            for border in self._elsewhere(script):
                since = (begins - border) / self.interval_s
                current *= 1 + np.where(since >= 0, WRONG * np.exp(-np.maximum(since, 0) / SETTLING), 0.0)
        current[self._hit(begins, self._where(script, "overflow", self.overflow))] = OVERFLOW
        return current

    def stamped(self, stamps: np.ndarray, begins: np.ndarray, script: Script | None) -> np.ndarray:
        """Return the time stamps with what is wrong with them."""
        stamps = stamps.copy()
        twice = self._hit(begins, self._where(script, "duplicate", self.duplicate))
        stamps[twice] = stamps[twice - 1]
        back = self._hit(begins, self._where(script, "backward", self.backward))
        if len(back):
            stamps[back] = stamps[back - 1] - 0.5 * np.median(np.diff(stamps))
        return stamps
