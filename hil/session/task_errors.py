"""Errors of asyncio tasks and futures that nobody has asked for: asyncio logs them at most, and the test would pass.

asyncio tells its loop of such an error when the task or future is deleted ("exception was never retrieved", Python's
documentation of asyncio, Detect never retrieved exceptions), and when a loop is closed while a task runs.
"""

from __future__ import annotations

import contextlib
import gc
from asyncio import BaseEventLoop
from collections.abc import Callable, Iterator
from typing import Any

from hil.session.counted_errors import COUNTED

Note = Callable[[str, BaseException], None]


class Tasks:
    """The tasks that a test has made, on loops of asyncio."""

    def __init__(self) -> None:
        self._made: set[int] = set()  # their ids: no weak reference is left when the collector deletes one
        self._number = 0  # in this phase

    @contextlib.contextmanager
    def watched(self, note: Note) -> Iterator[None]:
        """Call `note` with the task, in words, and its error, for the time of a `with` block and at its end.

        Not of tasks that another test has made. What the loop does with the error before, it still does.
        """
        task, executor = BaseEventLoop.create_task, BaseEventLoop.run_in_executor
        tell = BaseEventLoop.call_exception_handler

        def create_task(loop: Any, *given: Any, **named: Any) -> Any:
            return self._watch(task(loop, *given, **named))

        def run_in_executor(loop: Any, *given: Any, **named: Any) -> Any:
            return self._watch(executor(loop, *given, **named))

        def hear(loop: BaseEventLoop, context: dict[str, Any]) -> None:
            error, future = context.get("exception"), context.get("task") or context.get("future")
            if isinstance(error, COUNTED) and (future is None or id(future) in self._made):
                note("in a task or a callback of asyncio, of which nobody asked for the result", error)
            tell(loop, context)

        BaseEventLoop.create_task = create_task  # type: ignore[method-assign, assignment]
        BaseEventLoop.run_in_executor = run_in_executor  # type: ignore[method-assign, assignment]
        BaseEventLoop.call_exception_handler = hear  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            if self._number:
                gc.collect()  # a task that its own error refers to is deleted by that only
            self._number = 0
            BaseEventLoop.create_task = task  # type: ignore[method-assign]
            BaseEventLoop.run_in_executor = executor  # type: ignore[method-assign]
            BaseEventLoop.call_exception_handler = tell  # type: ignore[method-assign]

    def _watch(self, future: Any) -> Any:
        self._made.add(id(future))
        self._number += 1
        return future
