"""Errors that end a thread of a test: pytest only warns of them, and the test would pass."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from hil.errors import RigError
from hil.session.run_state import TRACKER

COUNTED = (RigError, AssertionError)  # of the rig's calls, and of what the test asserts of their results
OTHERS = pytest.StashKey["weakref.WeakSet[threading.Thread]"]()  # that ran before the test, and belong to another


@contextlib.contextmanager
def heard(note: Callable[[str, BaseException], None], others: weakref.WeakSet[threading.Thread]) -> Iterator[None]:
    """Call `note` with the name of a thread, and the error that ends it, for the time of a `with` block.

    Not of the `others`. What heard of errors before, such as pytest, still does.
    """
    before = threading.excepthook

    def hear(args: threading.ExceptHookArgs, /) -> None:
        thread, error = args.thread, args.exc_value
        if isinstance(error, COUNTED) and thread is not None and thread not in others:
            note(thread.name, error)
        before(args)

    threading.excepthook = hear
    try:
        yield
    finally:
        threading.excepthook = before


def _phase(item: pytest.Item) -> Generator[None, Any, Any]:
    if TRACKER not in item.stash:
        return (yield)
    with heard(item.stash[TRACKER].note_in_thread, item.stash[OTHERS]):
        return (yield)


# Inside the hooks of pytest, which has a hook of its own for threads, and of the tracker, which judges the phase.


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Hear of threads that fixtures start."""
    item.stash[OTHERS] = weakref.WeakSet(threading.enumerate())
    return (yield from _phase(item))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Hear of threads of the test function."""
    return (yield from _phase(item))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Hear of threads that end while the fixtures are torn down."""
    return (yield from _phase(item))
