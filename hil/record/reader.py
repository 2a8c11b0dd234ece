"""Read a run back from its folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hil.bounded import read_json, read_text
from hil.errors import RigError
from hil.record.asked import AskedTest
from hil.record.checked import checked
from hil.record.inside import AGAIN, PLAIN, file_of, folder_of, plain
from hil.record.results import RESULTS, SCHEMA, Results, RunFacts, RunTotals
from hil.record.tables import read_table
from hil.record.trial_record import TrialRecord
from hil.record.trial_writer import written_trials
from hil.record.writer import RUNNING, counts, with_trials

if TYPE_CHECKING:  # at run time it is loaded where it is needed: it takes as long as a network takes to a board
    import pandas as pd

NAME = "results.json"
LARGEST = 256 << 20  # bytes of results.json: a trial has 10 to 30 KB
LONGEST = 1 << 10  # bytes of `latest`, where it is a file


@dataclass
class Run:
    """A recorded run.

    Attributes:
        folder: where it was read from.
        facts: id, time, commit, versions and host; state, end, exit code, whether it is whole, and what is missing.
        totals: verdicts by count, of `tests` and of `trials`.
        tests: every test that asked for a trial.
        trials: one record a trial.
        steps: one data frame a trial, a row a step; without columns when no step was run, or none was written.
    """

    folder: Path
    facts: RunFacts
    totals: RunTotals
    tests: list[AskedTest]
    trials: list[TrialRecord]
    steps: list[pd.DataFrame]


def read_run(folder: Path) -> Run:
    """Read a run. Of one that was killed, the trials are those that its processes have written.

    Args:
        folder: the run's folder, or `latest` beside it (a text file on systems without symbolic links).

    Raises:
        RigError: the folder holds no run, one of another schema, a damaged one, or one that leads out of its folder.
    """
    if folder.is_file():
        name = read_text(folder, LONGEST, "give the folder of a run, such as reports/latest").strip()
        if not PLAIN.fullmatch(name):
            raise RigError(
                f"{folder} names no run, and holds no {NAME}: give the folder of a run, such as reports/latest."
            )
        folder = folder.parent / name
    results = _results(folder)
    tests, trials = results["tests"], results["trials"]
    if results["run"]["state"] == RUNNING:
        trials = written_trials(folder)
        tests = with_trials(tests, trials)
    _check_folders(folder, tests, trials)
    return Run(
        folder,
        results["run"],
        counts(tests, trials),
        tests,
        trials,
        [_steps(folder_of(folder, trial.folder)) for trial in trials],
    )


def _results(folder: Path) -> Results:
    """Return what results.json says."""
    path = file_of(folder, NAME)
    if path is None:
        hint = (
            "no run has ended there yet; one that was cut has a folder beside it"
            if folder.name == "latest"
            else "such as reports/latest"
        )
        raise RigError(f"{folder} holds no {NAME}: give the folder of a run, {hint}.")
    results = read_json(path, LARGEST, AGAIN)
    if isinstance(results, dict) and isinstance(results.get("schema"), int) and results["schema"] != SCHEMA:
        raise RigError(
            f"{path} has schema {results['schema']}, this trainrig reads {SCHEMA}: use the version that wrote it."
        )
    found = checked(RESULTS, results, str(path), NAME)
    plain(found["run"]["id"], f"{path}: the run's id")
    return found


def _check_folders(folder: Path, tests: list[AskedTest], trials: list[TrialRecord]) -> None:
    """Refuse two trials in one folder, and tests with trials that are none."""
    known = [trial.folder for trial in trials]
    for name in known:
        plain(name, f"{folder / NAME}: the folder of a trial")
    double = next((name for name in known if known.count(name) > 1), None)
    if double is not None:
        raise RigError(f"{folder / NAME} is damaged (two trials are in the folder {double}): {AGAIN}.")
    for test in tests:
        for name in test.trials:
            if name not in known:
                raise RigError(
                    f"{folder / NAME} is damaged (a test names the trial {name[:60]!r}, which it has not): {AGAIN}."
                )


def _steps(folder: Path) -> pd.DataFrame:
    import pandas as pd

    path = file_of(folder, "steps.parquet")
    return pd.DataFrame() if path is None else read_table(path)
