"""Plotly figures of a trial; colours are mid-tones that read on light and on dark."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from hil.record import TrialRecord

BOARD, REFERENCE, THIRD, GREY = "#2f81c7", "#e08a1e", "#4f9d69", "#8b8f98"
LIMIT = "#c2504c"
PHASES = ("perturb", "forward", "backward", "update", "digest")
SMOOTH_OVER = 10  # steps of the moving mean drawn over the single losses
SMOOTH_FROM = 5 * SMOOTH_OVER  # shorter runs are drawn step by step


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
    """Loss of board and reference by step; they lie on each other as long as every bit agrees.

    A long run is drawn as a moving mean over the single losses of the board; a short one, and one that differs, as single
    losses of both, so that a mean never hides the step that differs.

    Args:
        steps: the columns of steps.parquet, at least one row.
        batch: samples a step; the losses are sums over them.
    """
    figure = go.Figure()
    board = (steps["loss_plus"] + steps["loss_minus"]) / (2 * batch)
    reference = (steps["reference_loss_plus"] + steps["reference_loss_minus"]) / (2 * batch)
    wrong = _differs(steps)
    smooth = len(steps) >= SMOOTH_FROM and not wrong.any()
    if smooth:
        figure.add_scatter(
            x=steps["step"], y=board, name="board", mode="lines", line={"color": BOARD, "width": 1}, opacity=0.45
        )
        board, reference = board.rolling(SMOOTH_OVER).mean(), reference.rolling(SMOOTH_OVER).mean()
    kind = f", mean of {SMOOTH_OVER} steps" if smooth else ""
    for name, loss, line in (
        ("board", board, {"color": BOARD, "width": 4}),
        ("reference", reference, {"color": REFERENCE, "width": 2, "dash": "dash"}),
    ):
        mode = "lines" if len(steps) > 1 else "markers"
        figure.add_scatter(x=steps["step"], y=loss, name=name + kind, mode=mode, line=line)
    if wrong.any():
        figure.add_scatter(
            x=steps["step"][wrong],
            y=board[wrong],
            name="differs",
            mode="markers",
            marker={"color": LIMIT, "size": 11, "symbol": "x"},
        )
    if len(steps) <= SMOOTH_OVER:
        figure.update_xaxes(dtick=1)
    return _styled(figure, 320, "step", "loss a sample")


def _differs(steps: pd.DataFrame) -> pd.Series:
    """Return which steps differ, in a tensor (`match`) or in a loss; two losses that are both NaN are alike."""
    wrong = ~steps["match"].astype(bool)
    for name in ("loss_plus", "loss_minus"):
        board, reference = steps[name], steps[f"reference_{name}"]
        wrong |= board.ne(reference) & ~(board.isna() & reference.isna())
    return wrong


def memory_bars(trial: TrialRecord) -> go.Figure:
    """Static, arena and stack bytes beside plan, formula and budget."""
    figure = go.Figure()
    kib = {name: value / 1024 for name, value in trial.sram.items() if value is not None}
    for name, label, colour in (
        ("static", "static", THIRD),
        ("arena_peak", "arena peak", BOARD),
        ("stack_peak", "stack peak", REFERENCE),
    ):
        in_use = f"in use ({trial.sram_provenance[name]})"
        figure.add_bar(y=[in_use], x=[kib[name]], name=label, orientation="h", marker_color=colour)
    for name, label in (("planned", "arena planned"), ("analytic", "paper's formula")):
        if name in kib:
            label = f"{label} ({trial.sram_provenance[name]})"
            figure.add_bar(y=[label], x=[kib[name]], orientation="h", marker_color=GREY, showlegend=False)
    if "budget" in kib:
        figure.add_vline(
            x=kib["budget"],
            line={"dash": "dash", "color": LIMIT},
            annotation_text="budget",
            annotation_font_color=LIMIT,
        )
    figure.update_layout(barmode="stack", legend_traceorder="normal")
    figure.update_yaxes(autorange="reversed")
    return _styled(figure, 240, "KiB", "")


def cycle_bars(trial: TrialRecord) -> go.Figure:
    """Mean cycles a step by phase."""
    figure = go.Figure(
        go.Bar(x=[trial.cycles[phase] for phase in PHASES], y=list(PHASES), orientation="h", marker_color=BOARD)
    )
    figure.update_yaxes(autorange="reversed")
    return _styled(figure, 240, f"cycles a step ({trial.cycles_provenance})", "")
