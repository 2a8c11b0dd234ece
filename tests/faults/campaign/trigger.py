"""Counts what goes on in a trial, and strikes at a moment."""

from __future__ import annotations

import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable

from .fault import Moment
from .port import OURS


class Trigger:
    """Args:
        at: the moment; None: never.
        strike: is called there once, from whichever thread counts, before what comes next has passed.

    Attributes:
        tally: how often each event came, by stage.
        stages: those that were entered, with when, by time.monotonic.
        struck: when the moment came.
        failed: why the fault could not be carried out; empty where it was.
    """

    def __init__(self, at: Moment | None, strike: Callable[[], None]) -> None:
        self._at, self._strike = at, strike
        self._left: int | None = None
        self._lock = threading.RLock()
        self._later: threading.Timer | None = None
        self.tally: dict[str, Counter[str]] = defaultdict(Counter)
        self.stages: list[tuple[str, float]] = [("", time.monotonic())]
        self.struck: float | None = None
        self.failed = ""

    def stage(self, name: str) -> None:
        """A stage begins."""
        with self._lock:
            self.stages.append((name, time.monotonic()))
            if self._at is not None and name == self._at.stage and self._left is None:
                self._left = self._at.count
                if self._at.event == "stage":
                    self._now(self._at.later_s)

    def count(self, event: str, number: int = 1) -> int:
        """So many are about to come; return how many of them may, before it is asked again."""
        with self._lock:
            if self._left is not None and self.struck is None and self._at is not None and event == self._at.event:
                if self._left == 0:
                    self._now(self._at.later_s)
                else:
                    number = min(number, self._left)
                    self._left -= number
            self.tally[self.stages[-1][0]][event] += number
        return number

    def wait(self) -> None:
        """Return when a strike that has begun, or is still to come, is over: the trial may end first."""
        with self._lock:  # held while another thread strikes
            later = self._later
        if later is not None:
            later.join()

    def _now(self, later_s: float) -> None:
        self.struck = time.monotonic() + later_s
        if later_s:
            self._later = threading.Timer(later_s, self._carry_out)
            self._later.name, self._later.daemon = OURS, True
            self._later.start()
        else:
            self._carry_out()

    def _carry_out(self) -> None:
        try:
            self._strike()
        except Exception:  # the thread is not the trial's
            self.failed = traceback.format_exc()
