"""The steps of the series of a history: at which night a quantity changed, and between which commits."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hil.history.nights import RunEntry
from hil.history.queries import Series
from hil.history.statistics import ChangePoint, Night, change_points


@dataclass(frozen=True)
class Change:
    """A step of a series.

    Attributes:
        series: in which it was found.
        point: the step; its nights have the names of the runs.
    """

    series: Series
    point: ChangePoint

    def to_json(self) -> dict[str, Any]:
        """Return the fields for JSON: the runs between which it was, the medians, and the range of commits."""
        point = self.point
        relative = point.relative if math.isfinite(point.relative) else str(point.relative)
        return (
            {"quantity": self.series.name, "unit": self.series.unit, "provenance": self.series.provenance}
            | self.series.subject._asdict()
            | {"last_before": point.last_before.name, "first_after": point.first_after.name}
            | {"likeliest": point.likeliest.name, "found": point.found.name, "commits": point.commits}
            | {"before": point.before, "before_uncertainty": point.before_uncertainty}
            | {"after": point.after, "after_uncertainty": point.after_uncertainty, "relative": relative}
        )


def changes_of(series: Sequence[Series], runs: Sequence[RunEntry]) -> list[Change]:
    """Return the steps of all series, the newest first.

    Args:
        series: of trials that passed: a night that failed or was blocked is no night of the figure.
        runs: all runs of the history, in the order of the nights.
    """
    place = {run.name: number for number, run in enumerate(runs)}
    found = [Change(one, point) for one in series if varies(one) for point in change_points(nights_of(one, runs))]
    return sorted(found, key=lambda change: place[change.point.found.name], reverse=True)


def varies(series: Series) -> bool:
    """Return whether the finite values of a series differ: many are counts, which are the same for years."""
    values = series.values[np.isfinite(series.values)]
    return bool((values != values[:1]).any())


def nights_of(series: Series, runs: Sequence[RunEntry]) -> list[Night]:
    """Return one value a night: the median of its trials, with the uncertainty of the only one."""
    by_night: dict[int, list[tuple[float, float]]] = {}
    rows = zip(series.nights.tolist(), series.values.tolist(), series.uncertainties.tolist(), strict=True)
    for night, value, uncertainty in rows:
        if math.isfinite(value):
            by_night.setdefault(night, []).append((value, uncertainty))
    return [
        Night(
            runs[night].name, runs[night].commit or "",
            found[0][0] if len(found) == 1 else statistics.median(value for value, _ in found),
            found[0][1] if len(found) == 1 and math.isfinite(found[0][1]) else None,
        )
        for night, found in sorted(by_night.items())
    ]  # fmt: skip
