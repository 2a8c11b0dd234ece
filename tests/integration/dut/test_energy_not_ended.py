"""A window of energy that a test begins and does not end has no figures, so that the request is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.one_process import one_process

TESTS = """
KEPT = []

def test_dropped(hil_dut, hil_figure):
    hil_dut.energy(window_s=0.2).__enter__()
    hil_figure("size", 10, "B", provenance="counted", budget="at most 16 B")

def test_kept_in_the_test(hil_dut, hil_figure):
    work = hil_dut.energy(window_s=0.2)
    work.__enter__()
    hil_figure("size", 10, "B", provenance="counted", budget="at most 16 B")

def test_kept_beyond_it(hil_dut, hil_figure):
    KEPT.append(hil_dut.energy(window_s=0.2))
    KEPT[0].__enter__()
    hil_figure("size", 10, "B", provenance="counted", budget="at most 16 B")

def test_generator_left(hil_dut, hil_figure):
    def steps():
        with hil_dut.energy(window_s=0.2):
            yield 1
            yield 2
    for _ in steps():
        break
    hil_figure("size", 10, "B", provenance="counted", budget="at most 16 B")

def test_never_begun(hil_dut, hil_figure):
    hil_dut.energy(window_s=0.2)
    hil_figure("size", 10, "B", provenance="counted", budget="at most 16 B")
"""


def test_a_window_that_is_not_ended_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    (tmp_path / "test_mine.py").write_text(TESTS)
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
         *one_process("--board=stm32f746", "--reality=virtual"), "test_mine.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, env=dict(os.environ), check=False,
    )  # fmt: skip
    entries = json.loads((tmp_path / "reports/latest/results.json").read_text())["device_tests"]
    found = {each["test"].rpartition("::")[2].partition("[")[0]: (each["verdict"], each["reason"]) for each in entries}
    assert found.pop("test_never_begun") == ("pass", "")
    assert len(found) == 4
    for verdict, reason in found.values():
        assert verdict == "refused" and "a window of dut.energy was begun and not ended" in reason
