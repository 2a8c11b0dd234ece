"""One look for all figures; colours are mid-tones that read on light and on dark."""

from __future__ import annotations

import plotly.graph_objects as go

BOARD, REFERENCE, THIRD, GREY = "#2f81c7", "#e08a1e", "#4f9d69", "#8b8f98"
LIMIT = "#c2504c"


def styled(figure: go.Figure, height: int, x: str, y: str) -> go.Figure:
    """Give a figure the page's look, its height in pixels and the titles of its axes."""
    figure.update_layout(
        template={},  # the default one is 7 kB a figure and none of it is used
        height=height,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": GREY, "family": "system-ui, sans-serif", "size": 13},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        dragmode=False,
    )
    axis = {"gridcolor": "rgba(128,128,128,0.22)", "zerolinecolor": "rgba(128,128,128,0.4)", "automargin": True}
    figure.update_xaxes(title=x, **axis)
    figure.update_yaxes(title=y, **axis)
    return figure
