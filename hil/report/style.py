"""The style of all figures; the colours are mid-tones that are readable on light and on dark pages."""

from __future__ import annotations

import plotly.graph_objects as go

BOARD, REFERENCE, THIRD, GREY = "#2f81c7", "#e08a1e", "#4f9d69", "#8b8f98"
LIMIT = "#c2504c"
FONT = 13  # pixels
MARGIN = 10  # pixels around a figure, besides titles and numbers of the axes


def styled(figure: go.Figure, height: int, x: str, y: str) -> go.Figure:
    """Apply the style to a figure: its height in pixels and the titles of its axes."""
    figure.update_layout(
        template={},  # the default template adds 7 kB to each figure
        height=height,
        margin={"l": MARGIN, "r": MARGIN, "t": MARGIN, "b": MARGIN},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": GREY, "family": "system-ui, sans-serif", "size": FONT},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        dragmode=False,
    )
    axis = {
        "gridcolor": "rgba(128,128,128,0.22)",
        "zerolinecolor": "rgba(128,128,128,0.4)",
        "automargin": True,
        "title_font_size": FONT,
    }
    figure.update_xaxes(title_text=x, title_standoff=6, **axis)
    figure.update_yaxes(title_text=y, title_standoff=6, **axis)
    return figure
