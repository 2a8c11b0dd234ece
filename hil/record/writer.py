"""Write a run: its folder, results.json, results.csv, and `latest`."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from hil.measure.capture import Capture
from hil.record.asked import AskedTest, totals
from hil.record.checked import not_kept
from hil.record.origin import origin
from hil.record.results import RESULTS, SCHEMA, RunTotals
from hil.record.rows import csv_of
from hil.record.trial_record import TrialRecord
from hil.record.trial_writer import TrialWriter, as_json, plain, written_trials
from hil.record.whole import whole, write_whole

if TYPE_CHECKING:  # at run time it is loaded where it is needed: it takes as long as a network takes to a board
    import pandas as pd

RUNNING, ENDED, INTERRUPTED = "running", "ended", "interrupted"


class RunWriter(TrialWriter):
    """The record of one run, written by the process that began it; its workers write trials only.

    The record on disk is at every moment what would be true if the run were killed now: a test that has not ended stands in it as interrupted.

    Args:
        folder: of the run; it exists.
        facts: id, time, commit, versions and host.
    """

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        super().__init__(folder)
        self.facts = facts | {"state": RUNNING, "ended": None, "whole": False, "exit_code": None, "missing": []}
        self._tests: dict[str, AskedTest] = {}
        self._kept: dict[str, TrialRecord] = {}

    @classmethod
    def begin(cls, root: Path, **facts: Any) -> RunWriter:
        """Make the folder of a new run in `root`, the folder of all runs, and write into it.

        Raises:
            OSError: the disk is full, or takes no file there.
        """
        now = datetime.now(timezone.utc)
        folder = root / f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
        folder.mkdir(parents=True)
        run = cls(folder, {"id": folder.name, "time": now.isoformat(timespec="seconds")} | origin() | facts)
        try:
            run.update()
        except OSError:
            folder.rmdir()
            raise
        return run

    def plan(self, tests: Iterable[AskedTest]) -> None:
        """Take the tests that will ask for a trial, in the order in which they run."""
        self._tests |= {test.test: test for test in tests}

    def end_test(self, test: AskedTest) -> None:
        """Take what became of a test."""
        self._tests[test.test] = test

    def keep(self, record: TrialRecord) -> None:
        """Take the record of a trial that ended, whether or not the disk has taken it; it is kept as a file would give it back."""
        self._kept[record.folder] = TrialRecord(**plain(record))

    def write_trial(
        self,
        record: TrialRecord,
        steps: pd.DataFrame,
        folder: Path,
        power: Sequence[Capture] = (),
        latency: pd.DataFrame | None = None,
    ) -> None:
        """Write a trial and bring results.json up to date."""
        super().write_trial(record, steps, folder, power, latency)
        self.keep(record)
        self.update()

    @property
    def trials(self) -> list[TrialRecord]:
        """The records of all trials so far: those in the folder, by whichever process, and those that the disk did not take."""
        found = {trial.folder: trial for trial in written_trials(self.folder, but=self._kept)}
        return list((self._kept | found).values())

    @property
    def tests(self) -> list[AskedTest]:
        """Every test that asked for a trial, in order, each with its trials."""
        return with_trials(self._tests.values(), self.trials)

    def update(self) -> None:
        """Write results.json as things are by now.

        Raises:
            OSError: the disk takes no more; the files that were there stay.
            Blocked: a fact of the run does not fit the model.
        """
        self._write()

    def _write(self) -> tuple[list[AskedTest], list[TrialRecord]]:
        trials = self.trials
        tests = with_trials(self._tests.values(), trials)
        results = {
            "schema": SCHEMA,
            "run": self.facts,
            "totals": counts(tests, trials),
            "tests": tests,
            "trials": trials,
        }
        try:
            found = RESULTS.validate_python(results)
        except ValidationError as error:
            raise not_kept(error, results, "results.json") from error
        write_whole(self.folder / "results.json", as_json(RESULTS.dump_python(found)))
        return tests, trials

    def finish(self, state: str = ENDED, exit_code: int = 0, missing: Sequence[str] = ()) -> None:
        """Write the record of a run that is over, results.csv too, and point `latest` at it unless it was interrupted.

        Args:
            state: `ended` or `interrupted`.
            exit_code: of the run.
            missing: sentences on what is not in the record, and why.

        Raises:
            OSError: the disk takes no more.
        """
        whole_run = state == ENDED and not missing and all(test.verdict != "interrupted" for test in self.tests)
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self.facts |= {
            "state": state,
            "ended": now,
            "whole": whole_run,
            "exit_code": exit_code,
            "missing": list(missing),
        }
        write_whole(self.folder / "results.csv", csv_of(*self._write()))
        if state == ENDED:
            self._point_latest()

    def _point_latest(self) -> None:
        """Make `latest` a symbolic link, or a text file with the run's name where there are no links."""
        with whole(self.folder.parent / "latest") as fresh:
            try:
                fresh.symlink_to(self.folder.name)
            except OSError:
                fresh.write_text(self.folder.name + "\n", encoding="utf-8")


def with_trials(tests: Iterable[AskedTest], trials: Sequence[TrialRecord]) -> list[AskedTest]:
    """Return the tests with the folders of their trials; a trial that no test is known to have asked for stands for one."""
    of: dict[str, list[TrialRecord]] = {}
    for trial in trials:
        of.setdefault(trial.test or trial.folder, []).append(trial)
    found = [test.model_copy(update={"trials": [trial.folder for trial in of.pop(test.test, [])]}) for test in tests]
    alone = [(name, trial) for name, group in of.items() for trial in group]
    return found + [
        AskedTest(test=name, board=trial.board, verdict=trial.verdict, reason=trial.reason, trials=[trial.folder])
        for name, trial in alone
    ]


def counts(tests: Iterable[AskedTest], trials: Iterable[TrialRecord]) -> RunTotals:
    """Return `totals`: the verdicts of tests, whose sum is pytest's count, and those of trials."""
    return {"tests": totals(test.verdict for test in tests), "trials": totals(trial.verdict for trial in trials)}
