"""What a session of pytest leaves in the history, and that the history changes no verdict."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hil.history.address import address_of
from hil.history.queries import History
from hil.history.unsent import waiting
from hil.record.since_last_good import read_since
from tests.one_process import one_process

GONE = '[[board]]\nname = "stm32h7b3"\nserial = "00112233445566"\n'  # a board that is not attached: blocked, at once
TEST = """
import pytest
from hil.trial import TrialSpec

@pytest.mark.parametrize("variant", ["cls1", "cls2"])
def test_it(hil_board, hil_trial, variant):
    hil_trial(TrialSpec(hil_board, variant, steps=1, evaluate=0, batch=1))
"""
AWAY = '[history]\nurl = "postgresql+psycopg://me:secret@127.0.0.1:1/night"\nbench = "lab <b>2</b>"\n'


def run(folder: Path, rig: str) -> subprocess.CompletedProcess[str]:
    (folder / "rig.toml").write_text(rig)
    (folder / "test_mine.py").write_text(TEST)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        *one_process("--board=stm32h7b3"),
        "test_mine.py",
    ]
    environment = os.environ | {"TMPDIR": str(folder)}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=400, env=environment)


def test_every_trial_and_test_is_in_it(tmp_path: Path) -> None:  # those of workers: tests/integration/plugin
    done = run(tmp_path, GONE)
    assert done.returncode == 75 and "history:" not in done.stdout, done.stdout
    with History.open(address_of(None, tmp_path / "reports")) as history:
        (entry,) = history.runs
        trials = history.trials()
    assert (entry.state, entry.exit_code, entry.tests, entry.trials) == ("ended", 75, {"blocked": 2}, {"blocked": 2})
    assert {trial.variant for trial in trials} == {"cls1", "cls2"} and all(trial.stage for trial in trials)
    assert Path(entry.path) == tmp_path / "reports" / entry.name and waiting(tmp_path / "reports") == []
    since = read_since(Path(entry.path))
    assert since is not None and since["sentence"].startswith("No earlier good night")


def test_a_history_that_is_away_is_one_line_and_changes_no_verdict(tmp_path: Path) -> None:
    done = run(tmp_path, GONE + AWAY)
    assert done.returncode == 75, done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("history:")]
    assert "does not answer" in line and "`hil history send`" in line
    assert "secret" not in done.stdout + done.stderr
    assert len(waiting(tmp_path / "reports")) == 1
    (kept,) = (tmp_path / "reports").glob("2*/since_last_good.json")
    assert "did not answer" in kept.read_text() and "secret" not in kept.read_text()
    (record,) = (tmp_path / "reports").glob("2*/results.json")
    assert "lab <b>2</b>" in record.read_text() and "secret" not in record.read_text()
