"""The last line of the terminal, and the table above it, say of which tests a device is."""

from __future__ import annotations

import pytest

from hil.record import AskedTest
from hil.record.verdicts import totals
from hil.session.summary import counts_line
from hil.session.verdict_table import verdict_table
from tests.history_records import device_test

NONE = {"board": None, "reality": None, "devices": 0}


@pytest.mark.parametrize(("without", "said"), [(0, "3 of them"), (1, "2 of them"), (3, "none of them")])
def test_only_tests_with_a_device_are_on_a_device(without: int, said: str) -> None:
    entries = [
        device_test(1.0).model_copy(update={"test": f"test_a.py::test_{number}"} | (NONE if number < without else {}))
        for number in range(3)
    ]
    again = entries[-1].model_copy(update={"verdict": "fail"})  # an attempt before the last one
    assert counts_line(totals(["pass"] * 3), [], [again, *entries]) == f"3 tests: 3 pass; {said} on a device."


def test_the_table_says_which_has_none() -> None:
    entries = [device_test(1.0), device_test(1.0).model_copy(update=NONE | {"test": "test_figures.py::test_other"})]
    tests = [AskedTest(test=each.test, verdict="pass", reason="", trials=[]) for each in entries]
    rows = [line for line in verdict_table(tests, [], 120, entries) if line.startswith("pass")]
    assert ["test of a device" in row for row in rows] == [True, False] and "test without a device" in rows[1]
