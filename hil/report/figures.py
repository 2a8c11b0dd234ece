"""Figures of a trial's training: loss, cycles by phase and layer, power."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from hil.record import TrialRecord
from hil.report.style import BOARD, GREY, LIMIT, REFERENCE, THIRD, styled

PHASES = ("perturb", "forward", "backward", "update", "digest")
SMOOTH_OVER = 10  # steps of the moving mean drawn over the single losses
SMOOTH_FROM = 5 * SMOOTH_OVER  # shorter runs are drawn step by step
MOST_POINTS = 4000  # of a power trace; a longer one is thinned by the means of neighbours


def loss_curve(steps: pd.DataFrame, batch: int, integers: bool = False) -> go.Figure:
    """Loss of board and reference by step; they lie on each other as long as every bit agrees.

    A long run is drawn as a moving mean over the single losses of the board; a short one, and one that differs, as single
    losses of both, so that a mean never hides the step that differs.

    Args:
        steps: the columns of steps.parquet, at least one row.
        batch: samples a step; the losses are sums over them.
        integers: the method compares integers (INT8*), which make no curve: the reference's float losses are drawn.
    """
    figure = go.Figure()
    board = (steps["loss_plus"] + steps["loss_minus"]) / (2 * batch)
    reference = (steps["reference_loss_plus"] + steps["reference_loss_minus"]) / (2 * batch)
    if integers:
        return _float_losses(steps, batch)
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
    return styled(figure, 320, "step", "loss a sample")


def _float_losses(steps: pd.DataFrame, batch: int) -> go.Figure:
    loss = (steps["reference_float_plus"] + steps["reference_float_minus"]) / (2 * batch)
    figure = go.Figure()
    figure.add_scatter(
        x=steps["step"], y=loss, name="reference, in floats", mode="lines+markers", line={"color": REFERENCE}
    )
    return styled(figure, 320, "step", "loss a sample")


def _differs(steps: pd.DataFrame) -> pd.Series:
    """Return which steps differ, in a tensor (`match`) or in a loss; two losses that are both NaN are alike."""
    wrong = ~steps["match"].astype(bool)
    for name in ("loss_plus", "loss_minus"):
        board, reference = steps[name], steps[f"reference_{name}"]
        wrong |= board.ne(reference) & ~(board.isna() & reference.isna())
    return wrong


def cycle_bars(trial: TrialRecord) -> go.Figure:
    """Mean cycles a step by phase."""
    figure = go.Figure(
        go.Bar(x=[trial.cycles[phase] for phase in PHASES], y=list(PHASES), orientation="h", marker_color=BOARD)
    )
    figure.update_yaxes(autorange="reversed")
    return styled(figure, 240, f"cycles a step ({trial.cycles_provenance})", "")


def layer_bars(trial: TrialRecord) -> go.Figure:
    """Cycles of the first compared step by layer, forward and backward."""
    figure = go.Figure()
    for direction, colour in (("forward", BOARD), ("backward", REFERENCE)):
        layers = (trial.profile or {})[direction]
        figure.add_bar(y=list(layers), x=list(layers.values()), name=direction, orientation="h", marker_color=colour)
    figure.update_layout(barmode="stack", legend_traceorder="normal")
    figure.update_yaxes(autorange="reversed")
    height = 120 + 26 * len((trial.profile or {})["forward"])
    return styled(figure, height, f"cycles a step ({trial.cycles_provenance})", "")


def power_trace(power: pd.DataFrame, laps_s: list[float]) -> go.Figure:
    """Power of the first energy window over time, with a line where each step ends.

    Args:
        power: columns t_s, power_w, window, phase (power.parquet).
        laps_s: how long each autonomous step took.
    """
    first = power[power["window"] == power["window"].min()]
    figure = go.Figure()
    for phase, colour in (("idle before", GREY), ("steps", BOARD), ("idle after", GREY)):
        part = _thinned(first[first["phase"] == phase])
        figure.add_scatter(
            x=part["t_s"], y=1e3 * part["power_w"], name=phase, mode="lines", line={"color": colour, "width": 1.5}
        )
    edges = [0.0]
    for lap in laps_s:
        edges.append(edges[-1] + lap)
    for number, edge in enumerate(edges):
        figure.add_vline(
            x=edge, line={"dash": "dot", "color": LIMIT if number in (0, len(edges) - 1) else THIRD},
            annotation_text="marker" if number == 0 else f"step {number}", annotation_font_size=11,
        )  # fmt: skip
    figure.update_xaxes(rangeslider={"visible": True, "thickness": 0.09})
    figure.update_yaxes(rangemode="tozero")
    return styled(figure, 380, "s from the first edge", "mW")


def _thinned(part: pd.DataFrame) -> pd.DataFrame:
    every = -(-len(part) // MOST_POINTS)
    if every <= 1:
        return part
    return part[["t_s", "power_w"]].groupby(part.reset_index().index // every).mean()
