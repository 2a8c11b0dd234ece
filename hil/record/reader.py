"""Read a run back from its folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hil.errors import RigError
from hil.record.asked import AskedTest
from hil.record.trial_record import SCHEMA, TrialRecord
from hil.record.trial_writer import written_trials
from hil.record.writer import RUNNING, counts, with_trials

if TYPE_CHECKING:  # at run time it is loaded where it is needed: it takes as long as a network takes to a board
    import pandas as pd


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
        RigError: the folder holds no run, one of another schema, or a damaged one.
    """
    if folder.is_file():
        folder = folder.parent / folder.read_text(encoding="utf-8").strip()
    results = _results(folder / "results.json")
    tests = [AskedTest(**test) for test in results["tests"]]
    trials = [TrialRecord(**trial) for trial in results["trials"]]
    if results["run"]["state"] == RUNNING:
        trials = written_trials(folder)
        tests = with_trials(tests, trials)
    totals = counts(map(asdict, tests), map(asdict, trials))
    return Run(folder, results["run"], totals, tests, trials, [_steps(folder / trial.folder / "steps.parquet") for trial in trials])


def _results(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise RigError(f"{path.parent} holds no results.json: give the folder of a run, such as reports/latest.")
    try:
        results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        schema = results["schema"]
    except (ValueError, KeyError, TypeError) as error:
        raise RigError(f"{path} is no record of a run ({error}): give the folder of another run.") from error
    if schema != SCHEMA:
        raise RigError(f"{path} has schema {schema}, this trainrig reads {SCHEMA}: use the version that wrote it.")
    return results


def _steps(path: Path) -> pd.DataFrame:
    import pandas as pd

    return pd.read_parquet(path) if path.is_file() else pd.DataFrame()
