"""One quantity over the nights as a figure: a line for each series, and its steps."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.commit import short_commit
from hil.history.changes import Change, nights_of
from hil.history.nights import RunEntry
from hil.history.queries import Series
from hil.history.statistics import change_points
from hil.report.style import BOARD, GREY, LIMIT, REFERENCE, THIRD, Figure, Trace, axis, field, styled, vertical_line
from hil.report.trial_figures import packed

HEIGHT = 240
MOST_MARKED = 60  # nights of a figure with a mark for each
COLOURS, DASHES = (BOARD, REFERENCE, THIRD, GREY), ("solid", "dash", "dot")
TICKS = 7
FAINT = "66"  # opacity, after a colour
WHOLE = ("B", "cycle")  # units of whole numbers
SCALED = ("s", "J", "W", "A", "Hz")  # units that take a prefix


@dataclass(frozen=True)
class OverNights:
    """A series with one value a night.

    Attributes:
        label: which of the series of its figure it is.
        at: int64, the places of its nights on the axis.
        values, uncertainties: float64 of each night; an uncertainty is NaN if it is not known.
        changes: its steps, the oldest first.
        lost: number of values that are not numbers, which are not drawn.
    """

    series: Series
    label: str
    at: NDArray[np.int64]
    values: NDArray[np.float64]
    uncertainties: NDArray[np.float64]
    changes: tuple[Change, ...]
    lost: int


def over_nights(series: Series, label: str, runs: Sequence[RunEntry], place: NDArray[np.int64]) -> OverNights:
    """Return a series over the nights.

    Args:
        runs: all of the history, in the order of the nights.
        place: int64 of each run: where its night is on the axis.
    """
    nights = nights_of(series, runs)
    finite = np.isfinite(series.values)
    sigmas = np.array([math.nan if night.uncertainty is None else night.uncertainty for night in nights])
    return OverNights(
        series, label, place[np.unique(series.nights[finite])], np.array([night.value for night in nights], float),
        sigmas, tuple(Change(series, point) for point in change_points(nights)), int((~finite).sum()),
    )  # fmt: skip


def history_figure(drawn: Sequence[OverNights], runs: Sequence[RunEntry], nights: Sequence[RunEntry]) -> Figure:
    """Return the figure of one quantity; `nights` are the runs of the axis."""
    unit = drawn[0].series.unit
    place = {run.name: number for number, run in enumerate(nights)}
    steps = [change.point for one in drawn for change in one.changes]
    shapes = [field(place[step.last_before.name], place[step.first_after.name], LIMIT, 0.15) for step in steps]
    shapes += [vertical_line(place[step.likeliest.name], LIMIT, "dash") for step in steps]
    ticks = np.unique(np.linspace(0, len(nights) - 1, min(TICKS, len(nights))).astype(int)).tolist()
    x = axis("", range=[-0.5, len(nights) - 0.5], tickvals=ticks, ticktext=[_day(nights[tick]) for tick in ticks])
    y = axis("", fixedrange=True, **_format(unit))
    return styled([_trace(one, number, unit) for number, one in enumerate(drawn)], HEIGHT, x, y, shapes=shapes)


def night_name(run: RunEntry) -> str:
    """Return the time and commit of a run for the label of a point. Plotly takes tags for marks: they are escaped."""
    return html.escape(f"{_day(run)} {run.name}{', commit ' + short_commit(run.commit) if run.commit else ''}")


def _day(run: RunEntry) -> str:
    return f"{run.placed:%Y-%m-%d}" if run.started is not None else html.escape(run.name)


def _trace(one: OverNights, number: int, unit: str) -> Trace:
    """Return a line. Nights without a value are NaN, so that the first place is enough for all."""
    first = int(one.at[0])
    values, sigmas = (np.full(int(one.at[-1]) - first + 1, math.nan) for _ in range(2))
    values[one.at - first], sigmas[one.at - first] = one.values, one.uncertainties
    # Seven digits draw what varies from night to night; a count is exact.
    kind = "<f4" if one.series.provenance in ("measured", "modelled") else "<f8"
    colour = COLOURS[number % len(COLOURS)]
    line = {"color": colour, "width": 2, "dash": DASHES[number // len(COLOURS) % len(DASHES)]}
    trace: dict[str, Any] = {
        "type": "scatter", "mode": "lines+markers" if len(one.at) <= MOST_MARKED else "lines", "x0": first, "dx": 1,
        "y": packed(values, kind), "name": html.escape(one.label), "line": line, "marker": {"size": 5},
        "connectgaps": True, "hovertemplate": f"%{{text}}<br>%{{y{_hover(unit)}}}",
    }  # fmt: skip
    if np.isfinite(sigmas).any():
        bars = {"type": "data", "array": packed(np.nan_to_num(sigmas), "<f4"), "color": colour + FAINT}
        trace["error_y"] = bars | {"thickness": 1, "width": 0}
    return trace


def _format(unit: str) -> dict[str, Any]:
    """Return the format of the numbers of an axis."""
    if unit in WHOLE:
        return {"tickformat": ",.7~g", "ticksuffix": f" {unit}"}
    return {"tickformat": "~s", "ticksuffix": unit} if unit in SCALED else {"tickformat": ".6~g"}


def _hover(unit: str) -> str:
    if unit in WHOLE:
        return ":,.0f"
    return ":.6~s" if unit in SCALED else ":.6~g"
