"""Histograms of the latency of autonomous steps: the whole step, and every phase that varies."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from hil.report.style import BOARD, LIMIT, REFERENCE, Figure, Trace, axis, rows_of, styled

TOTAL = "total"
BARS = 100  # height of a histogram in pixels
BETWEEN = 76  # pixels between two histograms, for the axis of the upper one
AROUND = 96  # pixels for the legend above and the axis below
BESIDE = 0.04  # margin on both sides, as a share of the range


def histograms(latency: Mapping[str, Any], phases: tuple[str, ...]) -> Figure | None:
    """Draw the histogram of cycles of each phase that varies, with lines at median and p99; None if none does."""
    groups = latency["phases"]
    varies = {phase: groups[phase]["least"] != groups[phase]["most"] for phase in phases}
    shown = [phase for phase in phases if groups[phase]["bookings"] and varies[phase]]
    if not shown:
        return None
    height = BARS * len(shown) + BETWEEN * (len(shown) - 1)
    data: list[Trace] = []
    axes: dict[str, Any] = {}
    for phase, (number, x, y) in zip(shown, rows_of(len(shown), BETWEEN / height), strict=True):
        edges = groups[phase]["histogram"]["edges"]
        data += [trace | {"xaxis": f"x{number}", "yaxis": f"y{number}"} for trace in _histogram(phase, groups[phase])]
        free = BESIDE * (edges[-1] - edges[0])
        axes[f"xaxis{number}"] = x | axis(
            f"{phase}, cycles ({latency['provenance']})", standoff=2,
            nticks=3, tickformat=",", tickangle=0, range=[edges[0] - free, edges[-1] + free],
        )  # fmt: skip
        axes[f"yaxis{number}"] = y | axis("runs" if phase == "digest" else "steps", nticks=3)
    for trace in data[3:]:
        trace["showlegend"] = False  # the lines of all rows share the entries of the first
    return styled(data, height + AROUND, "", "", **axes)


def _histogram(phase: str, group: Mapping[str, Any]) -> list[Trace]:
    """Return the bars of a phase and its two lines."""
    edges, counts = group["histogram"]["edges"], group["histogram"]["counts"]
    middles = [(low + high) / 2 for low, high in itertools.pairwise(edges)]
    bars = {"type": "bar", "x": middles, "y": counts, "width": edges[1] - edges[0], "name": phase}
    traces: list[Trace] = [bars | {"marker": {"color": BOARD}, "showlegend": False}]
    for name, colour in (("median", REFERENCE), ("p99", LIMIT)):
        line = {"color": colour, "width": 2, "dash": "dot"}
        ends = {"type": "scatter", "x": [group[name]] * 2, "y": [0, max(counts)], "mode": "lines", "line": line}
        traces.append(ends | {"name": name, "legendgroup": name, "showlegend": True})
    return traces
