"""Records of trials, and folders of runs, for tests of the history."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hil.record import AskedTest, RunWriter, TrialRecord
from hil.record.device_test import DeviceTest

EXAMPLE = Path(__file__).parents[1] / "reports/example/results.json"


@cache
def _example() -> list[dict[str, Any]]:
    """Return its trials, those with an accuracy first."""
    found: list[dict[str, Any]] = json.loads(EXAMPLE.read_text())["trials"]
    return sorted(found, key=lambda trial: not trial["accuracy"]["n"])


def record(number: int = 0, **fields: Any) -> TrialRecord:
    """Return the record of a trial of the committed example, with other fields; a time of a step brings its cycles."""
    changed = {**copy.deepcopy(_example()[number]), **fields}
    if "step_time_s" in fields and "cycles" not in fields:
        total = fields["step_time_s"] * changed["clock_hz"]
        scale = total / changed["cycles"]["total"]
        changed["cycles"] = {phase: round(mean * scale) for phase, mean in changed["cycles"].items()} | {
            "total": round(total)
        }
    return TrialRecord(**changed)


def energy_record() -> TrialRecord:
    """Return the record of the example's trial that measured energy and latency."""
    return next(record(number) for number, fields in enumerate(_example()) if fields["energy"])


def steps_of(record: TrialRecord) -> dict[str, np.ndarray]:
    """Return a table of steps that a record does not contradict: all matched, with the mean cycles, on the last digest."""
    count = record.steps_compared
    digest = int(record.final_digest or "0", 16)
    right = record.signs["right"] if record.signs is not None else count
    table = {"step": range(count), "match": True, "digest": digest, "right_sign": [n < right for n in range(count)]}
    table |= {f"cycles_{phase}": mean for phase, mean in record.cycles.items()}
    return {name: np.broadcast_to(column, count).copy() for name, column in table.items()}


def run_folder(root: Path, *records: TrialRecord, end: bool = True, **facts: Any) -> Path:
    """Write the folder of a run with the given trials, as a session does."""
    run = RunWriter.begin(root, **facts)
    run.plan(AskedTest(test=each.test, board=each.board) for each in records)
    for each in records:
        each = each.model_copy()
        run.write_trial(each, steps_of(each), run.trial_folder(each.folder))
        run.end_test(
            AskedTest(test=each.test, board=each.board, verdict=each.verdict, reason=each.reason, outcome="passed")
        )
    if end:
        run.finish(exit_code=int(any(each.verdict != "pass" for each in records)))
    return run.folder


def device_test(value: float, **fields: object) -> DeviceTest:
    """Return the record of a device test with one figure."""
    figure = {
        "name": "code", "value": value, "unit": "B", "uncertainty": None, "provenance": "counted", "note": "",
        "source": "hil_figure", "budgets": [],
    }  # fmt: skip
    return DeviceTest(
        **{
            "test": "test_mine.py::test_engine[mps2-an386]", "folder": "mps2-an386-test_engine", "board": "mps2-an386",
            "core": "cortex-m4", "reality": "qemu", "attached": False, "figures": [figure], "judged": [],
            "verdict": "pass", "reason": "", "began": "2026-11-28T12:00:00+00:00", "wall_s": 2.5,
            "image": None, "flash": "loaded", "clock_hz": None, "received": 0, "matches": 0, "comparisons": [],
        } | fields
    )  # fmt: skip
