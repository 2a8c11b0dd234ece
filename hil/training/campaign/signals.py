"""SIGTERM, SIGHUP and Ctrl-C stop a campaign after its current step; a second Ctrl-C ends it at once."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


class StopSignal:
    """The signal that was received, if any."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.received = signal.Signals(number)


@contextlib.contextmanager
def stop_signals() -> Iterator[StopSignal]:
    """Handle the signals until the end of the `with` block."""
    stop = StopSignal()
    handlers = {number: signal.signal(number, stop.handle) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield stop
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
