"""Ctrl-C in a test of a device; the board is a program in Python."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.host_board import ran

TESTS = """
import os, signal
import numpy as np

class Reference:
    def step(self, index):
        return {"loss": np.float32(1)}

def test_a(hil_dut):
    hil_dut.serial.expect("ready")

def test_b(hil_dut, hil_compare, hil_figure):
    hil_dut.serial.expect("ready")
    hil_compare(Reference(), exact=True).step(0, {"loss": np.float32(1)})
    hil_figure("parameters", 12, provenance="counted", budget="at most 20")
    os.kill(os.getpid(), signal.SIGINT)
    hil_dut.serial.expect("never", timeout=60)

def test_c(hil_dut):
    hil_dut.serial.expect("ready")
"""


def test_ctrl_c_in_a_test_is_no_test_that_was_not_run(tmp_path: Path) -> None:
    code, tests, device_tests = ran(tmp_path, TESTS)
    assert code == pytest.ExitCode.INTERRUPTED
    assert {name: each["verdict"] for name, each in tests.items()} == {
        "test_a": "pass", "test_b": "interrupted", "test_c": "interrupted",
    }  # fmt: skip
    assert tests["test_b"]["reason"] == "it was interrupted while it ran: Ctrl-C."
    assert tests["test_c"]["reason"] == "it was not run: Ctrl-C."
    assert set(device_tests) == {"test_a", "test_b"}
    interrupted = device_tests["test_b"]
    assert interrupted["reason"] == tests["test_b"]["reason"]
    assert (interrupted["matches"], interrupted["received"]) == (1, len("ready\n"))
    assert [each["steps"] for each in interrupted["comparisons"]] == [1] and interrupted["judged"] == []
    assert [each["budgets"][0]["verdict"] for each in interrupted["figures"]] == ["pass"]


AGAIN = """
import os, signal, time
from hil.session.recorder import RunRecorder

def pytest_keyboard_interrupt():
    if "WHERE" == "handles":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

close_tests = RunRecorder._close_tests

def closes(self, why):
    if "WHERE" == "writes":
        os.kill(os.getpid(), signal.SIGINT)
    close_tests(self, why)

RunRecorder._close_tests = closes
"""


@pytest.mark.parametrize(("where", "code"), [("handles", 130), ("writes", 2)])
def test_a_second_ctrl_c_leaves_a_whole_record_and_no_exit_code_0(tmp_path: Path, where: str, code: int) -> None:
    (tmp_path / "conftest.py").write_text(AGAIN.replace("WHERE", where))
    ended, tests, _ = ran(tmp_path, TESTS)
    assert ended in (code, -signal.SIGINT)
    assert {name: each["verdict"] for name, each in tests.items()} == {
        "test_a": "pass", "test_b": "interrupted", "test_c": "interrupted",
    }  # fmt: skip
    (run,) = (each.parent for each in (tmp_path / "reports").glob("2*/index.html"))
    facts = json.loads((run / "results.json").read_text())["run"]
    assert (facts["state"], facts["exit_code"]) == ("interrupted", 2)


EXITS = """
import numpy as np
import pytest

class Reference:
    def step(self, index):
        return {"loss": np.float32(1)}

def test_a(hil_dut, hil_compare):
    hil_dut.serial.expect("ready")
    try:
        hil_compare(Reference(), exact=True).step(0, {"loss": np.float32(2)})
    finally:
        pytest.exit("enough", returncode=0)
"""


def test_a_difference_before_an_early_end_decides(tmp_path: Path) -> None:
    code, tests, device_tests = ran(tmp_path, EXITS)
    assert code != 0
    for entry in (tests["test_a"], device_tests["test_a"]):
        assert entry["verdict"] == "fail" and entry["reason"].startswith("step 0, tensor loss: the device has 2.0")
