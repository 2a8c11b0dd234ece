"""Write a trial into the folder of a run: when it begins, and when it has ended."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hil.bounded import read_json
from hil.errors import RigError
from hil.measure.capture import Capture
from hil.record.checked import checked
from hil.record.inside import AGAIN, file_of, folder_of
from hil.record.quantities import quantities
from hil.record.results import TRIAL
from hil.record.trial_record import TrialRecord
from hil.record.whole import whole, write_whole

if TYPE_CHECKING:  # at run time it is loaded where it is needed: it takes as long as a network takes to a board
    import pandas as pd

ENDED = "trial.json"
BEGUN = "begun.json"
LONGEST_NAME = 120
LARGEST = 32 << 20  # bytes of trial.json


class TrialWriter:
    """Writes trials into the folder of a run. Several processes may do so: what they share is the folder.

    Args:
        folder: of the run; it exists.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def trial_folder(self, name: str) -> Path:
        """Make the folder of a trial; a repeated name gets a number, and what no folder is named by gives way to `_`."""
        name = re.sub(r"[^A-Za-z0-9._@+-]|^\.+", "_", name)[:LONGEST_NAME]
        folder, number = self.folder / name, 2
        while True:
            try:
                folder.mkdir()
                return folder
            except FileExistsError:
                folder, number = self.folder / f"{name}-{number}", number + 1

    def begin_trial(self, record: TrialRecord, folder: Path) -> None:
        """Write begun.json, the record of a trial that has not ended: what is left of it when its process is killed."""
        record.folder = folder.name
        write_whole(folder / BEGUN, as_json(record.model_dump()))

    def write_trial(
        self,
        record: TrialRecord,
        steps: pd.DataFrame,
        folder: Path,
        power: Sequence[Capture] = (),
        latency: pd.DataFrame | None = None,
    ) -> None:
        """Write trial.json, steps.parquet, power.parquet and latency.parquet.

        trial.json is the trial's entry of results.json and, as `quantities`, its figures with unit and provenance. power.parquet has every reading of
        every energy window (hil/record/trace.py), with times from each window's first edge.

        Raises:
            OSError: the disk takes no more; no half-written file stays.
        """
        record.folder = folder.name
        detail = {"quantities": {name: quantity.to_json() for name, quantity in quantities(record).items()}}
        with whole(folder / "steps.parquet") as partial:
            steps.to_parquet(partial)
        if latency is not None:
            with whole(folder / "latency.parquet") as partial:
                latency.to_parquet(partial)
        if power:
            from hil.record.trace import TraceWriter  # pyarrow takes a while to load, and few trials measure power

            with TraceWriter(folder / "power.parquet", record.energy["meter"] if record.energy else {}) as trace:
                for number, capture in enumerate(power):
                    trace.append(capture.from_first_edge(), number)
        write_whole(folder / ENDED, as_json(record.model_dump() | detail))  # last: a trial is there when all of it is
        (folder / BEGUN).unlink(missing_ok=True)


def written_trials(folder: Path, but: Container[str] = ()) -> list[TrialRecord]:
    """Return the records of all trials in the folder of a run, by whichever process, in the order in which they were written.

    Args:
        folder: of the run.
        but: names of folders that are known already.

    Raises:
        RigError: one is damaged.
    """
    ended = {path.parent: path for path in folder.glob(f"*/{ENDED}")}
    begun = {path.parent: path for path in folder.glob(f"*/{BEGUN}")}
    found = []
    for path in (each for parent, each in (begun | ended).items() if parent.name not in but):
        try:
            found.append((_trial(folder, path), path.stat().st_mtime_ns))
        except FileNotFoundError:  # another process ends this trial at the moment: begun.json gave way to trial.json
            path = path.with_name(ENDED)
            found.append((_trial(folder, path), path.stat().st_mtime_ns))
    found.sort(key=lambda each: (each[1], each[0].folder))
    return [trial for trial, _ in found]


def _trial(run: Path, path: Path) -> TrialRecord:
    """Read the record of one trial.

    Raises:
        FileNotFoundError: it has gone.
        RigError: it is damaged, or that of another folder.
    """
    found = file_of(folder_of(run, path.parent.name), path.name)
    if found is None:
        raise FileNotFoundError(path)
    said = read_json(found, LARGEST, AGAIN)
    if not isinstance(said, dict) or said.get("folder") != path.parent.name:
        raise RigError(f"{path} is damaged (it is no trial's record, or that of another folder): {AGAIN}.")
    return checked(TRIAL, {name: item for name, item in said.items() if name != "quantities"}, str(path), path.name)


def plain(record: TrialRecord) -> dict[str, Any]:
    """Return the fields of a record as a file would give them back: numbers, words and lists only."""
    found: dict[str, Any] = json.loads(as_json(record.model_dump()))
    return found


def as_json(value: dict[str, Any]) -> str:
    """Return the text of a JSON file."""
    return json.dumps(finite(value), indent=1, allow_nan=False) + "\n"


def finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: a loss that went there is written as a word."""
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
