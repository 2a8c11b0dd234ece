"""Read a run back from its folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hil.bounded import read_json, read_text
from hil.errors import RigError
from hil.fields import rebuilt
from hil.record.asked import AskedTest
from hil.record.inside import AGAIN, PLAIN, file_of, folder_of, plain
from hil.record.shape import mistake, schema_for_reading, trial_schema
from hil.record.tables import read_table
from hil.record.trial_record import SCHEMA, TrialRecord
from hil.record.trial_writer import written_trials
from hil.record.writer import RUNNING, counts, with_trials

if TYPE_CHECKING:  # at run time it is loaded where it is needed: it takes as long as a network takes to a board
    import pandas as pd

RESULTS = "results.json"
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
    facts: dict[str, Any]
    totals: dict[str, dict[str, int]]
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
            raise RigError(f"{folder} names no run, and holds no {RESULTS}: give the folder of a run, such as reports/latest.")
        folder = folder.parent / name
    results = _results(folder)
    tests = [rebuilt(AskedTest, test, f"{folder / RESULTS}, tests[{number}]", AGAIN) for number, test in enumerate(results["tests"])]
    trials = [rebuilt(TrialRecord, trial, f"{folder / RESULTS}, trials[{number}]", AGAIN) for number, trial in enumerate(results["trials"])]
    if results["run"]["state"] == RUNNING:
        trials = [_checked(trial, folder) for trial in written_trials(folder)]
        tests = with_trials(tests, trials)
    _check_folders(folder, tests, trials)
    totals = counts(map(asdict, tests), map(asdict, trials))
    return Run(folder, results["run"], totals, tests, trials, [_steps(folder_of(folder, trial.folder)) for trial in trials])


def _results(folder: Path) -> dict[str, Any]:
    """Return what results.json says, in the shape of its schema."""
    path = file_of(folder, RESULTS)
    if path is None:
        hint = "no run has ended there yet; one that was cut has a folder beside it" if folder.name == "latest" else "such as reports/latest"
        raise RigError(f"{folder} holds no {RESULTS}: give the folder of a run, {hint}.")
    results = read_json(path, LARGEST, AGAIN)
    if isinstance(results, dict) and isinstance(results.get("schema"), int) and results["schema"] != SCHEMA:
        raise RigError(f"{path} has schema {results['schema']}, this trainrig reads {SCHEMA}: use the version that wrote it.")
    wrong = mistake(results, schema_for_reading(), RESULTS)
    if wrong is not None:
        raise RigError(f"{path} is damaged ({wrong}): {AGAIN}.")
    plain(results["run"]["id"], f"{path}: the run's id")
    return dict(results)


def _checked(trial: TrialRecord, folder: Path) -> TrialRecord:
    """Return a trial of a run that has not ended, if its record has the shape of the schema."""
    fields = asdict(trial)
    place = f"the record of the trial {folder / trial.folder}"
    wrong = mistake(fields, trial_schema(), "it")
    if wrong is not None:
        raise RigError(f"{place} is damaged ({wrong}): {AGAIN}.")
    return rebuilt(TrialRecord, fields, place, AGAIN)


def _check_folders(folder: Path, tests: list[AskedTest], trials: list[TrialRecord]) -> None:
    """Refuse two trials in one folder, and tests with trials that are none."""
    known = [trial.folder for trial in trials]
    for name in known:
        plain(name, f"{folder / RESULTS}: the folder of a trial")
    double = next((name for name in known if known.count(name) > 1), None)
    if double is not None:
        raise RigError(f"{folder / RESULTS} is damaged (two trials are in the folder {double}): {AGAIN}.")
    for test in tests:
        for name in test.trials:
            if name not in known:
                raise RigError(f"{folder / RESULTS} is damaged (a test names the trial {name[:60]!r}, which it has not): {AGAIN}.")


def _steps(folder: Path) -> pd.DataFrame:
    import pandas as pd

    path = file_of(folder, "steps.parquet")
    return pd.DataFrame() if path is None else read_table(path)
