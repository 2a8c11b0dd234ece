"""Subtests of pytest and of unittest in a test of a device; the board is a program in Python."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.host_board import ran

pytest.importorskip("_pytest.subtests", reason="pytest before 9 has no subtests")

PASSING = r"""
import unittest
import pytest

def test_passes(hil_dut, subtests):
    hil_dut.serial.expect("ready")
    for number in range(3):
        with subtests.test("part", number=number):
            assert True

def test_leaves_one_out(hil_dut, subtests):
    hil_dut.serial.expect("ready")
    with subtests.test("part"):
        pytest.skip("not here")

class TestOld(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _device(self, hil_dut):
        self.device = hil_dut

    def test_old(self):
        self.device.serial.expect("ready")
        with self.subTest("part"):
            assert True
"""
FAILING = r"""
import pytest

def test_asserts(hil_dut, subtests):
    hil_dut.serial.expect("ready")
    with subtests.test("wrong"):
        assert 1 == 2
    with subtests.test("right"):
        assert True

def test_expects(hil_dut, subtests):
    with subtests.test("part"):
        hil_dut.serial.expect("done", timeout=0.2)

def test_is_refused(hil_dut, subtests):
    with subtests.test("part"):
        hil_dut.serial.expect("(")

def test_is_blocked(hil_dut, subtests):
    with subtests.test("part"):
        hil_dut.halt()

@pytest.mark.xfail
def test_is_expected(hil_dut, subtests):
    hil_dut.serial.expect("ready")
    with subtests.test("part"):
        assert 1 == 2
"""
VERDICTS = {
    "test_asserts": ("fail", "assert 1 == 2"),
    "test_expects": ("fail", "the device did not print 'done' within 0.2 s"),
    "test_is_refused": ("refused", "'(' is no regular expression"),
    "test_is_blocked": ("blocked", "has no debug probe here"),
    "test_is_expected": ("fail", "expected to fail"),
}


def test_subtests_that_pass_are_parts_of_their_test(tmp_path: Path) -> None:
    code, tests, _ = ran(tmp_path, PASSING)
    assert code == 0 and {each["verdict"] for each in tests.values()} == {"pass"} and len(tests) == 3
    suite = ET.parse(tmp_path / "reports/latest/junit.xml").getroot().find("testsuite")
    assert suite is not None and (suite.get("tests"), suite.get("skipped")) == ("3", "0")


def test_a_subtest_that_fails_decides_the_verdict_of_its_test(tmp_path: Path) -> None:
    code, tests, _ = ran(tmp_path, FAILING)
    assert code == 1 and set(tests) == set(VERDICTS)
    for name, (verdict, reason) in VERDICTS.items():
        assert tests[name]["verdict"] == verdict and reason in tests[name]["reason"], name
    assert tests["test_is_expected"]["expected"]
