"""The page of `hil power --watch --page`: waveform, cursors, histogram and battery of what was watched so far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from markupsafe import Markup

from hil import __version__
from hil.energy.live_trace import MOST_BINS, LiveTrace
from hil.report.page import environment, packed_library
from hil.report.style import BOARD, Figure, axis, styled
from hil.report.trial_figures import box, data_json, data_script


@dataclass(frozen=True)
class WatchedMeter:
    """What is watched: meter, supply in volts, word for the origin of its figures, and when it began."""

    name: str
    identity: str
    volt: float
    word: str
    begun: datetime


def watched_data(trace: LiveTrace, figures: Mapping[str, float], missed_s: float, trouble: str, volt: float) -> str:
    """Return what the page shows as JSON text.

    Args:
        trace: so far.
        figures: `now`, `mean`, `lowest`, `highest` in W, `energy` in J, `readings`; NaN if unknown.
        missed_s: time without valid readings.
        trouble: why the latest update is not valid, or empty.
        volt: supply voltage, by which charge is energy over it.
    """
    t, energy, lowest, highest = trace.columns()
    return data_json({
        "t": t, "energy": energy, "charge": energy / volt, "lowest": lowest, "highest": highest,
        "histogram": {"width": trace.histogram.width_w, "counts": trace.histogram.counts.tolist()},
        "figures": {name: value if math.isfinite(value) else None for name, value in figures.items()},
        "missed_s": missed_s, "trouble": trouble, "revision": float(t[-1]),
    })  # fmt: skip


def power_page(watched: WatchedMeter, data: str, every_s: float | None) -> str:
    """Return the page as HTML; it needs no other file.

    Args:
        watched: what is watched.
        data: of `watched_data`.
        every_s: time between two requests for `data.json`; None for a page that no longer changes.
    """
    figures = {
        "power": box(_waveform(), "power", "Power over time"),
        "histogram": box(_histogram(), "histogram", "Share of the readings at each power"),
    }
    nothing: dict[str, object] = {"t": np.zeros(1), "energy": np.zeros(1), "charge": None, "edges": [], "limits": None}
    return environment().get_template("power.html.j2").render(
        name=watched.name, identity=watched.identity, volt=watched.volt, word=watched.word, most=MOST_BINS,
        begun=f"{watched.begun:%Y-%m-%d %H:%M:%S}", version=__version__, figures=figures, cursors=data_script(nothing),
        watched=Markup(data), live=every_s is not None, every_ms=round(1000 * (every_s or 0)), library=packed_library(),
    )  # fmt: skip


def _waveform() -> Figure:
    line, unseen = {"color": BOARD, "width": 1.5, "shape": "hv"}, {"width": 0, "shape": "hv"}
    field = {"type": "scatter", "mode": "lines", "x": [], "y": [], "hoverinfo": "skip", "showlegend": False}
    data = [
        field | {"line": unseen},
        field | {"line": unseen, "fill": "tonexty", "fillcolor": "rgba(47,129,199,0.25)"},
        {"type": "scatter", "mode": "lines", "x": [], "y": [], "line": line, "name": "mean", "showlegend": False},
    ]
    return styled(data, 360, "s from the begin", axis("mW", rangemode="tozero", fixedrange=True), uirevision="kept")


def _histogram() -> Figure:
    bars = {"type": "bar", "x": [], "y": [], "marker": {"color": BOARD}}
    return styled([bars], 240, "mW", axis("% of the readings"), bargap=0)
