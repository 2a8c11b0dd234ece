"""The power trace of an energy measurement: figure, zoom buttons, table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hil.energy.capture import Capture, Edge, WindowRequest
from hil.energy.live_trace import keep_peaks
from hil.energy.window import PHASES
from hil.record.parquet import Columns, read_columns
from hil.record.power_trace import read_facts, read_requests
from hil.report.log_lines import LogLine
from hil.report.style import (
    BOARD,
    GREY,
    LEGEND,
    LIMIT,
    REFERENCE,
    THIRD,
    Figure,
    axis,
    field,
    styled,
    vertical_line,
)  # fmt: skip
from hil.report.style import Trace as PlotTrace

STEPS = "steps"  # one of PHASES
PHASE_COLOURS = {"perturb": THIRD, "forward": REFERENCE, "backward": LIMIT, "update": GREY}
MOST_POINTS = 4000  # of a power trace; a longer one is thinned with its peaks kept
FEWEST_BUCKETS = 50  # of a phase, however short
LOGGED = "log line"  # entry in the legend
MOST_LABELS = 6  # numbered steps; more would overlap on a phone
EDGE = 0.15  # share of a step shown on both sides of an edge


@dataclass(frozen=True)
class Zoom:
    """A button that shows the time from `low` to `high`, in s from the first edge."""

    name: str
    low: float
    high: float


@dataclass(frozen=True)
class PhaseRow:
    """Power of one phase of the window, in watts."""

    phase: str
    readings: int
    mean: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class Trace:
    """Readings and edges of the first energy window; times in s from its first edge."""

    power: Columns  # t_s, power_w, phase (`idle before`, `steps`, `idle after`)
    edges: tuple[Edge, ...]  # of the marker
    aperture_s: float  # averaging time of a reading, from its t_s onwards; 0 for instantaneous readings
    request: WindowRequest | None = None  # by which the host asked for the window
    lines: tuple[LogLine, ...] = ()  # of the log, while the window was measured

    @property
    def end_s(self) -> float:
        """Time of the end of the window."""
        return self.edges[-1].t_s

    def kept(self) -> list[tuple[str, np.ndarray]]:
        """Return the readings that are drawn: for each phase in order its name and their places, int64[m].

        The phases share the points by their numbers of readings. The lowest and highest readings stay.
        """
        found = []
        power, phases = self.power["power_w"].astype(float), self.power["phase"]
        for phase in PHASES:
            places = np.flatnonzero(phases == phase)
            buckets = max(FEWEST_BUCKETS, MOST_POINTS * len(places) // (2 * len(phases)))
            if len(places):
                found.append((phase, places[keep_peaks(power[places], buckets)]))
        return found

    def capture(self) -> Capture:
        """Return the readings for integrals. Where neither current nor voltage is known, both are NaN."""
        t_s = self.power["t_s"].astype(float)
        unknown = np.full(len(t_s), np.nan)
        current, voltage = (
            self.power[name].astype(float) if name in self.power else unknown for name in ("current_a", "voltage_v")
        )
        interval_s = float(np.median(np.diff(t_s))) if len(t_s) > 1 else self.aperture_s
        power = self.power["power_w"].astype(float)
        return Capture(t_s, power, current, voltage, self.aperture_s, interval_s, self.edges, math.inf, None)


def read_trace(path: Path) -> Trace:
    """Read the first window of power.parquet.

    Raises:
        RigError: the file is damaged.
    """
    meter, edges = read_facts(path)
    power = read_columns(path, words=("phase",), only=("window", 0))
    own = tuple(edge for edge, window in edges if window == 0)
    return Trace(power, own, float(meter.get("aperture_s") or 0.0), read_requests(path).get(0))


def power_trace(trace: Trace, laps_s: list[float], stretches: Sequence[tuple[str, float]] = ()) -> Figure:
    """Draw the power of the first energy window over time, with the end of each step, and phases in the background.

    A reading with an aperture is drawn from its own time to that of the next reading. An edge of the marker is a line
    in a red field, which shows the uncertainty of its time. `laps_s` has the durations of at least the first steps,
    `stretches` the phases and seconds of the first stretches of the window.
    """
    data, shapes = _shades(stretches)
    data += _logged(trace)
    annotations = []
    for name, x, power_w, shape in _parts(trace):
        line = {"color": BOARD if name == STEPS else GREY, "width": 1.5, "shape": shape}
        data.append({"type": "scatter", "x": x, "y": 1e3 * power_w, "name": name, "mode": "lines", "line": line})
    for edge in trace.edges:
        shapes.append(vertical_line(edge.t_s, LIMIT, "dot"))
        if edge.half_s:
            shapes.append(field(edge.t_s - edge.half_s, edge.t_s + edge.half_s, LIMIT, 0.15))
    ends = list(itertools.accumulate(laps_s))
    for number, (lap, end) in enumerate(zip(laps_s, ends, strict=True), start=1):
        if number < len(ends) or end < trace.end_s - lap / 2:  # the last step of the window ends at its edge
            shapes.append(vertical_line(end, THIRD, "dot"))
        if len(ends) <= MOST_LABELS or number in (1, len(ends)):
            above = {"y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False}
            annotations.append({"x": end - lap / 2, "text": str(number)} | above)
    return styled(
        data, 360, "s from the first edge of the marker", axis("mW", rangemode="tozero", fixedrange=True),
        shapes=shapes, annotations=annotations, legend=LEGEND | {"y": 1.08},
    )  # fmt: skip


def _parts(trace: Trace) -> Iterator[tuple[str, np.ndarray, np.ndarray, str]]:
    """Yield name, times, power and line shape of each phase; a line extends to where the next one begins."""
    kept, t_s, power = trace.kept(), trace.power["t_s"], trace.power["power_w"]
    for (phase, places), (_, following) in itertools.zip_longest(kept, kept[1:], fillvalue=("", None)):
        assert places is not None
        x, y = t_s[places], power[places]
        held = trace.aperture_s > 0 and places[-1] - places[0] == len(places) - 1
        if following is not None:
            x, y = np.append(x, t_s[following[0]]), np.append(y, y[-1] if held else power[following[0]])
        yield phase, x, y, "hv" if held else "linear"


def _logged(trace: Trace) -> list[PlotTrace]:
    """Return the log lines as marks on the time axis, with their text when the pointer is on one."""
    if not trace.lines:
        return []
    marker = {"symbol": "triangle-up", "size": 9, "color": REFERENCE}
    return [{
        "type": "scatter", "x": [line.t_s for line in trace.lines], "y": [0.0] * len(trace.lines), "name": LOGGED,
        "mode": "markers", "marker": marker, "hovertext": [line.text for line in trace.lines],
        "hoverinfo": "text", "cliponaxis": False,
    }]  # fmt: skip


def _shades(stretches: Sequence[tuple[str, float]]) -> tuple[list[PlotTrace], list[dict[str, Any]]]:
    """Return the entries of the legend for the phases of the background, and its fields."""
    at, fields = 0.0, []
    for phase, seconds in stretches:
        fields.append(field(at, at + seconds, PHASE_COLOURS[phase], 0.22) | {"layer": "below"})
        at += seconds
    entries: list[PlotTrace] = []
    for phase in dict.fromkeys(name for name, _ in stretches):
        marker = {"symbol": "square", "size": 11, "color": PHASE_COLOURS[phase], "opacity": 0.5}
        entries.append({
            "type": "scatter", "x": [None], "y": [None], "name": phase, "mode": "markers", "marker": marker
        })  # fmt: skip
    return entries, fields


def zooms(laps_s: list[float], end: float) -> list[Zoom]:
    """Return the zoom buttons."""
    first, last = laps_s[0], laps_s[-1]
    return [
        Zoom("first edge", -EDGE * first, EDGE * first),
        Zoom("first step", 0.0, first),
        Zoom("last edge", end - EDGE * last, end + EDGE * last),
    ]


def phase_rows(power: Columns) -> list[PhaseRow]:
    """Return the table of the trace: the power of each phase of the window."""
    parts = ((phase, power["power_w"][power["phase"] == phase]) for phase in PHASES)
    return [
        PhaseRow(phase, len(part), float(part.mean()), float(part.min()), float(part.max()))
        for phase, part in parts
        if len(part)
    ]
