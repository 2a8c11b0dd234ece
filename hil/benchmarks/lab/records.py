"""The records of a simulated night: the trials of the committed example under other names, and their runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

from hil.benchmarks.lab.model import SimulatedRun, recorded_trials
from hil.record import AskedTest, TrialRecord

BENCH = "lab"
FIRST = datetime(2026, 1, 1, 22, tzinfo=timezone.utc)


def facts_of(run: SimulatedRun, night: int = 0) -> dict[str, Any]:
    """Return `run` of results.json when it has ended."""
    began = FIRST + timedelta(days=night, seconds=run.begins)
    return {
        "id": name_of(run, night), "uid": f"{night:016x}{run.number:016x}", "bench": BENCH, "time": began.isoformat(),
        "commit": f"{night:040x}", "versions": {"trainrig": "simulated"},
        "host": {"system": "Linux", "machine": "x86_64", "cpus": 2}, "command": "pytest --board=NAME -n 4",
        "state": "ended", "ended": (began + timedelta(hours=1)).isoformat(),
        "whole": True, "exit_code": 0, "missing": [],
    }  # fmt: skip


def name_of(run: SimulatedRun, night: int = 0) -> str:
    """Return the name of the folder of a run."""
    return f"night-{night:03d}-run-{run.number:05d}"


def folder_of(run: SimulatedRun, index: int) -> str:
    """Return the name of the folder of a trial in that of its run."""
    return f"{run.kind}-trial-{index:05d}"


def records_of(run: SimulatedRun, verdicts: dict[int, str]) -> Iterator[tuple[TrialRecord, AskedTest]]:
    """Yield record and test of each trial of a run, by their verdicts, with all quantities of a real trial."""
    shared = recorded_trials()
    for index, verdict in verdicts.items():
        fields = shared[index % len(shared)]
        test = fields["test"].replace(fields["board"], f"{run.kind}-{index}")
        common: dict[str, Any] = {"test": test, "board": run.kind, "verdict": verdict}
        yield TrialRecord(**fields | common | {"folder": folder_of(run, index)}), AskedTest(**common, reason="")
