"""Read a run back from its folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hil.bounded_read import read_json, read_text
from hil.errors import RigError
from hil.record.parquet import read_table
from hil.record.results import RESULTS, SCHEMA, Results, RunFacts, RunTotals
from hil.record.run_writer import RUNNING, counts, with_trials
from hil.record.safe_paths import PLAIN_NAME, RERUN, check_name, safe_file, safe_folder
from hil.record.trial_record import TrialRecord
from hil.record.trial_writer import written_trials
from hil.record.validation import validated
from hil.record.verdicts import AskedTest

if TYPE_CHECKING:  # imported late: it takes about as long as sending a network to a board
    import pandas as pd

NAME = "results.json"
LARGEST = 256 << 20  # bytes of results.json; a trial has 10 to 30 KB
LARGEST_LATEST = 1 << 10  # bytes of `latest` if it is a text file
GIVE_FOLDER = "give the folder of a run, such as reports/latest"


@dataclass
class Entries:
    """A recorded run without its tables.

    Attributes:
        folder: the run was read from it.
        facts: id, time, commit, versions, host, state, end, exit code, completeness, and what is missing.
        totals: number of `tests` and of `trials` by verdict.
        tests: every test that uses a board or runs a trial.
        trials: the records of the trials.
    """

    folder: Path
    facts: RunFacts
    totals: RunTotals
    tests: list[AskedTest]
    trials: list[TrialRecord]


@dataclass
class Run(Entries):
    """A recorded run with its tables.

    Attributes:
        steps: a data frame for each trial with a row for each step; empty if no step was run or written.
    """

    steps: list[pd.DataFrame]


def read_run(folder: Path) -> Run:
    """Read a run. If it is still running or was killed, its trials are those that were written so far.

    Args:
        folder: the run's folder, or `latest` next to it (a text file on systems without symbolic links).

    Raises:
        RigError: the folder holds no run, or the run has another schema, is damaged, or refers to paths outside.
    """
    found = read_entries(folder)
    steps = [_steps(safe_folder(found.folder, trial.folder)) for trial in found.trials]
    return Run(found.folder, found.facts, found.totals, found.tests, found.trials, steps)


def read_entries(folder: Path) -> Entries:
    """Read a run as `read_run` does, without its tables, which takes much less time and memory."""
    if folder.is_file():
        name = read_text(folder, LARGEST_LATEST, GIVE_FOLDER).strip()
        if not PLAIN_NAME.fullmatch(name):
            raise RigError(f"{folder} names no run, and holds no {NAME}: {GIVE_FOLDER}.")
        folder = folder.parent / name
    results = _results(folder)
    tests, trials = results["tests"], results["trials"]
    if results["run"]["state"] == RUNNING:
        trials = written_trials(folder)
        tests = with_trials(tests, trials)
    _check_folders(folder, tests, trials)
    for trial in trials:
        safe_folder(folder, trial.folder)
    return Entries(folder, results["run"], counts(tests, trials), tests, trials)


def _results(folder: Path) -> Results:
    path = safe_file(folder, NAME)
    if path is None and folder.name == "latest":
        raise RigError(f"{folder} holds no {NAME}: no run has ended there yet, give the folder of an unfinished run.")
    if path is None:
        raise RigError(f"{folder} holds no {NAME}: {GIVE_FOLDER}.")
    results = read_json(path, LARGEST, RERUN)
    if isinstance(results, dict) and isinstance(results.get("schema"), int) and results["schema"] != SCHEMA:
        raise RigError(
            f"{path} has schema {results['schema']}, this trainrig reads {SCHEMA}: use the version that wrote it."
        )
    found = validated(RESULTS, results, str(path), NAME)
    check_name(found["run"]["id"], f"{path}: the run's id")
    return found


def _check_folders(folder: Path, tests: list[AskedTest], trials: list[TrialRecord]) -> None:
    """Refuse two trials in one folder, and tests that name unknown trials."""
    known: set[str] = set()
    for trial in trials:
        name = check_name(trial.folder, f"{folder / NAME}: the folder of a trial")
        if name in known:
            raise RigError(f"{folder / NAME} is damaged (two trials are in the folder {name}): {RERUN}.")
        known.add(name)
    for name in (name for test in tests for name in test.trials if name not in known):
        raise RigError(f"{folder / NAME} is damaged (a test names the trial {name[:60]!r}, which is missing): {RERUN}.")


def _steps(folder: Path) -> pd.DataFrame:
    import pandas as pd

    path = safe_file(folder, "steps.parquet")
    return pd.DataFrame() if path is None else read_table(path)
