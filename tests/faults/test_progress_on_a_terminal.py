"""The progress line where a person looks for it: pytest on a pseudo-terminal, with its output captured as always."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.one_process import one_process

HANG_S = 400
TEST = """
from hil.trial import EnergyWindows, LatencySteps, TrialSpec

def test_mine(hil_board, hil_trial):
    print("what a test prints is not shown")
    hil_trial(TrialSpec(
        hil_board, "cls1", batch=1, steps=6, evaluate=3, latency=LatencySteps(2), energy=EnergyWindows(windows=2, steps=1, idle_ms=20),
    ))
"""
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_a_terminal(folder: Path, *options: str) -> str:
    """Run pytest with a pseudo-terminal for its output; return what was shown on it, without the codes."""
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--board=stm32h7b3",
        "--reality=virtual",
        *one_process(*options),
        "test_mine.py",
    ]
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "160"},
    )
    os.close(theirs)
    shown, end = b"", time.monotonic() + HANG_S
    try:
        while time.monotonic() < end:
            if not select.select([ours], [], [], 1.0)[0]:
                continue
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other side is closed: Linux says so by an error
                break
            if not part:
                break
            shown += part
        assert process.wait(30) == 0, shown.decode()
    finally:
        process.kill()
        os.close(ours)
    return CODES.sub("", shown.decode())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    (tmp_path / "test_mine.py").write_text(TEST)
    return tmp_path


def test_every_phase_is_seen_and_training_has_rate_loss_and_time_left(folder: Path) -> None:
    shown = on_a_terminal(folder)
    lines = [line for line in re.split(r"[\r\n]+", shown) if "stm32h7b3 cls1: " in line]
    phases = {line.partition("stm32h7b3 cls1: ")[2].split()[0] for line in lines}
    assert {"flash", "load", "train", "evaluate", "latency", "energy"} <= phases, phases
    train = [line for line in lines if "cls1: train" in line]
    assert any(re.search(r"[1-6]/6 .*steps/s loss \d\.\d+ \d+:\d+:\d+ left", line) for line in train), train
    assert "what a test prints" not in shown
    assert re.search(r"test_mine\.py \. +\[100%\]", shown), "pytest's own line is whole"


@pytest.mark.tier("nightly")
def test_workers_are_seen(folder: Path) -> None:
    """Without `-n 2` it is the same where there are two cores."""
    shown = on_a_terminal(folder, "-n", "2")
    assert re.search(r"stm32h7b3 cls1: train [0-6]/6|stm32h7b3 cls1: (flash|load|evaluate|latency|energy)", shown)
    assert re.search(r"\.\s+\[100%\]", shown), "below it the line was erased"


@pytest.mark.tier("nightly")
def test_quiet_is_quiet(folder: Path) -> None:
    assert "stm32h7b3 cls1: " not in on_a_terminal(folder, "-q")
