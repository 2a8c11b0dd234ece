"""Latency: a histogram of the whole step, and one of every phase that varies, over consecutive autonomous steps."""

from __future__ import annotations

import itertools
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from hil.report.style import BOARD, LIMIT, REFERENCE, styled

TOTAL = "total"
PHASES = ("perturb", "forward", "backward", "update", "digest")
BARS = 100  # pixels a histogram is high
BETWEEN = 76  # pixels between two: numbers and title of the upper one's axis
AROUND = 96  # pixels: the legend above, numbers and title below
BESIDE = 0.04  # of the range: what is free on both sides, so that no line lies on the frame


def histograms(latency: dict[str, Any], phases: tuple[str, ...]) -> go.Figure | None:
    """Draw how many steps took how many cycles, one histogram a phase, with lines at median and p99; None where no phase varies.

    Args:
        latency: the entry `latency` of a record.
        phases: those to draw; one that the step does not have, or that always took the same, is left out.
    """
    shown = [
        phase for phase in phases if latency["phases"][phase]["bookings"] and not is_constant(latency["phases"][phase])
    ]
    if not shown:
        return None
    height = BARS * len(shown) + BETWEEN * (len(shown) - 1)
    figure = make_subplots(rows=len(shown), cols=1, vertical_spacing=BETWEEN / height if len(shown) > 1 else 0.0)
    for row, phase in enumerate(shown, start=1):
        group = latency["phases"][phase]
        edges, counts = group["histogram"]["edges"], group["histogram"]["counts"]
        middles = [(low + high) / 2 for low, high in itertools.pairwise(edges)]
        width = edges[1] - edges[0]
        figure.add_bar(
            x=middles, y=counts, width=width, name=phase, marker_color=BOARD, showlegend=False, row=row, col=1
        )
        for name, colour in (("median", REFERENCE), ("p99", LIMIT)):
            figure.add_scatter(
                x=[group[name]] * 2, y=[0, max(counts)], name=name, mode="lines", line={"color": colour, "width": 2, "dash": "dot"},
                legendgroup=name, showlegend=row == 1, row=row, col=1,
            )  # fmt: skip
    styled(figure, height + AROUND, "", "")
    for row, phase in enumerate(shown, start=1):
        edges = latency["phases"][phase]["histogram"]["edges"]
        free = BESIDE * (edges[-1] - edges[0])
        figure.update_xaxes(
            title_text=f"{phase}, cycles ({latency['provenance']})", title_standoff=2, nticks=3, tickformat=",", tickangle=0,
            range=[edges[0] - free, edges[-1] + free], row=row, col=1,
        )  # fmt: skip
        figure.update_yaxes(title_text="runs" if phase == "digest" else "steps", nticks=3, row=row, col=1)
    return figure


def is_constant(group: dict[str, Any]) -> bool:
    """Return whether every step took the same number of cycles in a phase: that makes no histogram."""
    return bool(group["least"] == group["most"])
