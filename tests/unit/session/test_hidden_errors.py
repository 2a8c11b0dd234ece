"""The error of the rig within what a runner raises in its place."""

from __future__ import annotations

import doctest
import unittest

import pytest

from hil.errors import Blocked, DeviceFault, RigError
from hil.session.hidden_errors import error_of_rig, told_to_unittest

FAULT, BLOCKED, REFUSED = DeviceFault("the core faulted."), Blocked("probe", "no answer."), RigError("no such name.")


class Group(Exception):
    """As an exception group, which Python 3.10 does not have."""

    def __init__(self, *exceptions: BaseException) -> None:
        super().__init__("several")
        self.exceptions = exceptions


def unexpected(error: Exception) -> doctest.UnexpectedException:
    test = doctest.DocTest([], {}, "mine", None, None, None)
    return doctest.UnexpectedException(test, doctest.Example("f()", ""), (type(error), error, error.__traceback__))


@pytest.mark.parametrize(
    ("raised", "found"),
    [
        (BLOCKED, BLOCKED),
        (ValueError("x"), None),
        (Group(), None),
        (Group(REFUSED, BLOCKED), BLOCKED),
        (Group(BLOCKED, Group(REFUSED, FAULT)), FAULT),
        (Group(BLOCKED, AssertionError("x")), None),
        (Group(BLOCKED, Group(ValueError("x"))), None),
        (unexpected(BLOCKED), BLOCKED),
        (unexpected(ValueError("x")), None),
    ],
)
def test_the_error_of_the_rig(raised: BaseException, found: RigError | None) -> None:
    assert error_of_rig(raised) is found


def test_what_unittest_tells_is_heard_and_still_told() -> None:
    class Case(unittest.TestCase):
        @unittest.expectedFailure
        def test_mine(self) -> None:
            raise BLOCKED

    result = unittest.TestResult()
    with told_to_unittest(result) as errors:
        Case("test_mine").run(result)
    assert errors == [BLOCKED]
    assert len(result.expectedFailures) == 1
    Case("test_mine").run(result)
    assert errors == [BLOCKED]  # nothing is heard after the block


def test_another_test_is_left_alone() -> None:
    item = object()
    with told_to_unittest(item) as errors:
        assert errors == []
