"""Write the files of a trial into the folder of its run: when the trial begins and when it ends."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.atomic_write import atomic_file, write_atomic
from hil.bounded_read import read_json
from hil.energy.capture import Capture
from hil.errors import RigError
from hil.images.executed import Executed
from hil.record.coverage import write_executed
from hil.record.field_types import Entry
from hil.record.parquet import Columns, write_columns
from hil.record.results import TRIAL
from hil.record.safe_paths import RERUN, safe_file, safe_folder
from hil.record.trial_quantities import quantities
from hil.record.trial_record import TrialRecord
from hil.record.validation import validated
from hil.steady_clock import SteadyClock

ENDED = "trial.json"
BEGUN = "begun.json"
TRAINED, NETWORK = "trained.hnet", "network.hnet"  # network files after and before training
LONGEST_NAME = 120
LARGEST = 32 << 20  # bytes of trial.json


@dataclass(frozen=True)
class TrialExtras:
    """What a trial is recorded with beside its steps, where there is any.

    Attributes:
        power: the energy windows; power.parquet has their readings with times from the window's first edge.
        latency: one row per autonomous step.
        trained: the network file after training.
        network: the network file before training, if name and seed do not give it.
        executed: the code that the board executed.
    """

    power: Sequence[Capture] = ()
    latency: Columns | None = None
    trained: bytes | None = None
    network: bytes | None = None
    executed: Executed | None = None


class TrialWriter:
    """Writes trials into the folder of a run, which must exist. Several processes may write into the same folder.

    Args:
        folder: of the run.
        clock: of the run; by default one that is set now.
    """

    def __init__(self, folder: Path, clock: SteadyClock | None = None) -> None:
        self.folder, self.clock = folder, clock or SteadyClock.set()

    def trial_folder(self, name: str) -> Path:
        """Make and return the folder of a trial. Special characters become `_`; a repeated name gets a number."""
        name = folder_name(name)
        folder, number = self.folder / name, 2
        while True:
            try:
                folder.mkdir()
                return folder
            except FileExistsError:
                folder, number = self.folder / f"{name}-{number}", number + 1

    def begin_trial(self, record: TrialRecord, folder: Path) -> None:
        """Write begun.json: the record that remains if the process of the trial is killed."""
        record.folder = folder.name
        write_atomic(folder / BEGUN, as_json(record.model_dump(), indent=None))

    def write_trial(
        self,
        record: TrialRecord,
        steps: Columns,
        folder: Path,
        extras: TrialExtras | None = None,
    ) -> None:
        """Write trial.json, the tables, the network files, coverage.npz, and power.parquet.

        Args:
            record: of the trial. trial.json also has its `quantities`: the figures with unit and provenance.
            steps: one row per compared step.
            folder: of the trial.
            extras: what there is beside the steps.

        Raises:
            OSError: the disk is full; no partial file remains.
        """
        extras = extras or TrialExtras()
        record.folder = folder.name
        figures = {"quantities": {name: quantity.to_json() for name, quantity in quantities(record).items()}}
        for name, table in (("steps.parquet", steps), ("latency.parquet", extras.latency)):
            if table is not None:
                with atomic_file(folder / name) as partial:
                    write_columns(partial, table)
        for name, blob in ((TRAINED, extras.trained), (NETWORK, extras.network)):
            if blob is not None:
                with atomic_file(folder / name) as partial:
                    partial.write_bytes(blob)
        if extras.executed is not None and record.image_sha256 is not None:
            write_executed(folder, extras.executed, record.image_sha256)
        if extras.power:
            from hil.record.power_trace import TraceWriter  # late: pyarrow loads slowly, and few trials measure power

            with TraceWriter(folder / "power.parquet", record.energy["meter"] if record.energy else {}) as trace:
                for number, capture in enumerate(extras.power):
                    trace.append(capture.from_first_edge(), number)
        write_atomic(folder / ENDED, as_json(record.model_dump() | figures))  # last: it marks the trial as complete
        (folder / BEGUN).unlink(missing_ok=True)


def folder_name(name: str) -> str:
    """Return the name of the folder of a trial with this name: special characters become `_`."""
    return re.sub(r"[^A-Za-z0-9._@+-]|^\.+", "_", name)[:LONGEST_NAME]


def written_trials(folder: Path, but: Container[str] = ()) -> list[TrialRecord]:
    """Return the trials in the folder of a run, of all processes, in the order in which they began.

    `but` has the names of trial folders to skip.

    Raises:
        RigError: a record is damaged.
    """
    paths = {path.parent: path for name in (BEGUN, ENDED) for path in folder.glob(f"*/{name}")}
    found = []
    for parent, path in paths.items():
        if parent.name in but:
            continue
        try:
            found.append(read_ended(folder, path))
        except FileNotFoundError:  # another process just replaced begun.json by trial.json
            found.append(read_ended(folder, path.with_name(ENDED)))
    return [trial for _, trial in sorted(found, key=lambda each: each[0])]


def read_ended(run: Path, path: Path) -> tuple[tuple[str, int, str], TrialRecord]:
    """Read trial.json or begun.json of a trial.

    Return what the record is sorted by, and the record. That is when it began, by the clock of the run; in one second,
    the time of its file, which is set by others; then the name of its folder.

    Raises:
        FileNotFoundError: the file no longer exists.
        RigError: the record is damaged, or names another folder.
    """
    found = safe_file(safe_folder(run, path.parent.name), path.name)
    if found is None:
        raise FileNotFoundError(path)
    fields = read_json(found, LARGEST, RERUN)
    if not isinstance(fields, dict) or fields.get("folder") != path.parent.name:
        raise RigError(f"{path} is damaged (it is not the record of a trial in this folder): {RERUN}.")
    fields.pop("quantities", None)
    record = validated(TRIAL, fields, str(path), path.name)
    return (record.began or "", path.stat().st_mtime_ns, record.folder), record


def json_fields(record: Entry) -> dict[str, Any]:
    """Return the fields of a record as JSON gives them back: only numbers, strings, lists and dicts."""
    fields: dict[str, Any] = json.loads(as_json(record.model_dump(), indent=None))
    return fields


def as_json(value: Any, indent: int | None = 1) -> str:
    """Return the text of a JSON file; NaN and infinity, which JSON does not have, become strings.

    Without `indent` it is one line, which takes a thirtieth of the time.
    """
    try:
        return json.dumps(value, indent=indent, allow_nan=False) + "\n"
    except ValueError:  # there is one; few records have any, and to look for them takes longer than to write
        return json.dumps(_finite(value), indent=indent, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
