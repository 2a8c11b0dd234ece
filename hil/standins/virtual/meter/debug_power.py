"""When the debug port requested power: the debug logic of a chip draws current until the request is taken back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

PERIODS_KEPT = 1000


class DebugPower:
    """Periods of virtual time in which a debug port requests power (ARM IHI 0031, B2.2.2). Any thread may call this.

    Args:
        now: returns the present virtual time in picoseconds.
        log: receives one line for each change.
    """

    def __init__(self, now: Callable[[], int], log: Callable[[str], None]) -> None:
        self._now, self._log = now, log
        self._requests = 0  # of the debug ports of the chip
        self._since: int | None = None
        self._past: deque[tuple[int, int]] = deque(maxlen=PERIODS_KEPT)

    def request(self, wanted: bool) -> None:
        """A debug port requests power, or takes its request back."""
        self._requests += 1 if wanted else -1
        if wanted and self._since is None:
            self._since = self._now()
            self._log("the debug port requests power: the debug logic draws current")
        elif not self._requests and self._since is not None:
            self._past.append((self._since, self._now()))
            self._since = None
            self._log("the debug port requests no power any more")

    def lasted(self, times: np.ndarray) -> np.ndarray:
        """Return how long power was requested up to each time, in picoseconds; int64[n] -> int64[n]."""
        since, total = self._since, np.zeros(np.shape(times), np.int64)
        for begin, end in tuple(self._past):
            total += np.clip(times - begin, 0, end - begin)
        return total if since is None else total + np.maximum(times - since, 0)

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return whether power was requested at each time; int64[n] -> bool[n]."""
        return self.lasted(times + 1) > self.lasted(times)
