"""Read a run back from its folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hil.errors import RigError
from hil.record.trial_record import SCHEMA, TrialRecord

if TYPE_CHECKING:  # at run time it is loaded where it is needed: it takes as long as a network takes to a board
    import pandas as pd


@dataclass
class Run:
    """A recorded run.

    Attributes:
        folder: where it was read from.
        facts: id, time, commit, versions and host.
        trials: one record a trial.
        steps: one data frame a trial, a row a step; without columns when no step was run.
    """

    folder: Path
    facts: dict[str, Any]
    trials: list[TrialRecord]
    steps: list[pd.DataFrame]


def read_run(folder: Path) -> Run:
    """Read a run.

    Args:
        folder: the run's folder, or `latest` beside it (a text file on systems without symbolic links).

    Raises:
        RigError: the folder holds no run, or one of another schema.
    """
    if folder.is_file():
        folder = folder.parent / folder.read_text(encoding="utf-8").strip()
    path = folder / "results.json"
    if not path.is_file():
        raise RigError(f"{folder} holds no results.json: give the folder of a run, such as reports/latest.")
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
        if results["schema"] != SCHEMA:
            raise RigError(
                f"{path} has schema {results['schema']}, this trainrig reads {SCHEMA}: use the version that wrote it."
            )
        trials = [TrialRecord(**trial) for trial in results["trials"]]
        facts = dict(results["run"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:  # faults of JSON and of UTF-8 are ValueErrors
        raise RigError(f"{path} is damaged ({type(error).__name__}: {error}): run the trials again.") from error
    steps = [_steps(folder / trial.folder / "steps.parquet") for trial in trials]
    return Run(folder, facts, trials, steps)


def _steps(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:  # what pyarrow raises is both or one of them
        raise RigError(f"{path} is missing or damaged ({str(error).splitlines()[0]}): run the trials again.") from error
