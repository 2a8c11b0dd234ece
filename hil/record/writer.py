"""Write a run: its folder, a folder a trial, results.json, results.csv, and `latest`."""

from __future__ import annotations

import json
import os
import platform
import secrets
import subprocess
from dataclasses import asdict
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd

from hil import __version__
from hil.record.trial_record import SCHEMA, TrialRecord

PACKAGES = ("numpy", "pandas", "pyocd", "pyserial", "pyvisa", "unicorn", "numba", "pytest")


class RunWriter:
    """One run on disk.

    Args:
        root: folder of all runs, made when it is missing.
    """

    def __init__(self, root: Path) -> None:
        now = datetime.now(timezone.utc)
        self._time = now.isoformat(timespec="seconds")
        self._root = root
        self.folder = root / f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
        self.folder.mkdir(parents=True)
        self.trials: list[TrialRecord] = []

    def trial_folder(self, name: str) -> Path:
        """Make the folder of a trial; a repeated name gets a number."""
        folder, number = self.folder / name, 2
        while folder.exists():
            folder, number = self.folder / f"{name}-{number}", number + 1
        folder.mkdir()
        return folder

    def write_trial(self, record: TrialRecord, steps: pd.DataFrame, folder: Path) -> None:
        """Write trial.json and steps.parquet, and bring results.json up to date."""
        record.folder = folder.name
        self.trials.append(record)
        _write(folder / "trial.json", json.dumps(asdict(record), indent=1))
        partial = folder / "steps.parquet.part"
        steps.to_parquet(partial)
        partial.replace(folder / "steps.parquet")
        self.finish()

    def finish(self) -> None:
        """Write results.json and results.csv, and point `latest` at this run."""
        results = {"schema": SCHEMA, "run": self._run(), "trials": [asdict(trial) for trial in self.trials]}
        _write(self.folder / "results.json", json.dumps(results, indent=1))
        flat = pd.json_normalize([_without_lists(trial) for trial in results["trials"]])
        _write(self.folder / "results.csv", flat.to_csv(index=False))
        self._point_latest()

    def _run(self) -> dict[str, Any]:
        return {
            "id": self.folder.name,
            "time": self._time,
            "commit": _commit(),
            "versions": {"trainrig": __version__, "python": platform.python_version()} | _versions(),
            "host": {"system": platform.system(), "machine": platform.machine(), "cpus": os.cpu_count()},
        }

    def _point_latest(self) -> None:
        latest, fresh = self._root / "latest", self._root / f".latest-{self.folder.name}"
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(self.folder.name)
        fresh.replace(latest)


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(path.name + ".part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _without_lists(trial: dict[str, Any]) -> dict[str, Any]:
    return {name: " ".join(map(str, value)) if isinstance(value, list) else value for name, value in trial.items()}


def _commit() -> str | None:
    """Return the commit of the working folder; None outside a checkout or without git."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
