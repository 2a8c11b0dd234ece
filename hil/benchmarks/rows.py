"""Print the rows of a benchmark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class BenchmarkRow:
    """One figure of a benchmark; its value is None if the measured program is not installed."""

    benchmark: str
    value: float | None
    unit: str
    note: str


def line_of(row: BenchmarkRow) -> str:
    """Return a row as a line of text."""
    value = "not installed" if row.value is None else f"{row.value:,.1f}"
    return f"{row.benchmark:34} {value:>18} {row.unit:16} {row.note}"


def show(rows: Iterable[Any], as_json: bool, line: Callable[[Any], str] = line_of) -> int:
    """Print rows as JSON, or each as a line as soon as it is measured; return exit code 0."""
    found = []
    for row in rows:
        found.append(asdict(row))
        if not as_json:
            print(line(row), flush=True)
    if as_json:
        print(json.dumps(found, indent=1))
    return 0
