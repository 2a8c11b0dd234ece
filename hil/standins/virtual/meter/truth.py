"""The true supply, which only the instruments see: current and voltage at any virtual time, and edges of the marker.

`Supply` is the true supply of a board. A `ScriptedTrace` needs no board, and its energy is known exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S


class Truth(Protocol):
    """The supply that an instrument is connected to. Times are virtual picoseconds."""

    def now(self) -> int:
        """Return the present time; nothing after it is known."""
        ...

    def charge(self, times: np.ndarray) -> np.ndarray:
        """Return the charge that has flowed up to each time, in coulombs; int64[n] -> float64[n]."""
        ...

    def current(self, times: np.ndarray) -> np.ndarray:
        """Return the current at each instant, in amperes; int64[n] -> float64[n]."""
        ...

    def volt(self) -> float:
        """Return the supply's voltage."""
        ...

    def edges(self) -> Sequence[tuple[int, int]]:
        """Return (time, new level) of the marker's edges up to the present."""
        ...


def mean_current(truth: Truth, begins: np.ndarray, lengths: np.ndarray | int) -> np.ndarray:
    """Return the mean current over each aperture, in amperes; int64[n] picoseconds -> float64[n]."""
    ends = begins + lengths
    amps: np.ndarray = (truth.charge(ends) - truth.charge(begins)) * PS_PER_S / (ends - begins)
    return amps


class VirtualTime:
    """A clock that only `sleep` advances; instruments, board and host share it in tests and benchmarks."""

    def __init__(self) -> None:
        self.ps = 0

    def seconds(self) -> float:
        return self.ps / PS_PER_S

    def sleep(self, seconds: float) -> None:
        self.ps += round(seconds * PS_PER_S)


class ScriptedTrace:
    """A current that is constant between given times, and the marker's edges.

    Args:
        time: clock.
        times_ps: int64[k], ascending: begin of each level; the first level also holds before its begin.
        current_a: float64[k]: current of each level [A].
        edges: (time, new level) of the marker's edges.
        volt: voltage of the supply [V].
    """

    def __init__(
        self, time: VirtualTime, times_ps: np.ndarray, current_a: np.ndarray, edges: Sequence[tuple[int, int]],
        volt: float = 3.3
    ) -> None:  # fmt: skip
        self._time, self._volt = time, volt
        self._times, self._levels = np.asarray(times_ps, np.int64), np.asarray(current_a, np.float64)
        lengths = np.diff(self._times) / PS_PER_S
        self._charge = np.concatenate([[0.0], np.cumsum(lengths * self._levels[:-1])])
        self._edges = list(edges)

    def now(self) -> int:
        return self._time.ps

    def charge(self, times: np.ndarray) -> np.ndarray:
        place = self._place(times)
        coulombs: np.ndarray = self._charge[place] + self._levels[place] * (times - self._times[place]) / PS_PER_S
        return coulombs

    def current(self, times: np.ndarray) -> np.ndarray:
        amps: np.ndarray = self._levels[self._place(times)]
        return amps

    def _place(self, times: np.ndarray) -> np.ndarray:
        return np.clip(np.searchsorted(self._times, times, side="right") - 1, 0, None)

    def volt(self) -> float:
        return self._volt

    def edges(self) -> Sequence[tuple[int, int]]:
        return [edge for edge in self._edges if edge[0] <= self._time.ps]
