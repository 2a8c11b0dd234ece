"""Histograms of the latency of autonomous steps: the whole step, and every phase that varies."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from hil.report.style import BOARD, LIMIT, REFERENCE, styled

TOTAL = "total"
BARS = 100  # height of a histogram in pixels
BETWEEN = 76  # pixels between two histograms, for the axis of the upper one
AROUND = 96  # pixels for the legend above and the axis below
BESIDE = 0.04  # margin on both sides, as a share of the range


def histograms(latency: Mapping[str, Any], phases: tuple[str, ...]) -> go.Figure | None:
    """Draw the histogram of cycles of each phase that varies, with lines at median and p99; None if none does."""
    groups = latency["phases"]
    varies = {phase: groups[phase]["least"] != groups[phase]["most"] for phase in phases}
    shown = [phase for phase in phases if groups[phase]["bookings"] and varies[phase]]
    if not shown:
        return None
    height = BARS * len(shown) + BETWEEN * (len(shown) - 1)
    figure = make_subplots(rows=len(shown), cols=1, vertical_spacing=BETWEEN / height if len(shown) > 1 else 0.0)
    for row, phase in enumerate(shown, start=1):
        group = groups[phase]
        edges, counts = group["histogram"]["edges"], group["histogram"]["counts"]
        middles = [(low + high) / 2 for low, high in itertools.pairwise(edges)]
        width = edges[1] - edges[0]
        bars = {"x": middles, "y": counts, "width": width, "name": phase, "marker_color": BOARD, "showlegend": False}
        figure.add_bar(**bars, row=row, col=1)
        for name, colour in (("median", REFERENCE), ("p99", LIMIT)):
            line = {"color": colour, "width": 2, "dash": "dot"}
            figure.add_scatter(
                x=[group[name]] * 2, y=[0, max(counts)], name=name, mode="lines", line=line,
                legendgroup=name, showlegend=row == 1, row=row, col=1,
            )  # fmt: skip
    styled(figure, height + AROUND, "", "")
    for row, phase in enumerate(shown, start=1):
        edges = groups[phase]["histogram"]["edges"]
        free = BESIDE * (edges[-1] - edges[0])
        figure.update_xaxes(
            title_text=f"{phase}, cycles ({latency['provenance']})", title_standoff=2,
            nticks=3, tickformat=",", tickangle=0, range=[edges[0] - free, edges[-1] + free], row=row, col=1,
        )  # fmt: skip
        figure.update_yaxes(title_text="runs" if phase == "digest" else "steps", nticks=3, row=row, col=1)
    return figure
