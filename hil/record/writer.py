"""Write a run: its folder, a folder a trial, results.json, results.csv, and `latest`."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hil.measure.capture import Capture
from hil.record.origin import origin
from hil.record.quantities import quantities
from hil.record.trial_record import SCHEMA, TrialRecord

if TYPE_CHECKING:  # at run time it is loaded where it is needed: it takes as long as a network takes to a board
    import pandas as pd

DIFFERENCE_FIELDS = ("step", "layer", "index", "board", "reference", "what")
TABLES = ("memory_plan", "profile", "schedule", "evaluations")
SIGN_FIELDS = ("right", "of", "asked")
ANALYTIC_FIELDS = ("equation", "bytes", "macs_forward", "weights", "weights_by_zo")
LATENCY_FIELDS = ("steps", "provenance", "budget_ms", "judged")
LATENCY_PHASES = ("perturb", "forward", "backward", "update", "digest", "total")
LATENCY_FIGURES = ("mean", "median", "sd", "least", "most", "p5", "p95", "p99", "subtracted", "bound")
QUANTITY_FIELDS = ("value", "unit", "uncertainty", "provenance")
TRIAL = "trial.json"
IMAGE_FIELDS = ("file", "digest", "in_manifest")
FLASH_FIELDS = ("route", "programmed", "cycles")
WATERMARK_FIELDS = ("static", "arena_peak", "stack_peak")


class RunWriter:
    """One run on disk. Several processes may write trials of one run: what they share is its folder.

    Args:
        folder: of the run; it exists.
        facts: id, time, commit, versions and host.
    """

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        self.folder = folder
        self.facts = facts

    @classmethod
    def begin(cls, root: Path) -> RunWriter:
        """Make the folder of a new run in `root`, the folder of all runs."""
        now = datetime.now(timezone.utc)
        folder = root / f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
        folder.mkdir(parents=True)
        return cls(folder, {"id": folder.name, "time": now.isoformat(timespec="seconds")} | origin())

    def trial_folder(self, name: str) -> Path:
        """Make the folder of a trial; a repeated name gets a number."""
        folder, number = self.folder / name, 2
        while True:
            try:
                folder.mkdir()
                return folder
            except FileExistsError:
                folder, number = self.folder / f"{name}-{number}", number + 1

    def write_trial(
        self,
        record: TrialRecord,
        steps: pd.DataFrame,
        folder: Path,
        power: Sequence[Capture] = (),
        latency: pd.DataFrame | None = None,
    ) -> None:
        """Write trial.json, steps.parquet, power.parquet and latency.parquet, and bring results.json up to date.

        trial.json is the trial's entry of results.json and, as `quantities`, its figures with unit and provenance. power.parquet has every reading of
        every energy window (hil/record/trace.py), with times from each window's first edge.
        """
        record.folder = folder.name
        detail = {"quantities": {name: quantity.to_json() for name, quantity in quantities(record).items()}}
        with _whole(folder / "steps.parquet") as partial:
            steps.to_parquet(partial)
        if latency is not None:
            with _whole(folder / "latency.parquet") as partial:
                latency.to_parquet(partial)
        if power:
            from hil.record.trace import TraceWriter  # pyarrow takes a while to load, and few trials measure power

            with TraceWriter(folder / "power.parquet", (record.energy or {}).get("meter", {})) as trace:
                for number, capture in enumerate(power):
                    trace.append(capture.from_first_edge(), number)
        _write(folder / TRIAL, _json(asdict(record) | detail))  # last: a trial is there when all of it is
        self.finish()

    @property
    def trials(self) -> list[TrialRecord]:
        """The records of all trials that have been written so far, by whichever process, in that order."""
        written = sorted(self.folder.glob(f"*/{TRIAL}"), key=lambda path: (path.stat().st_mtime_ns, path))
        found = [json.loads(path.read_text(encoding="utf-8")) for path in written]
        return [TrialRecord(**{name: item for name, item in trial.items() if name != "quantities"}) for trial in found]

    def finish(self) -> None:
        """Write results.json and results.csv, and point `latest` at this run."""
        trials = [asdict(trial) for trial in self.trials]
        _write(self.folder / "results.json", _json({"schema": SCHEMA, "run": self.facts, "trials": trials}))
        _write(self.folder / "results.csv", _csv(trials))
        self._point_latest()

    def _point_latest(self) -> None:
        """Make `latest` a symbolic link, or a text file with the run's name where there are no links."""
        with _whole(self.folder.parent / "latest") as fresh:
            try:
                fresh.symlink_to(self.folder.name)
            except OSError:
                fresh.write_text(self.folder.name + "\n", encoding="utf-8")


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Give a path to write to, which takes the place of `path` when all went well and is removed when not."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    partial.unlink(missing_ok=True)
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    with _whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _json(value: dict[str, Any]) -> str:
    return json.dumps(_finite(value), indent=1, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: a loss that went there is written as a word."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _csv(trials: list[dict[str, Any]]) -> str:
    """One row a trial, nested fields as `sram.total`; the same columns whatever a trial found. Tables within a trial stay in the JSON."""
    import pandas as pd

    rows = []
    for trial in trials:
        row = {
            name: " ".join(map(str, item)) if isinstance(item, list) else item
            for name, item in trial.items()
            if name not in TABLES
        }
        row["signs"] = trial["signs"] or dict.fromkeys(SIGN_FIELDS)
        row["analytic"] = trial["analytic"] or dict.fromkeys(ANALYTIC_FIELDS)
        row["latency"] = _latency_row(trial["latency"])
        row["energy"] = {"per_step": (trial["energy"] or {}).get("per_step") or dict.fromkeys(QUANTITY_FIELDS)}
        row["first_difference"] = trial["first_difference"] or dict.fromkeys(DIFFERENCE_FIELDS)
        row["image"] = trial["image"] or dict.fromkeys(IMAGE_FIELDS)
        row["flash"] = trial["flash"] or dict.fromkeys(FLASH_FIELDS)
        row["sram_probe"] = trial["sram_probe"] or dict.fromkeys(WATERMARK_FIELDS)
        rows.append(row)
    # Without nullable types a null would turn its column of bytes into floats.
    return pd.json_normalize(rows).convert_dtypes().to_csv(index=False)


def _latency_row(latency: dict[str, Any] | None) -> dict[str, Any]:
    """Columns `latency.steps`, ... and `latency.total.median`, ...; histograms and layers stay in the JSON."""
    found: dict[str, Any] = latency or {}
    phases = found.get("phases", {})
    row: dict[str, Any] = {name: found.get(name) for name in LATENCY_FIELDS}
    return row | {phase: {name: phases.get(phase, {}).get(name) for name in LATENCY_FIGURES} for phase in LATENCY_PHASES}
