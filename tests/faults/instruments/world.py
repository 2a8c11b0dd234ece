"""One virtual time for instrument, board and host: it goes on when somebody asks the instrument or waits, and costs
nothing meanwhile.

The board's run holds it at two places, so that no trial depends on how the computer shares its cores among threads:
from the moment the meter is armed until the board has its request, and from the board's answer until the host has
passed it on."""

from __future__ import annotations

import math
import threading

HANG_S = 60.0  # of real time, after which a trial that stands still is given up


class World:
    """Attributes: latency_s: what one exchange with an instrument takes."""

    def __init__(self, latency_s: float = 0.001) -> None:
        self.latency_s = latency_s
        self._changed = threading.Condition()
        self._now, self._stop = 100.0, math.inf
        self._held, self._reader_gone = False, True

    def now(self) -> float:
        """Return the time in seconds."""
        with self._changed:
            return self._now

    def sleep(self, seconds: float) -> None:
        """Let time pass; whoever calls waits where the time is held."""
        with self._changed:
            target = self._now + max(seconds, 0.0)
            while True:
                self._wait_for(lambda: not self._held)
                self._now = max(self._now, min(target, self._stop))
                if self._now < self._stop:
                    return
                self._held = True
                self._changed.notify_all()

    def hold(self) -> None:
        """Stop the time: the meter is armed, and the board has no request yet."""
        with self._changed:
            self._held, self._reader_gone = True, False

    def reader_gone(self) -> None:
        """Nobody reads the meter any longer, so that nobody moves the time either."""
        with self._changed:
            self._reader_gone = True
            self._changed.notify_all()

    def until(self, stop: float) -> None:
        """Let time go on until `stop`, while others read the meter, and hold it there."""
        with self._changed:
            self._stop, self._held = stop, False
            self._changed.notify_all()
            self._wait_for(lambda: self._held or self._reader_gone)
            self._now, self._held = max(self._now, stop), not self._reader_gone
            self._stop = math.inf

    def go_on(self) -> None:
        """End what `until` and `hold` began."""
        with self._changed:
            self._held = False
            self._changed.notify_all()

    def _wait_for(self, true: object) -> None:
        if not self._changed.wait_for(true, HANG_S):  # type: ignore[arg-type]
            raise RuntimeError(f"the virtual time stood still for {HANG_S:g} s: neither host nor board went on.")
