"""What a simulated night asks of the database: writes by window, their backlog, and connections at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from hil.benchmarks.lab.meter import WINDOW_S
from hil.benchmarks.lab.night import LabNight
from hil.history.live import IDLE_S


def trials_by_window(night: LabNight) -> np.ndarray:
    """Return how many trials end in each window of the night, int64[windows]."""
    ends = np.array([trial.ended for trial in night.trials])
    return np.bincount((ends // WINDOW_S).astype(np.int64))


def backlog(arriving: np.ndarray, per_second: float) -> float:
    """Return the most trials that wait to be written, if the database takes so many a second."""
    most = waiting = 0.0
    for count in arriving:
        waiting = max(0.0, waiting + float(count) - per_second * WINDOW_S)
        most = max(most, waiting)
    return most


def connections(night: LabNight) -> tuple[int, int]:
    """Return most connections at once: of runs as they write now, and if each kept its own from first to last trial."""
    ends: dict[int, list[float]] = defaultdict(list)
    for trial in night.trials:
        ends[trial.run].append(trial.ended)
    briefly = []
    for times in ends.values():
        since = until = min(times)
        for time in sorted(times):
            if time > until:
                briefly.append((since, until))
                since = time
            until = time + IDLE_S
        briefly.append((since, until))
    return at_once(briefly), at_once((min(times), max(times) + IDLE_S) for times in ends.values())


def at_once(intervals: Iterable[tuple[float, float]]) -> int:
    """Return how many of the intervals overlap at most; they are closed on the left only."""
    changes = sorted(change for begin, end in intervals for change in ((begin, 1), (end, -1)))
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most
