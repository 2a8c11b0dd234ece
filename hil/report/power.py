"""The power trace of an energy measurement: its figure, its zooms, its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from hil.measure.decimate import keep_peaks
from hil.report.style import BOARD, GREY, LIMIT, REFERENCE, THIRD, styled

PHASES = ("idle before", "steps", "idle after")
PHASE_COLOURS = {"perturb": THIRD, "forward": REFERENCE, "backward": LIMIT, "update": GREY}
MOST_POINTS = 4000  # of a power trace; a longer one is thinned to the lowest and highest of neighbours
MOST_LABELS = 6  # step markers that are named; more would cover each other on a phone
EDGE = 0.15  # of a step: how much of it is shown on the inner side of an edge


@dataclass(frozen=True)
class Zoom:
    """A part of the time axis that a button shows: `low` to `high`, in s from the first edge."""

    name: str
    low: float
    high: float


@dataclass(frozen=True)
class PhaseRow:
    """Power of one phase of the window that is shown, in watts."""

    phase: str
    readings: int
    mean: float
    lowest: float
    highest: float


def first_window(power: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first window of power.parquet (columns t_s, power_w, window, phase)."""
    return power[power["window"] == power["window"].min()]


def end_of(energy: dict[str, Any]) -> float:
    """Return when the first window ended, in s from its first edge: the board tells the times of its first steps only, and the meter that of the window."""
    laps_s = energy["laps_s"]
    whole = len(laps_s) >= energy["steps_per_window"]
    return sum(laps_s) if whole else float(energy["windows"][0]["duration"])


def power_trace(power: pd.DataFrame, laps_s: list[float], end_s: float, stretches: Sequence[tuple[str, float]] = ()) -> go.Figure:
    """Power of the first energy window over time, with a line where each step ends and its phases behind.

    Args:
        power: columns t_s, power_w, window, phase (power.parquet).
        laps_s: how long each autonomous step took, of the first ones at least.
        end_s: when the window ended.
        stretches: phase and seconds of the window's first stretches of a phase, from its first edge on.
    """
    figure = go.Figure()
    _shade(figure, stretches)
    window = first_window(power)
    for phase, colour in zip(PHASES, (GREY, BOARD, GREY), strict=True):
        part = _thinned(window[window["phase"] == phase])
        line = {"color": colour, "width": 1.5}
        figure.add_scatter(x=part["t_s"], y=1e3 * part["power_w"], name=phase, mode="lines", line=line)
    edges = [0.0]
    for lap in laps_s:
        edges.append(edges[-1] + lap)
    last = len(edges) - 1
    for edge in (0.0, end_s):
        figure.add_vline(x=edge, line={"dash": "dot", "color": LIMIT})
    for number, edge in enumerate(edges):
        if 0 < edge < end_s:
            figure.add_vline(x=edge, line={"dash": "dot", "color": THIRD})
        if number and (last <= MOST_LABELS or number in (1, last)):
            middle = (edges[number - 1] + edge) / 2
            figure.add_annotation(x=middle, y=1, yref="paper", yanchor="bottom", text=str(number), showarrow=False)
    figure.update_xaxes(rangeslider={"visible": True, "thickness": 0.09})
    figure.update_yaxes(rangemode="tozero")
    styled(figure, 400, "s from the first edge of the marker", "mW")
    return figure.update_layout(legend={"y": 1.08})


def _shade(figure: go.Figure, stretches: Sequence[tuple[str, float]]) -> None:
    """Colour the background by phase, and name the colours in the legend."""
    at = 0.0
    for phase, seconds in stretches:
        figure.add_vrect(x0=at, x1=at + seconds, fillcolor=PHASE_COLOURS[phase], opacity=0.22, line_width=0, layer="below")
        at += seconds
    for phase in dict.fromkeys(name for name, _ in stretches):
        marker = {"symbol": "square", "size": 11, "color": PHASE_COLOURS[phase], "opacity": 0.5}
        figure.add_scatter(x=[None], y=[None], name=phase, mode="markers", marker=marker)


def zooms(laps_s: list[float], end: float) -> list[Zoom]:
    """Return the parts of the trace that are worth a button."""
    first, last = laps_s[0], laps_s[-1]
    return [
        Zoom("first edge", -EDGE * first, EDGE * first),
        Zoom("first step", 0.0, first),
        Zoom("last edge", end - EDGE * last, end + EDGE * last),
    ]


def phase_rows(power: pd.DataFrame) -> list[PhaseRow]:
    """Return the table behind the trace: power of each phase of the first window."""
    window = first_window(power)
    parts = ((phase, window["power_w"][window["phase"] == phase]) for phase in PHASES)
    return [
        PhaseRow(phase, len(part), float(part.mean()), float(part.min()), float(part.max()))
        for phase, part in parts
        if len(part)
    ]


def _thinned(part: pd.DataFrame) -> pd.DataFrame:
    return part.iloc[keep_peaks(part["power_w"].to_numpy(float), MOST_POINTS // 2)]
