"""A session of two short trials in a folder of its own: `pytest --board=...`, as a user runs it."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.one_process import one_process

from .fault import BOARD
from .marked import Mark, kept_in

TESTS = """
from hil.trial import TrialSpec

def test_before(hil_board, hil_trial):
    hil_trial(TrialSpec(hil_board, "cls1", steps=1, batch=2, evaluate=0))

def test_hit(hil_board, hil_trial):
    hil_trial(TrialSpec(hil_board, "cls1", steps=2, batch=2, evaluate=0))
"""
NAMES = ("test_before", "test_hit")


class Session:
    """Args:
    folder: takes the tests, locks and what the session writes to its terminal.
    rig: text of rig.toml; empty: the session starts a bench of its own.
    reports: folder of the record; None: in `folder`.
    options: more of them for pytest.
    environment: more variables.
    """

    def __init__(
        self, folder: Path, rig: str = "", reports: Path | None = None, options: Sequence[str] = (), environment: Mapping[str, str] | None = None
    ) -> None:  # fmt: skip
        self.folder, self.mark, self.reports = folder, Mark(), reports or folder / "reports"
        (folder / "test_session.py").write_text(TESTS)
        (folder / "rig.toml").write_text(rig)
        self.began = time.monotonic()
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            f"--board={BOARD}",
            f"--report-dir={self.reports}",
            *one_process(*options),
            "test_session.py",
        ]
        with (folder / "said.txt").open("wb") as said:
            self.process = subprocess.Popen(
                command, cwd=folder, start_new_session=True, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                env=self.mark.environment() | kept_in(folder) | dict(environment or {}),
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored by whoever runs in the background
            )  # fmt: skip

    def wait_until(self, after_s: float) -> bool:
        """Return whether the session still runs so many seconds after its start."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.0, self.began + after_s - time.monotonic()))
        return self.process.poll() is None

    def end(self, deadline_s: float) -> bool:
        """Return whether the session ends by itself within a deadline; kill what is left of it otherwise."""
        if not self.wait_until(deadline_s):
            return True
        self.mark.kill()
        self.process.wait()
        return False

    @property
    def said(self) -> str:
        """What the session has written to its terminal."""
        return (self.folder / "said.txt").read_text(encoding="utf-8", errors="replace")

    def records(self) -> dict[str, str]:
        """Return the contents of the records of trials that have ended so far, by path."""
        return {str(path): path.read_text(encoding="utf-8") for path in self.reports.glob("2*/*/trial.json")}

    def digests(self) -> dict[str, str]:
        """Return the last digest of each test."""
        trials = [json.loads(text) for text in self.records().values()]
        return {name_of(trial["test"]): trial["final_digest"] for trial in trials}


def name_of(test: str) -> str:
    """Return the function's name of a test id."""
    return test.partition("::")[2].partition("[")[0]
