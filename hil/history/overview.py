"""What `hil history` lists, and its words: the last value of each quantity beside the median of the nights before."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.history.changes import Change
from hil.history.nights import RunEntry
from hil.history.queries import Series, Subject

HEADLINES = (
    "accuracy.after", "step_time_s", "latency.total.median", "sram.total", "energy.per_step", "energy.per_sample"
)  # fmt: skip


@dataclass(frozen=True)
class QuantityLine:
    """One quantity of one subject.

    Attributes:
        last: value of the last night; None if it is not a number.
        uncertainty: its standard uncertainty, None if not evaluated.
        median: of the nights before; None if there are none.
        nights: number of nights with a value.
        run: name of the last night's run.
    """

    name: str
    unit: str
    provenance: str
    subject: Subject
    last: float | None
    uncertainty: float | None
    median: float | None
    nights: int
    run: str

    def to_json(self) -> dict[str, Any]:
        """Return the fields for JSON, which has no infinity."""
        found = asdict(self)
        subject: dict[str, Any] = found.pop("subject")._asdict()
        numbers = {name: _word(found[name]) for name in ("last", "uncertainty", "median")}
        return {"quantity": found.pop("name")} | subject | found | numbers


def lines(series: Iterable[Series], runs: Sequence[RunEntry]) -> list[QuantityLine]:
    """Return a line for each series. A night with several trials of one subject counts by their median.

    Args:
        series: of a history.
        runs: all runs of that history.
    """
    return [_line(each, runs) for each in series]


def _line(series: Series, runs: Sequence[RunEntry]) -> QuantityLine:
    nights = np.unique(series.nights)
    by_night = [_median(series.values[series.nights == night]) for night in nights] if len(nights) != len(
        series.nights
    ) else list(series.values)  # fmt: skip
    of_last = series.uncertainties[series.nights == nights[-1]]
    return QuantityLine(
        series.name, series.unit, series.provenance, series.subject, _number(by_night[-1]),
        _number(of_last[0]) if len(of_last) == 1 else None, _number(_median(np.array(by_night[:-1], float))),
        len(nights), runs[nights[-1]].name,
    )  # fmt: skip


def _median(values: NDArray[np.float64]) -> float:
    """Return the median of the finite values, NaN without any."""
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else math.nan


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _word(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


def value_words(value: float, unit: str) -> str:
    """Return a value with its unit; a whole number in full."""
    whole = math.isfinite(value) and value == int(value) and abs(value) < 1e15
    return f"{int(value):,} {unit_words(unit)}".rstrip() if whole else f"{value:.6g} {unit_words(unit)}".rstrip()


def unit_words(unit: str) -> str:
    """Return a unit, empty for a plain number."""
    return "" if unit == "1" else unit


def last_words(line: QuantityLine) -> str:
    """Return the last value of a quantity with its standard uncertainty."""
    if line.last is None:
        return "not a number"
    if line.uncertainty is None:
        return value_words(line.last, line.unit)
    return f"{value_words(line.last, '')} ± {line.uncertainty:.2g} {unit_words(line.unit)}".rstrip()


def step_words(change: Change) -> str:
    """Return a step, such as `0.1 s -> 0.102 s (+2.0 %) between RUN and RUN, commits A..B`."""
    point, unit = change.point, change.series.unit
    commits = f", commits {point.commits}" if point.commits else ""
    return (
        f"{value_words(point.before, unit)} -> {value_words(point.after, unit)} ({100 * point.relative:+.1f} %) "
        f"between {point.last_before.name} and {point.first_after.name}{commits}"
    )
