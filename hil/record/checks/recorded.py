"""A run and its trials as the checks look at them: the entries, and the files beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hil.bounded_read import read_json
from hil.quantity import Quantity
from hil.record.parquet import read_columns
from hil.record.results import Results
from hil.record.safe_paths import RERUN, safe_file, safe_folder
from hil.record.sums import FileSums, read_sums
from hil.record.trial_quantities import quantities
from hil.record.trial_record import TrialRecord
from hil.record.trial_writer import BEGUN, ENDED, LARGEST

RESULTS = "results.json"
STEPS, LATENCY, POWER = "steps.parquet", "latency.parquet", "power.parquet"


@dataclass(frozen=True)
class RecordedTrial:
    """One trial.

    Attributes:
        run: folder of its run.
        record: its entry.
        entry: the same in results.json, as JSON; None for a trial that is not there, as in a run that goes on.
    """

    run: Path
    record: TrialRecord
    entry: Mapping[str, Any] | None

    @property
    def name(self) -> str:
        """Name of its folder."""
        return self.record.folder

    @property
    def source(self) -> str:
        """The file that its fields are from."""
        return RESULTS if self.entry is not None else f"{self.name}/{ENDED}"

    @cached_property
    def folder(self) -> Path:
        """Its folder, which may be missing."""
        return safe_folder(self.run, self.name)

    @cached_property
    def file(self) -> dict[str, Any] | None:
        """Content of trial.json; None without one."""
        return self._json(ENDED)

    @cached_property
    def begun(self) -> dict[str, Any] | None:
        """Content of begun.json, which stands for a trial that has not ended; None without one."""
        return self._json(BEGUN)

    def _json(self, name: str) -> dict[str, Any] | None:
        path = self.path(name)
        found = None if path is None else read_json(path, LARGEST, RERUN)
        return found if isinstance(found, dict) else None

    def path(self, name: str) -> Path | None:
        """Return the place of one of its files; None if it is not there."""
        return safe_file(self.folder, name)

    @cached_property
    def steps(self) -> dict[str, np.ndarray] | None:
        """Columns of steps.parquet; None without the file."""
        path = self.path(STEPS)
        return None if path is None else read_columns(path)

    @cached_property
    def figures(self) -> dict[str, Quantity]:
        """Its quantities by path."""
        return quantities(self.record)


@dataclass(frozen=True)
class RecordedRun:
    """A run.

    Attributes:
        folder: of the run.
        results: content of results.json.
        trials: those of results.json, or while the run goes on those in its folder.
    """

    folder: Path
    results: Results
    trials: tuple[RecordedTrial, ...]

    @cached_property
    def sums(self) -> FileSums | None:
        """Content of SHA256SUMS; None without one."""
        return read_sums(self.folder)

    @property
    def is_kept(self) -> bool:
        """Whether it is a copy for a repository, without trial.json, networks, logs and junit.xml."""
        return self.results["run"].get("kept", False)

    def is_missing(self, trial: RecordedTrial) -> bool:
        """Return whether the record itself says that a file of a trial is missing, such as on a full disk."""
        return any(sentence.startswith(f"{trial.name}: ") for sentence in self.results["run"]["missing"])

    def has_tables(self, trial: RecordedTrial) -> bool:
        """Return whether the tables of a trial must be there: it has ended, and its record does not say otherwise."""
        return (trial.file is not None or self.is_kept) and not self.is_missing(trial)
