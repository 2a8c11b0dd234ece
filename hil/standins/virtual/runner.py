"""The thread that runs the chip, and the access of other threads to the chip."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

from hil.standins.virtual.chip.machine import Machine, Pace

_POLL_S = 0.0001  # pause of the runner while another thread waits for the chip
_IDLE_S = 0.5
# A running chip runs this long before another thread stops it again: as between two accesses of a probe on USB. pyOCD
# asks without a pause whether a flash algorithm has ended, and would leave the chip a quarter of the time.
_TURN_S = 0.002


class ChipRunner:
    """Runs a machine at full speed while it has work, and sleeps while it has none.

    Args:
        machine: the chip; only code inside `paused()` or on the runner's thread may access it.
        after_slice: called on the runner's thread after each slice.
    """

    def __init__(self, machine: Machine, after_slice: Callable[[], None] = lambda: None) -> None:
        self._machine = machine
        self._after = after_slice
        self._chip = threading.RLock()
        self._waiting: deque[None] = deque()  # one entry per thread that wants the chip; deque operations are atomic
        self._news = threading.Event()
        self._idle = threading.Event()  # the chip executes nothing until there is news
        self._closing = False
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="chip", daemon=True)

    @property
    def dead(self) -> bool:
        """Whether the chip does not answer at all. Any thread may call this."""
        return self._machine.dead

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._closing = True
        self.notify()
        self._thread.join()

    def notify(self) -> None:
        """End the current slice soon: there is input for the chip. Any thread may call this."""
        self._news.set()
        self._machine.core.break_soon()

    @contextlib.contextmanager
    def paused(self) -> Iterator[Machine]:
        """Stop the chip between two slices while the context is active. Any thread may call this."""
        if not self._idle.is_set():
            self._idle.wait(_TURN_S)
        self._waiting.append(None)
        self._machine.core.break_soon()
        self._chip.acquire()
        self._waiting.pop()
        try:
            yield self._machine
        finally:
            self._idle.clear()
            self._chip.release()
            self._news.set()

    def _run(self) -> None:
        try:
            while not self._closing:
                if self._waiting:
                    time.sleep(_POLL_S)
                    continue
                self._news.clear()
                with self._chip:
                    pace = self._machine.advance()
                    self._after()
                if pace is Pace.WAIT:
                    self._idle.set()
                    self._news.wait(_IDLE_S)
                    self._idle.clear()
        except BaseException as error:
            self.error = error
            raise
