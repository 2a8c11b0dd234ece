"""The rows of `hil bench rig` and `hil bench stream`, and their output."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    """One figure of a benchmark; its value is None if the measured program is not installed."""

    benchmark: str
    value: float | None
    unit: str
    note: str


def show(rows: Sequence[Row], as_json: bool) -> None:
    """Print rows as lines or as JSON."""
    if as_json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return
    for row in rows:
        value = "not installed" if row.value is None else f"{row.value:,.1f}"
        print(f"{row.benchmark:34} {value:>18} {row.unit:16} {row.note}")
