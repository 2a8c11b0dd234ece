"""The computer's clock is set while a session runs: every duration and every order of the record stays right."""

from __future__ import annotations

import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from user_project import Project

from hil.record import read_run
from hil.summary.summary import summary_of
from tests.faults.campaign.strike import CLOCK

TESTS = """
import os, pathlib, time

def test_a(hil_board, hil_trial):
    time.sleep(1)
    hil_trial(spec(hil_board))

def test_b(hil_board, hil_trial):
    pathlib.Path(os.environ["CLOCK_FILE"]).touch()
    time.sleep(1.1)
    hil_trial(spec(hil_board))

def test_c(hil_board, hil_trial):
    time.sleep(1.1)
    hil_trial(spec(hil_board))
"""


@pytest.mark.parametrize(
    ("off_s", "workers"),
    [
        pytest.param(-3600, "0", id="back-one process"),
        pytest.param(3600, "0", id="forward-one process"),
        pytest.param(-3600, "1", id="back-a worker"),
        pytest.param(3600, "1", id="forward-a worker", marks=pytest.mark.tier("nightly")),
    ],
)
def test_the_clock_is_set(project: Project, tmp_path: Path, off_s: int, workers: str) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("the clock is set by a library that gcc builds")
    (tmp_path / "clock.c").write_text(CLOCK)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "clock.so", tmp_path / "clock.c", "-ldl"], check=True)
    environment = {
        "LD_PRELOAD": str(tmp_path / "clock.so"),
        "CLOCK_FILE": str(tmp_path / "flip"),
        "CLOCK_OFF": str(off_s),
    }
    done = project.write(TESTS).run("--board=stm32h7b3", "-n", workers, **environment)
    run = read_run((tmp_path / "reports/latest").resolve())
    began, ended = (datetime.fromisoformat(run.facts[key]) for key in ("time", "ended"))
    assert 3 <= (ended - began).total_seconds() < 600, done.out
    assert run.facts["whole"] and 3 <= summary_of(run).seconds < 600
    times = [datetime.fromisoformat(trial.began) for trial in run.trials]
    assert [trial.test.rpartition("::")[2][:6] for trial in run.trials] == ["test_a", "test_b", "test_c"]
    assert times == sorted(times) and began <= times[0] and times[-1] <= ended
    assert all(0 <= test.seconds < 600 for test in run.tests) and all(0 <= trial.wall_s < 600 for trial in run.trials)
