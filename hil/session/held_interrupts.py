"""Ctrl-C while a record is completed: it waits until the record is whole."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def held_interrupts() -> Iterator[list[int]]:
    """Let no Ctrl-C end a `with` block; give the list of those that came.

    One that is ignored, or that another thread than the main one would have to hold, is left as it is.
    """
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield came
        return
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)
