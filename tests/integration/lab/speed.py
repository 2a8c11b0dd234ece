"""Measure the trials of two machines against those of one: python -m tests.integration.lab.speed [--turns N]

A machine is one core with a labgrid exporter and virtual boards. Two machines have two boards each. One machine has all
four, and its core runs everything. `pytest --board=stm32f746 -n 4` runs on the cores of its lab and takes each board at a
labgrid place. Every turn measures both labs, in alternating order, on a computer that does nothing else. The time is
that of the whole command. Exit code 1 if the median of the ratios is below what is asked for.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from hil import boards
from hil.arguments import positive_count
from hil.commands.main import main as hil
from hil.images import image_of
from hil.standins import start_virtual
from tests.by_turns import median_ratio

from .processes import Lab, resources, running

ASKED = 1.8
BOARD, BOARDS = "stm32f746", 4
TRIALS = """
import pytest
from hil.trial import TrialSpec


@pytest.mark.parametrize("seed", range({trials}))
def test_a_trial(hil_board, hil_trial, seed):
    assert hil_trial(TrialSpec(hil_board, "cls1", steps=30, evaluate=0, seed=seed)).verdict == "pass"
"""


@contextlib.contextmanager
def on(cores: set[int]) -> Iterator[None]:
    """Processes that are started meanwhile run on these cores only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def lab_of(cores: list[int], folder: Path) -> Iterator[Lab]:
    """A lab of one machine for each core; each has its part of the boards."""
    with contextlib.ExitStack() as stack:
        with on({cores[0]}):
            lab = stack.enter_context(running(folder))
        for number, core in enumerate(cores):
            with on({core}):
                offered = {}
                for board in range(number, BOARDS, len(cores)):
                    started = start_virtual(boards.load(BOARD), image_of(BOARD), folder / f"board {board}.log")
                    stack.callback(started.stop)
                    offered[f"group {board}"] = resources(started.endpoints)
                lab.export(f"machine {number}", offered)
            for group in offered:
                lab.place(f"place {group}", f"machine {number}/{group}/*", board=BOARD)
        yield lab


def seconds(cores: list[int], trials: int) -> float:
    """Return the wall time of the command in a lab of one machine for each core. Raises if a trial does not pass."""
    with tempfile.TemporaryDirectory() as name, lab_of(cores, folder := Path(name)) as lab:
        hil(["init", f"--rig={folder / 'rig.toml'}", f"--labgrid={lab.address}"])
        (folder / "test_speed.py").write_text(TRIALS.format(trials=trials))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:labgrid", f"--board={BOARD}", f"-n{BOARDS}"]
        began = time.monotonic()
        with on(set(cores)):
            ran = subprocess.run([*command, "test_speed.py"], cwd=folder, capture_output=True, text=True, check=False)
        spent = time.monotonic() - began
    assert f"{trials} passed" in ran.stdout, ran.stdout[-3000:]
    return spent


def main() -> int:
    """Print a line a turn, and the median."""
    parser = argparse.ArgumentParser(description="One machine and two, by turns.")
    parser.add_argument("--turns", type=positive_count, default=5, metavar="N", help="default: 5")
    parser.add_argument("--trials", type=positive_count, default=64, metavar="N", help="of each command (default: 64)")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    found = median_ratio("machine", lambda machines: seconds(cores[:machines], options.trials), options.turns, ASKED)
    return int(found < ASKED)


if __name__ == "__main__":
    sys.exit(main())
