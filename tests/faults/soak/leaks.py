"""A rig that leaks on purpose, to see whether the soak finds it."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from hil.rig import Rig, Taken

LEAKED_BYTES = 200_000
_kept: list[Any] = []


def _nothing() -> None:
    """The rig as it is."""


def _each_trial(leak: Callable[[], Any]) -> None:
    take = Rig.take

    @contextlib.contextmanager
    def leaks(self: Rig, *arguments: Any, **named: Any) -> Iterator[Taken]:
        _kept.append(leak())
        with take(self, *arguments, **named) as taken:
            yield taken

    Rig.take = leaks  # type: ignore[method-assign]


def _thread() -> threading.Thread:
    thread = threading.Thread(target=threading.Event().wait, daemon=True)
    thread.start()
    return thread


LEAKS: dict[str, Callable[[], None]] = {
    "nothing": _nothing,
    "descriptors": lambda: _each_trial(lambda: os.open(os.devnull, os.O_RDONLY)),
    "memory": lambda: _each_trial(lambda: bytearray(os.urandom(LEAKED_BYTES))),
    "threads": lambda: _each_trial(_thread),
}  # each is named after the figure that it makes grow
