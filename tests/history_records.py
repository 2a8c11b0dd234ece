"""Records of trials, and folders of runs, for tests of the history."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from hil.record import AskedTest, RunWriter, TrialRecord

EXAMPLE = Path(__file__).parents[1] / "reports/example/results.json"


@cache
def _example() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(EXAMPLE.read_text())["trials"]
    return found


def record(number: int = 0, **fields: Any) -> TrialRecord:
    """Return the record of a trial of the committed example, with other fields."""
    return TrialRecord(**{**copy.deepcopy(_example()[number]), **fields})


def energy_record() -> TrialRecord:
    """Return the record of the example's trial that measured energy and latency."""
    return next(record(number) for number, fields in enumerate(_example()) if fields["energy"])


def run_folder(root: Path, *records: TrialRecord, end: bool = True, **facts: Any) -> Path:
    """Write the folder of a run with the given trials, as a session does."""
    run = RunWriter.begin(root, **facts)
    run.plan(AskedTest(test=each.test, board=each.board) for each in records)
    for each in records:
        each = each.model_copy()
        run.write_trial(each, pd.DataFrame({"step": [0]}), run.trial_folder(each.folder))
        run.end_test(
            AskedTest(test=each.test, board=each.board, verdict=each.verdict, reason=each.reason, outcome="passed")
        )
    if end:
        run.finish()
    return run.folder
