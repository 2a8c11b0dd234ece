"""Errors that end a thread of a test, or a future or task whose result nobody asks for: the test would pass."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from hil.session.counted_errors import COUNTED
from hil.session.run_state import TRACKER
from hil.session.task_errors import Tasks
from hil.threads import ThreadPool

OTHERS = pytest.StashKey["weakref.WeakSet[threading.Thread]"]()  # that ran before the test, and belong to another
FUTURES = pytest.StashKey["Futures"]()
TASKS = pytest.StashKey[Tasks]()


@contextlib.contextmanager
def heard(note: Callable[[str, BaseException], None], others: weakref.WeakSet[threading.Thread]) -> Iterator[None]:
    """Call `note` with a thread, in words, and the error that ends it, for the time of a `with` block.

    Not of the `others`. What heard of errors before, such as pytest, still does.
    """
    before = threading.excepthook

    def hear(args: threading.ExceptHookArgs, /) -> None:
        thread, error = args.thread, args.exc_value
        if isinstance(error, COUNTED) and thread is not None and thread not in others:
            note(f"in the thread {thread.name!r}", error)
        before(args)

    threading.excepthook = hear
    try:
        yield
    finally:
        threading.excepthook = before


class Futures:
    """The futures of thread pools that a test has made, but those of the rig's own pools."""

    def __init__(self) -> None:
        self._made: list[Future[Any]] = []
        self._asked: weakref.WeakSet[Future[Any]] = weakref.WeakSet()

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Watch what is submitted in a `with` block."""
        real = ThreadPoolExecutor.submit

        def submit(pool: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = real(pool, fn, *args, **kwargs)
            if not isinstance(pool, ThreadPool):
                self._watch(future)
            return future

        ThreadPoolExecutor.submit = submit  # type: ignore[assignment, method-assign]
        try:
            yield
        finally:
            ThreadPoolExecutor.submit = real  # type: ignore[method-assign]

    def _watch(self, future: Future[Any]) -> None:
        def asking(real: Callable[[float | None], Any]) -> Any:
            def ask(timeout: float | None = None) -> Any:
                try:
                    return real(timeout)
                finally:
                    if future.done():
                        self._asked.add(future)

            return ask

        future.result, future.exception = asking(future.result), asking(future.exception)  # type: ignore[method-assign]
        self._made.append(future)

    def note_unasked(self, note: Callable[[str, BaseException], None]) -> None:
        """Call `note` with the error of each future that has ended, and whose result nobody has asked for, once."""
        made, self._made = self._made, []
        for future in made:
            if not future.done():
                self._made.append(future)
                continue
            error = None if future in self._asked or future.cancelled() else future.exception()
            if isinstance(error, COUNTED):
                note("in a future whose result nobody asked for", error)


def _phase(item: pytest.Item, is_setup: bool = False) -> Generator[None, Any, Any]:
    if TRACKER not in item.stash:
        return (yield)
    note, futures = item.stash[TRACKER].note_beside, item.stash[FUTURES]
    with heard(note, item.stash[OTHERS]), futures.watched(), item.stash[TASKS].watched(note):
        try:
            return (yield)
        finally:
            if not is_setup:  # the test may ask for the result of a fixture's
                futures.note_unasked(note)


# Inside the hooks of pytest, which has a hook of its own for threads, and of the tracker, which judges the phase.


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Hear of threads that fixtures start."""
    item.stash[OTHERS] = weakref.WeakSet(threading.enumerate())
    item.stash[FUTURES] = Futures()
    item.stash[TASKS] = Tasks()
    return (yield from _phase(item, is_setup=True))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Hear of threads of the test function."""
    return (yield from _phase(item))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Hear of threads that end while the fixtures are torn down."""
    return (yield from _phase(item))
