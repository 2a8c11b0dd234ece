"""Read a run back from its folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hil.bounded_read import read_file, read_json
from hil.errors import RigError
from hil.record.checks import refuse_contradictions, refuse_trial
from hil.record.checks.recorded import RecordedRun, RecordedTrial
from hil.record.device_test import DeviceTest
from hil.record.device_tests import written_device_tests
from hil.record.parquet import Columns, read_columns
from hil.record.results import RESULTS, SCHEMA, Results, RunFacts, RunTotals
from hil.record.run_writer import RUNNING, counts, with_trials
from hil.record.safe_paths import PLAIN_NAME, RERUN, check_name, safe_file, safe_folder
from hil.record.trial_record import TrialRecord
from hil.record.trial_writer import ENDED, read_ended, written_trials
from hil.record.validation import validated
from hil.record.verdicts import AskedTest

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
        device_tests: the records of the tests of devices under test.
    """

    folder: Path
    facts: RunFacts
    totals: RunTotals
    tests: list[AskedTest]
    trials: list[TrialRecord]
    device_tests: list[DeviceTest] = field(default_factory=list, kw_only=True)


@dataclass
class Run(Entries):
    """A recorded run with its tables.

    Attributes:
        steps: for each trial a table with a row for each step; empty if no step was run or written.
    """

    steps: list[Columns]


def read_run(folder: Path) -> Run:
    """Read a run. If it is still running or was killed, its trials are those that were written so far.

    Args:
        folder: the run's folder, or `latest` next to it (a text file on systems without symbolic links).

    Raises:
        Contradicted: two of its files, or two fields, say different things.
        RigError: the folder holds no run, or the run has another schema, is damaged, or refers to paths outside.
    """
    found = read_entries(folder)
    steps = [_steps(safe_folder(found.folder, trial.folder)) for trial in found.trials]
    return Run(
        found.folder, found.facts, found.totals, found.tests, found.trials, steps, device_tests=found.device_tests
    )  # fmt: skip


def read_entries(folder: Path) -> Entries:
    """Read a run as `read_run` does, without its tables, which takes much less time and memory."""
    recorded = read_recorded(folder)
    refuse_contradictions(recorded)
    results, trials = recorded.results, [trial.record for trial in recorded.trials]
    return Entries(
        recorded.folder, results["run"], counts(results["tests"], trials), results["tests"], trials,
        device_tests=results.get("device_tests", []),
    )  # fmt: skip


def read_trial(folder: Path) -> TrialRecord:
    """Return the record of one trial that has ended; its run is checked with it if it is there.

    Raises:
        Contradicted: as of `read_run`.
        RigError: there is none, or it is damaged.
    """
    path = folder.resolve() / ENDED
    if not path.is_file():
        raise RigError(f"{folder} has no {ENDED}: give the folder of a trial that has ended.")
    run = path.parent.parent
    if (run / NAME).is_file():
        read_entries(run)
    _, record = read_ended(run, path)
    trial = RecordedTrial(run, record, None)
    refuse_trial(run, trial)
    return record


def run_folder(path: Path) -> Path:
    """Return the folder of a run: `path` itself, or the one that it names, as `latest` where links cannot be made.

    Raises:
        RigError: it is a file that names no run, such as one of a run.
    """
    if not path.is_file():
        return path
    if path.stat().st_size > LARGEST_LATEST:
        raise RigError(f"{path} is a file, not the folder of a run: {GIVE_FOLDER}.")
    name = read_file(path, LARGEST_LATEST, GIVE_FOLDER).decode("utf-8", "replace").strip()
    if not PLAIN_NAME.fullmatch(name):
        raise RigError(f"{path} is a file that names no run: {GIVE_FOLDER}.")
    return path.parent / name


def read_recorded(folder: Path) -> RecordedRun:
    """Read a run as the checks look at it, without checking it; errors as of `read_run`, except Contradicted."""
    folder = run_folder(folder)
    results, listed = _results(folder)
    tests, trials, device_tests = results["tests"], results["trials"], results.get("device_tests", [])
    if results["run"]["state"] == RUNNING:
        trials = written_trials(folder)
        tests = with_trials(tests, trials)
        device_tests = written_device_tests(folder)
    _check_folders(folder, tests, trials, device_tests)
    for name in [each.folder for each in trials] + [each.folder for each in device_tests]:
        safe_folder(folder, name)
    by_folder = {entry["folder"]: entry for entry in listed}
    found = tuple(RecordedTrial(folder, trial, by_folder.get(trial.folder)) for trial in trials)
    more: Any = {"device_tests": device_tests} if device_tests else {}
    return RecordedRun(folder, results | {"tests": tests} | more, found)


def _results(folder: Path) -> tuple[Results, list[dict[str, Any]]]:
    """Return the content of results.json, and its trials as they are written there."""
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
    return found, results["trials"]


def _check_folders(
    folder: Path, tests: list[AskedTest], trials: list[TrialRecord], device_tests: list[DeviceTest]
) -> None:
    """Refuse two trials or device tests in one folder, and tests that name unknown trials."""
    known: set[str] = set()
    for record_folder in [each.folder for each in trials] + [each.folder for each in device_tests]:
        name = check_name(record_folder, f"{folder / NAME}: the folder of a trial")
        if name in known:
            raise RigError(f"{folder / NAME} is damaged (two trials are in the folder {name}): {RERUN}.")
        known.add(name)
    known -= {record.folder for record in device_tests}
    for name in (name for test in tests for name in test.trials if name not in known):
        raise RigError(f"{folder / NAME} is damaged (a test names the trial {name[:60]!r}, which is missing): {RERUN}.")


def _steps(folder: Path) -> Columns:
    path = safe_file(folder, "steps.parquet")
    return {} if path is None else read_columns(path)
