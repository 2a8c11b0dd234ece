"""Errors of the rig that a runner between pytest and the test hides: unittest, doctest, a group of tasks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from hil.errors import RigError, verdict_word
from hil.record.verdicts import WORST_FIRST

UNITTEST = ("addError", "addFailure", "addExpectedFailure")  # of `unittest.TestResult`, which the item of pytest is
# What has other errors in it: a group (PEP 654), and pytest's of doctests that go on (--doctest-continue-on-failure).
SEVERAL = ("exceptions", "failures")


@contextlib.contextmanager
def told_to_unittest(item: Any) -> Iterator[list[BaseException]]:
    """Give the errors that unittest tells pytest of in a `with` block, and does not raise; none of another test.

    Of a test that is expected to fail (`unittest.expectedFailure`) pytest keeps no error (`addExpectedFailure` in
    _pytest/unittest.py).
    """
    errors: list[BaseException] = []
    if not all(hasattr(item, name) for name in UNITTEST):
        yield errors
        return

    def hearing(tell: Callable[..., None]) -> Callable[..., None]:
        def told(case: Any, found: Any, *more: Any) -> None:
            errors.append(found[1])
            tell(case, found, *more)

        return told

    for name in UNITTEST:
        setattr(item, name, hearing(getattr(item, name)))
    try:
        yield errors
    finally:
        for name in UNITTEST:
            delattr(item, name)


def error_of_rig(error: BaseException) -> RigError | None:
    """Return the error of the rig that an error is, or that it only wraps: the worst one of several.

    None if it is another, or if one of several is: that one is about the test.
    """
    if isinstance(error, RigError):
        return error
    found = [error_of_rig(each) for each in _within(error)]
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return None
    return min(known, key=lambda each: WORST_FIRST.index(verdict_word(each)))


def _within(error: BaseException) -> list[BaseException]:
    """Return the errors that one wraps."""
    of_doctest = getattr(error, "exc_info", None)  # `doctest.UnexpectedException`
    several = [of_doctest[1]] if isinstance(of_doctest, tuple) and len(of_doctest) > 1 else []
    for name in SEVERAL:
        more = getattr(error, name, None)
        several += more if isinstance(more, tuple | list) else ()
    return [each for each in several if isinstance(each, BaseException)]
