"""Plotly figures of a trial; colours are mid-tones that read on light and on dark."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from hil.record import TrialRecord

BOARD, REFERENCE, THIRD, GREY = "#2f81c7", "#e08a1e", "#4f9d69", "#8b8f98"
PHASES = ("perturb", "forward", "backward", "update", "digest")
SMOOTH_OVER = 10  # steps of the moving mean drawn over the single losses


def _styled(figure: go.Figure, height: int, x: str, y: str) -> go.Figure:
    figure.update_layout(
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


def loss_curve(steps: pd.DataFrame, batch: int) -> go.Figure:
    """Loss of board and reference by step; they lie on each other as long as every bit agrees."""
    figure = go.Figure()
    board = (steps["loss_plus"] + steps["loss_minus"]) / (2 * batch)
    reference = (steps["reference_loss_plus"] + steps["reference_loss_minus"]) / (2 * batch)
    figure.add_scatter(
        x=steps["step"], y=board, name="board", mode="lines", line={"color": BOARD, "width": 1}, opacity=0.45
    )
    figure.add_scatter(
        x=steps["step"],
        y=board.rolling(SMOOTH_OVER).mean(),
        name=f"board, mean of {SMOOTH_OVER} steps",
        line={"color": BOARD, "width": 3},
    )
    figure.add_scatter(
        x=steps["step"],
        y=reference.rolling(SMOOTH_OVER).mean(),
        name=f"reference, mean of {SMOOTH_OVER} steps",
        line={"color": REFERENCE, "width": 3, "dash": "dot"},
    )
    return _styled(figure, 320, "step", "loss a sample")


def memory_bars(trial: TrialRecord) -> go.Figure:
    """Static, arena and stack bytes beside plan, formula and budget."""
    figure = go.Figure()
    kib = {name: (value or 0) / 1024 for name, value in trial.sram.items()}
    for name, label, colour in (
        ("static", "static", THIRD),
        ("arena_peak", "arena peak", BOARD),
        ("stack_peak", "stack peak", REFERENCE),
    ):
        figure.add_bar(y=["in use (counted)"], x=[kib[name]], name=label, orientation="h", marker_color=colour)
    for name, label in (("planned", "arena planned (analytic)"), ("analytic", "paper's formula (analytic)")):
        figure.add_bar(y=[label], x=[kib[name]], orientation="h", marker_color=GREY, showlegend=False)
    figure.add_vline(
        x=kib["budget"],
        line={"dash": "dash", "color": "#c2504c"},
        annotation_text="budget",
        annotation_font_color="#c2504c",
    )
    figure.update_layout(barmode="stack")
    figure.update_yaxes(autorange="reversed")
    return _styled(figure, 240, "KiB", "")


def cycle_bars(trial: TrialRecord) -> go.Figure:
    """Mean cycles a step by phase."""
    figure = go.Figure(
        go.Bar(x=[trial.cycles[phase] for phase in PHASES], y=list(PHASES), orientation="h", marker_color=BOARD)
    )
    figure.update_yaxes(autorange="reversed")
    return _styled(figure, 240, f"cycles a step ({trial.cycles_provenance})", "")
