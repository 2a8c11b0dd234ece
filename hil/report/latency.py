"""Latency: a histogram a phase, over consecutive autonomous steps."""

from __future__ import annotations

import itertools
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from hil.report.style import BOARD, GREY, LIMIT, REFERENCE, styled

PHASES = ("total", "perturb", "forward", "backward", "update", "digest")
HEIGHT = 150  # pixels a histogram


def histograms(latency: dict[str, Any]) -> go.Figure:
    """Draw how many steps took how many cycles, one histogram a phase that the step has, with lines at median and p99.

    Args:
        latency: the entry `latency` of a record.
    """
    shown = [phase for phase in PHASES if latency["phases"][phase]["bookings"]]
    figure = make_subplots(rows=len(shown), cols=1, vertical_spacing=0.06)
    for row, phase in enumerate(shown, start=1):
        group = latency["phases"][phase]
        edges, counts = group["histogram"]["edges"], group["histogram"]["counts"]
        middles = [(low + high) / 2 for low, high in itertools.pairwise(edges)]
        width = edges[1] - edges[0]
        figure.add_bar(x=middles, y=counts, width=width, name=phase, marker_color=BOARD, showlegend=False, row=row, col=1)
        for name, colour in (("median", REFERENCE), ("p99", LIMIT)):
            figure.add_scatter(
                x=[group[name]] * 2, y=[0, max(counts)], name=name, mode="lines", line={"color": colour, "width": 2, "dash": "dot"},
                legendgroup=name, showlegend=row == 1, row=row, col=1,
            )  # fmt: skip
    figure = styled(figure, HEIGHT * len(shown) + 40, "", "")
    for row, phase in enumerate(shown, start=1):
        title = f"{phase}, cycles ({latency['provenance']})"
        figure.update_xaxes(title={"text": title, "font": {"color": GREY}, "standoff": 2}, row=row, col=1)
        figure.update_yaxes(title="runs" if phase == "digest" else "steps", row=row, col=1)
    return figure
