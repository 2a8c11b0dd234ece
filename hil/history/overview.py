"""What `hil history` lists: the last value of each quantity beside the median of the nights before."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
