"""Calls that a stranger got wrong, and a second device whose failure counts as that of the first."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

DEVICE = """
import sys

print("ready", flush=True)
if sys.stdin.read(1) == "u":
    print("t.c:12:test_fwd:PASS\\nt.c:30:test_bwd:FAIL: Expected 3 Was 4\\n\\n-----------------------\\n"
          "2 Tests 1 Failures 0 Ignored\\nFAIL", flush=True)
sys.stdin.read(1)
"""
MINE = """
import contextlib

import numpy as np
import pytest


class Reference:
    def step(self, index):
        return {"w": np.float32(index)}


def test_second_device(hil_duts):
    first, second = hil_duts(2)
    for each in (first, second):
        each.serial.expect("ready")
    second.serial.write(b"u\\n")
    with contextlib.suppress(Exception):
        second.cases("unity", timeout=20)


def test_name_is_a_number(hil_dut, hil_compare):
    hil_dut.serial.expect("ready")
    hil_compare(Reference(), exact=True, name=1).step(0, {"w": np.float32(0)})


def test_unknown_argument(hil_dut, hil_compare):
    hil_dut.serial.expect("ready")
    hil_compare(Reference(), exact=True, evil=3)


def test_unknown_argument_of_learning(hil_dut, expect_learning):
    hil_dut.serial.expect("ready")
    expect_learning([3, 2, 1], evil=1)


def test_no_count(hil_duts):
    hil_duts()


def test_true_is_no_count(hil_duts):
    hil_duts(True)


def test_budget_that_no_float_holds(hil_dut, hil_figure):
    hil_dut.serial.expect("ready")
    hil_figure("x", 4, provenance="counted", budget="1e400")


def test_figure_that_no_float_holds(hil_dut, hil_figure):
    hil_dut.serial.expect("ready")
    hil_figure("x", 10**400, provenance="counted")


def test_accuracy_in_per_cent(hil_dut, hil_figure):
    hil_dut.serial.expect("ready")
    hil_figure("accuracy", 42, provenance="counted", budget="90 %")


def test_accuracy_with_its_unit(hil_dut, hil_figure):
    hil_dut.serial.expect("ready")
    hil_figure("accuracy", 91, "%", provenance="counted", budget="90 %")


def test_unknown_argument_of_a_figure(hil_dut, hil_figure):
    hil_dut.serial.expect("ready")
    hil_figure("x", 4, evil=1)


@pytest.mark.budget
def test_empty_marker(hil_dut, hil_figure):
    hil_dut.serial.expect("ready")
    hil_figure("x", 4, provenance="counted")


def test_after_all_of_them(hil_dut):
    hil_dut.serial.expect("ready")
"""
RIG = '[[board]]\nname = "host"\nreality = "host"\nrun = ["{python}", "-u", "{{elf}}"]\nelf = "device.py"\n'
VERDICTS = {
    "test_second_device": ("fail", "test_bwd"),
    "test_name_is_a_number": ("refused", "a comparison has the name 1: give text"),
    "test_unknown_argument": ("refused", "hil_compare: got an unexpected keyword argument 'evil'"),
    "test_unknown_argument_of_learning": ("refused", "expect_learning: got an unexpected keyword argument 'evil'"),
    "test_no_count": ("refused", "hil_duts was given None: say how many"),
    "test_true_is_no_count": ("refused", "hil_duts was given True: say how many"),
    "test_budget_that_no_float_holds": ("refused", "'1e400', which is too large for a number"),
    "test_figure_that_no_float_holds": ("refused", "the figure x is an integer that no float can hold"),
    "test_accuracy_in_per_cent": ("refused", "the accuracy is 42: give a share of 1"),
    "test_accuracy_with_its_unit": ("pass", "^$"),
    "test_unknown_argument_of_a_figure": ("refused", "hil_figure: got an unexpected keyword argument 'evil'"),
    "test_empty_marker": ("refused", "the marker budget is empty"),
    "test_after_all_of_them": ("pass", "^$"),
}


@pytest.fixture(scope="module")
def done(strange: Callable, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("host")
    (folder / "device.py").write_text(DEVICE)
    (folder / "rig.toml").write_text(RIG.format(python=sys.executable))
    return strange(folder, MINE, "--board=host")


@pytest.mark.parametrize("test", VERDICTS)
def test_verdicts(done, test: str) -> None:
    verdict, reason = VERDICTS[test]
    said, why = done.verdict(test)
    assert said == verdict, done.out
    assert re.search(reason, why)


def test_the_whole_record_is_there(done) -> None:
    assert "MISSING" not in done.out and "INTERNALERROR" not in done.out
    assert (Path(done.run) / "index.html").is_file() and len(done.read.tests) == len(VERDICTS)
