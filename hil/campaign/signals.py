"""SIGTERM, SIGHUP and Ctrl-C ask a campaign to stop after the step it is at; a second Ctrl-C ends it at once."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

HEEDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """The signal that asked for a stop, if one has."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None

    def heed(self, number: int, _frame: FrameType | None) -> None:
        """Take a signal."""
        if self.received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.received = signal.Signals(number)


@contextlib.contextmanager
def heeded() -> Iterator[Signals]:
    """Take the signals until the end of the `with` block."""
    signals = Signals()
    before = {number: signal.signal(number, signals.heed) for number in HEEDED}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
