"""The plugin that measures what the checks of reported figures cost: what it adds up, and that it prints its line.

docs/reported-figures.md has its command.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults import cost_of_checks

ROOT = Path(__file__).resolve().parents[2]
TRIAL = """
from hil.trial import TrialSpec

def test_trial(hil_board, hil_trial):
    hil_trial(TrialSpec(hil_board, "cls1", steps=2, batch=2, evaluate=0))
"""


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def work(self, seconds: float) -> None:
        self.now += seconds


def test_a_check_within_a_check_counts_once_and_a_request_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, cost = Clock(), cost_of_checks.Cost()
    monkeypatch.setattr(cost_of_checks.time, "perf_counter", clock)
    inner = cost.check(lambda: clock.work(2))

    def reading(held: Any, call: Any) -> Any:
        clock.work(1)
        result = call()
        clock.work(4)
        return result

    timed = cost.around(reading)
    cost.check(lambda: (clock.work(8), inner()))()
    assert (cost.checks_s, cost.calls) == (10.0, 1)
    cost.trial(lambda: timed(None, lambda: clock.work(64)))()
    assert (cost.checks_s, cost.calls, cost.trials_s, cost.trials) == (15.0, 2, 69.0, 1)


@pytest.mark.tier("nightly")
def test_the_line_is_printed_of_workers_too(tmp_path: Path) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    (tmp_path / "test_one.py").write_text(TRIAL)
    command = [
        sys.executable, "-m", "pytest", "-p", "tests.faults.cost_of_checks", "-p", "no:cacheprovider", "-n", "1", "--board=stm32h7b3",
        f"--rootdir={tmp_path}", f"--report-dir={tmp_path / 'reports'}", str(tmp_path / "test_one.py"),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    found = re.search(r"checks of reported figures: ([0-9.]+) s of ([0-9.]+) s in 1 trials", done.stdout)
    assert done.returncode == 0 and found, done.stdout + done.stderr
    assert 0 < float(found[1]) < float(found[2])
