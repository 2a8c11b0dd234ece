"""Tell watchers of requests that are refused while they are built, in any thread: a test may catch the error."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

from hil.errors import RigError

T = TypeVar("T")
P = ParamSpec("P")

_watchers: list[Callable[[RigError], None]] = []


@contextlib.contextmanager
def watch_refusals(watcher: Callable[[RigError], None]) -> Iterator[None]:
    """Call `watcher` with every RigError of a function that `noticed` decorates, for the time of a `with` block."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def noticed(function: Callable[P, T]) -> Callable[P, T]:
    """Report a RigError of a function to the watchers before its caller can catch it."""

    @functools.wraps(function)
    def reporting(*given: P.args, **named: P.kwargs) -> T:
        try:
            return function(*given, **named)
        except RigError as error:
            for watcher in list(_watchers):
                watcher(error)
            raise

    return reporting
