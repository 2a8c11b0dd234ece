"""Edit the record of a run as somebody would who wants another one believed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hil.record import TrialRecord, quantities
from hil.record.csv_table import csv_of
from hil.record.results import RESULTS
from hil.record.run_writer import counts
from hil.record.sums import SUMS, sums_of, write_sums

Place = tuple[Any, ...]  # of a value in JSON: names and numbers


class Forged:
    """A run whose files are edited: results.json, and if asked trial.json, results.csv and SHA256SUMS with it."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.results: dict[str, Any] = json.loads((run / "results.json").read_text())

    def trial(self, part: str) -> dict[str, Any]:
        """The entry of the trial whose folder has this part in its name."""
        return next(trial for trial in self.results["trials"] if part in trial["folder"])

    def write(self, everywhere: bool = False, seal: bool = False) -> Path:
        """Write results.json; `everywhere`: also what repeats it except junit.xml; `seal`: also SHA256SUMS."""
        if everywhere:
            self._repeat()
        (self.run / "results.json").write_text(json.dumps(self.results, indent=1))
        if seal:
            self.seal()
        return self.run

    def seal(self) -> None:
        (self.run / SUMS).unlink()
        write_sums(self.run, sums_of(self.run, self.results["run"], pages=False))

    def _repeat(self) -> None:
        found = RESULTS.validate_python(self.results)
        self.results["totals"] = counts(found["tests"], found["trials"])
        for trial in self.results["trials"]:
            figures = {name: one.to_json() for name, one in quantities(TrialRecord(**trial)).items()}
            (self.run / trial["folder"] / "trial.json").write_text(json.dumps(trial | {"quantities": figures}))
        (self.run / "results.csv").write_text(csv_of(found["tests"], found["trials"]))


def leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield path and value of every number, word and flag."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, (*place, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, (*place, number))
    elif value is not None:
        yield place, value


def kind(place: Place) -> str:
    """Return the path without the numbers in lists and without what is in the middle: alike fields are of one kind."""
    parts = ["*" if isinstance(part, int) else str(part) for part in place]
    if parts[0] == "quantities":  # names of figures, such as `latency.forward.conv1.p99`
        parts[1] = parts[1].partition(".")[0]
    return ".".join(parts if len(parts) <= 5 else [*parts[:4], "...", parts[-1]])


def changed(value: Any) -> Any:
    """Return another value of the same type, and for the words of the record another such word."""
    words = {"pass": "fail", "fail": "pass", "virtual": "hardware", "modelled": "measured", "counted": "analytic", "analytic": "counted", "passed": "failed", "failed": "passed"}  # fmt: skip
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.01 + 1e-6
    if value in words:
        return words[value]
    if re.fullmatch(r"[0-9a-f]{8}|[0-9a-f]{64}", value):
        return ("0" if value[0] != "0" else "1") + value[1:]
    return f"{value} edited"


def at(root: Any, place: Place) -> Any:
    """Return the value in a place."""
    for part in place:
        root = root[part]
    return root


def put(root: Any, place: Place, value: Any) -> None:
    """Replace the value in a place."""
    at(root, place[:-1])[place[-1]] = value
