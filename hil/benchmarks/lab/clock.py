"""Virtual time: an event loop of asyncio whose clock jumps to the next timer as soon as nothing else can be done."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that never waits. Its time begins at 0 s, and is exact: the work of a callback takes no virtual time.

    What would be done in a thread is done at once instead, so that no clock goes on while a thread works.
    """

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self.now

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]  # the base names it with its type variables
        """Call a function now and return its result as a future that is done."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future


class _Jumping(selectors.DefaultSelector):
    """Instead of waiting for a file, it moves the clock of its loop."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready now. Raises RuntimeError if nothing is left that could ever happen."""
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise RuntimeError("the simulation waits for something that no timer brings about")
        self._loop.now += timeout
        return ready
