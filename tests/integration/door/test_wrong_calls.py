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
import sys

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


@pytest.fixture(scope="module")
def longer(request):
    return request.getfixturevalue("hil_dut")


@pytest.fixture(scope="module")
def longest(hil_dut):
    return hil_dut


def test_device_of_a_module_while_it_runs(longer):
    longer.serial.expect("ready")


def test_device_of_a_module_once_more(longer):
    longer.serial.expect("ready")


def test_device_of_a_module(longest):
    longest.serial.expect("ready")


class Ends:
    def __init__(self, end):
        self.end = end

    def step(self, index):
        if index == 2:
            self.end()
        return {"w": np.float32(index)}


@pytest.mark.parametrize("end", [lambda: sys.exit(0), lambda: pytest.fail("no file"), lambda: pytest.skip("no torch")],
                         ids=["exit", "fail", "skip"])
def test_reference_that_ends(hil_dut, hil_compare, end):
    hil_dut.serial.expect("ready")
    run = hil_compare(Ends(end), exact=True)
    for step in range(4):
        run.step(step, {"w": np.float32(step)})


def test_difference_before_a_skip(hil_dut, hil_compare):
    hil_dut.serial.expect("ready")
    run = hil_compare(Ends(lambda: pytest.skip("no torch")), exact=True, keep_going=True)
    for step in range(4):
        run.step(step, {"w": np.float32(7)})


def test_dtype_that_nobody_knows(hil_dut):
    next(hil_dut.lines("(?P<word>ready)", dtypes={"word": "bfloat16"}))


def test_size_below_0(hil_dut, hil_figure):
    hil_dut.serial.expect("ready")
    hil_figure("sram", -32512, "B", provenance="counted", budget="1 kB")


def test_after_all_of_them(hil_dut):
    hil_dut.serial.expect("ready")
"""
RIG = '[[board]]\nname = "host"\nreality = "host"\nrun = ["{python}", "-u", "{{elf}}"]\nelf = "device.py"\n'
LONGER = "a fixture of the scope 'module' asks for hil_(dut|board|device_use), which belongs to one test: leave scope="
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
    "test_device_of_a_module_while_it_runs": ("refused", LONGER),
    "test_device_of_a_module_once_more": ("refused", LONGER),
    "test_device_of_a_module": ("refused", LONGER),
    "test_reference_that_ends[host-exit]": ("refused", r"step 2: the reference failed \(SystemExit: 0\): correct"),
    "test_reference_that_ends[host-fail]": ("refused", r"step 2: the reference failed \(Failed: no file\): correct"),
    "test_reference_that_ends[host-skip]": ("skipped", "^no torch; 2 steps had been compared by then$"),
    "test_difference_before_a_skip": ("fail", "step 0, tensor w: the device has 7.0"),
    "test_dtype_that_nobody_knows": ("refused", "'bfloat16' is no dtype"),
    "test_size_below_0": ("fail", "the figure sram is -32512 B, and it cannot be below 0"),
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


LOST = """
import numpy as np


class Reference:
    def step(self, index):
        return {"w": np.float32(index)}


def test_mine(hil_dut, hil_compare, hil_device_use):
    hil_dut.serial.expect("ready")
    (hil_device_use.folder / "tensors.npz").symlink_to("/dev/full")
    hil_compare(Reference(), exact=True).step(0, {"w": np.float32(0)})
"""


def test_tensors_that_the_disk_does_not_take_are_missing(strange: Callable, tmp_path: Path) -> None:
    (tmp_path / "device.py").write_text(DEVICE)
    (tmp_path / "rig.toml").write_text(RIG.format(python=sys.executable))
    lost = strange(tmp_path, LOST, "--board=host")
    assert lost.verdict("test_mine")[0] == "pass", lost.out
    assert lost.code == 1 and "MISSING from the record: host-test_mine/tensors.npz: File exists." in lost.out
