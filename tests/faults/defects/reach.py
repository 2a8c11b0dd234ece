"""Which tests run a function or a line of the firmware: those that do not run it cannot find a defect in it.

Until the changed function is run for the first time, the changed image does what the unchanged one does. What a test
never runs of the unchanged image therefore cannot make it fail.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hil.images.executed import Executed, union
from hil.images.source_lines import LineTableRow, line_rows
from hil.record.coverage import read_executed

from .candidates import Change
from .quick_tier import Ended

LINE, FUNCTION, NONE, UNKNOWN = "line", "function", "none", "unknown"

Lines = dict[str, set[int]]  # by file


@dataclass(frozen=True)
class Ran:
    """A test of the unchanged image: how long it took, and the lines that it ran."""

    seconds: float
    lines: Lines


class Reach:
    """What each test runs of an image.

    Args:
        compiled: lines that have code in the image.
        tests: that pass with the unchanged image, by name.
    """

    def __init__(self, compiled: Lines, tests: Mapping[str, Ran]) -> None:
        self._compiled, self._tests = compiled, tests

    @property
    def tests(self) -> list[str]:
        """All tests, the shortest first."""
        return sorted(self._tests, key=lambda name: self._tests[name].seconds)

    def of(self, change: Change) -> tuple[str, list[str]]:
        """Return what is run of a change, and the tests that run it.

        `line`: the changed line; its tests come before those that run another line of the function, or of the file
        where the change is in no function. `unknown`: other files may use it, or the function has no code of its own,
        so that every test may run it.
        """
        body = set(range(change.first, change.last + 1))
        if not body & self._compiled.get(change.file, set()):
            return UNKNOWN, self.tests
        lines = {name: self._tests[name].lines.get(change.file, set()) for name in self.tests}
        at_line = [name for name in self.tests if change.line in lines[name]]
        in_function = [name for name in self.tests if name not in at_line and body & lines[name]]
        return LINE if at_line else FUNCTION if in_function else NONE, at_line + in_function


def compiled_lines(image: Path) -> Lines:
    """Return the lines that have code in an image."""
    return _lines(line for _, _, line in _ranges(image))


def run_lines(image: Path, executed: Executed) -> Lines:
    """Return the lines of which some code was executed."""
    ranges = _ranges(image)
    first, end = (np.array([each[side] for each in ranges], np.int64) for side in (0, 1))
    return _lines(line for (_, _, line), hit in zip(ranges, executed.touches(first, end), strict=True) if hit)


def tested(image: Path, ended: Ended) -> Ran:
    """Return what a test ran, from the folders of its trials."""
    records = ((folder, json.loads((folder / "trial.json").read_text())) for folder in ended.folders)
    parts = [read_executed(folder, record["image_sha256"]) for folder, record in records]
    return Ran(ended.seconds, run_lines(image, union(part for part in parts if part is not None)))


def digest(image: Path) -> str:
    """Return the SHA-256 of an image file."""
    return hashlib.sha256(image.read_bytes()).hexdigest()


def _ranges(image: Path) -> list[tuple[int, int, tuple[str, int]]]:
    """Return first address, end, and file and line of all code in the line tables."""
    rows = sorted(line_rows(image), key=lambda row: (row.address, bool(row.file)))
    pairs: Iterable[tuple[LineTableRow, LineTableRow]] = itertools.pairwise(rows)
    return [
        (row.address, after.address, (row.file, row.line))
        for row, after in pairs
        if row.file and after.address > row.address
    ]


def _lines(found: Iterable[tuple[str, int]]) -> Lines:
    lines: Lines = {}
    for file, line in found:
        lines.setdefault(file, set()).add(line)
    return lines


def to_json(tests: Mapping[str, Ran]) -> dict[str, Any]:
    """Return what the tests ran as plain values."""
    return {
        name: {"seconds": one.seconds, "lines": {file: sorted(lines) for file, lines in one.lines.items()}}
        for name, one in tests.items()
    }


def from_json(fields: Mapping[str, Any]) -> dict[str, Ran]:
    """Return what `to_json` was given."""
    return {
        name: Ran(one["seconds"], {file: set(lines) for file, lines in one["lines"].items()})
        for name, one in fields.items()
    }
