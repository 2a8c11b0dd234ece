"""The form and style of all figures; the colours are mid-tones that are readable on light and on dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# A figure in the form of plotly.js: `data`, a list of traces, and `layout`. Plotly's classes would take 20 ms for each.
Figure = dict[str, Any]
Trace = dict[str, Any]

BOARD, REFERENCE, THIRD, GREY = "#2f81c7", "#e08a1e", "#4f9d69", "#8b8f98"
LIMIT = "#c2504c"
FONT = 13  # pixels
MARGIN = 10  # pixels around a figure, besides titles and numbers of the axes
LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
STACKED = {"barmode": "stack", "legend": LEGEND | {"traceorder": "normal"}}  # of the layout of stacked bars
WHOLE_HEIGHT = {"xref": "x", "yref": "y domain", "y0": 0, "y1": 1}  # of a shape


def styled(
    data: Sequence[Trace], height: int, x: str | dict[str, Any], y: str | dict[str, Any], **layout: Any
) -> Figure:
    """Return a figure with its style.

    Args:
        data: its traces.
        height: in pixels.
        x, y: titles of its axes, or what `axis` returns.
        layout: more of its layout.
    """
    style = {
        "height": height,
        "margin": {"l": MARGIN, "r": MARGIN, "t": MARGIN, "b": MARGIN},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": GREY, "family": "system-ui, sans-serif", "size": FONT},
        "legend": LEGEND,
        "dragmode": False,
        "autotypenumbers": "strict",
        "xaxis": axis(x) if isinstance(x, str) else x,
        "yaxis": axis(y) if isinstance(y, str) else y,
    }
    return {"data": list(data), "layout": style | layout}


def axis(title: str, standoff: int = 6, **more: Any) -> dict[str, Any]:
    """Return an axis: its title, the pixels from it to the numbers, and more of its properties."""
    style = {
        "title": {"text": title, "standoff": standoff, "font": {"size": FONT}},
        "gridcolor": "rgba(128,128,128,0.22)",
        "zerolinecolor": "rgba(128,128,128,0.4)",
        "zerolinewidth": 2,
        "automargin": True,
    }
    return style | more


def vertical_line(x: float, colour: str, dash: str) -> dict[str, Any]:
    """Return a shape: a line over the whole height."""
    return {"type": "line", "x0": x, "x1": x, "line": {"dash": dash, "color": colour}} | WHOLE_HEIGHT


def field(x0: float, x1: float, colour: str, opacity: float) -> dict[str, Any]:
    """Return a shape: a field over the whole height."""
    ends = {"type": "rect", "x0": x0, "x1": x1}
    return ends | {"fillcolor": colour, "opacity": opacity, "line": {"width": 0}} | WHOLE_HEIGHT


def rows_of(count: int, spacing: float) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Return the rows of a figure with several, from the top: the number of their axes, and where x and y axis lie.

    `spacing` is the share of the height between two rows. The number of the first is empty, as plotly.js has it.
    """
    high = (1 - spacing * (count - 1)) / count
    found = []
    for row in range(count):
        number, low = str(row + 1) if row else "", (count - 1 - row) * (high + spacing)
        x, y = {"anchor": f"y{number}", "domain": [0.0, 1.0]}, {"anchor": f"x{number}", "domain": [low, low + high]}
        found.append((number, x, y))
    return found
