"""Figures of training: loss, difference, accuracy, cycles by phase and layer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from hil.record import TrialRecord
from hil.report.style import BOARD, LIMIT, REFERENCE, styled

PHASES = ("perturb", "forward", "backward", "update", "digest")
SMOOTH_OVER = 10  # steps of the moving mean
SMOOTH_FROM = 5 * SMOOTH_OVER  # shorter runs have no moving mean
SIDES = ("board", "reference", "float")
COLUMNS = dict(zip(SIDES, ("loss", "reference_loss", "reference_float"), strict=True))


def has_queries(trial: TrialRecord) -> bool:
    """Return whether the method makes queries: its steps report the clean loss, and the sum over all queries."""
    return "queries" in trial.settings


def drawn_losses(trial: TrialRecord, steps: pd.DataFrame) -> pd.DataFrame:
    """Return the steps with the losses to draw. For a method with queries this is only the clean loss.

    A difference in the losses of queries is still in `match`.
    """
    if not has_queries(trial):
        return steps
    clean = {f"{name}_minus": steps[f"{name}_plus"] for name in COLUMNS.values() if f"{name}_plus" in steps}
    return steps.assign(**clean)


def loss_a_sample(steps: pd.DataFrame, side: str, batch: int) -> pd.Series:
    """Return the loss per sample for each step: the mean of both passes, divided by the batch size.

    Args:
        steps: the columns of steps.parquet; the losses are sums over the batch.
        side: `board`, `reference`, or `float` for the float losses of the reference (INT8* compares integers).
        batch: samples in a step.
    """
    loss: pd.Series = (steps[f"{COLUMNS[side]}_plus"] + steps[f"{COLUMNS[side]}_minus"]) / (2 * batch)
    return loss


def differs(steps: pd.DataFrame) -> pd.Series:
    """Return which steps differ, in a tensor (`match`) or in a loss; two NaN losses are equal."""
    wrong = ~steps["match"].astype(bool)
    for name in ("loss_plus", "loss_minus"):
        board, reference = steps[name], steps[f"reference_{name}"]
        wrong |= board.ne(reference) & ~(board.isna() & reference.isna())
    return wrong


def loss_curve(steps: pd.DataFrame, batch: int, integers: bool = False) -> go.Figure:
    """Draw the loss of each step: one line if board and reference are equal, else both lines and the steps that differ.

    A long run has a moving mean, unless a step differs, because the mean would hide it. If the method compares integer
    losses (INT8*), the reference's float losses are drawn. There is at least one step.
    """
    wrong = differs(steps)
    if integers:
        figure = _one_line(steps["step"], loss_a_sample(steps, "float", batch), "reference, in floats", REFERENCE)
    elif wrong.any():
        figure = _two_lines(steps, wrong, batch)
    else:
        figure = _one_line(steps["step"], loss_a_sample(steps, "board", batch), "board = reference", BOARD)
    if len(steps) <= SMOOTH_OVER:
        figure.update_xaxes(dtick=1)
    return styled(figure, 320, "step", "loss a sample")


def _one_line(step: pd.Series, loss: pd.Series, name: str, colour: str) -> go.Figure:
    figure = go.Figure()
    smooth = len(step) >= SMOOTH_FROM
    mode = "lines" if smooth else "lines+markers"
    line: dict[str, Any] = {"color": colour, "width": 1 if smooth else 3}
    figure.add_scatter(x=step, y=loss, name=name, mode=mode, line=line, opacity=0.45 if smooth else 1.0)
    if smooth:
        mean = loss.rolling(SMOOTH_OVER).mean()
        line = {"color": colour, "width": 3.5}
        figure.add_scatter(x=step, y=mean, name=f"mean of {SMOOTH_OVER} steps", mode="lines", line=line)
    return figure


def _two_lines(steps: pd.DataFrame, wrong: pd.Series, batch: int) -> go.Figure:
    figure = go.Figure()
    mode = "lines" if len(steps) > 1 else "markers"
    lines = ({"color": BOARD, "width": 4}, {"color": REFERENCE, "width": 2, "dash": "dash"})
    for side, line in zip(("board", "reference"), lines, strict=True):
        figure.add_scatter(x=steps["step"], y=loss_a_sample(steps, side, batch), name=side, mode=mode, line=line)
    loss = loss_a_sample(steps, "board", batch)[wrong]
    cross = {"color": LIMIT, "size": 11, "symbol": "x"}
    figure.add_scatter(x=steps["step"][wrong], y=loss, name="differs", mode="markers", marker=cross)
    return figure


def difference(steps: pd.DataFrame, batch: int) -> go.Figure:
    """Draw the loss of the board minus that of the reference, per sample."""
    figure = go.Figure()
    difference_per_sample = loss_a_sample(steps, "board", batch) - loss_a_sample(steps, "reference", batch)
    line = {"color": LIMIT, "width": 2}
    figure.add_scatter(
        x=steps["step"], y=difference_per_sample, name="board − reference", mode="lines+markers", line=line
    )
    return styled(figure, 220, "step", "difference")


def accuracy_points(evaluations: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Draw the accuracy on the test images, each point with the binomial standard error of its n images."""
    figure = go.Figure()
    marks = (("board", BOARD, "circle", 10), ("reference", REFERENCE, "circle-open", 17))
    for side, colour, symbol, size in marks:
        points = [point for point in evaluations if point[side] is not None]
        error = [100 * math.sqrt(point[side] * (1 - point[side]) / point["n"]) for point in points]
        figure.add_scatter(
            x=[point["step"] for point in points], y=[100 * point[side] for point in points], name=side, mode="markers",
            marker={"color": colour, "symbol": symbol, "size": size, "line": {"width": 2}},
            error_y={"type": "data", "array": error, "color": colour, "thickness": 2, "width": 6},
        )  # fmt: skip
    figure.update_yaxes(range=[0, 100])
    return styled(figure, 240, "after step", "% right")


def cycle_bars(trial: TrialRecord) -> go.Figure:
    """Draw the mean cycles of a step by phase."""
    figure = go.Figure(
        go.Bar(x=[trial.cycles[phase] for phase in PHASES], y=list(PHASES), orientation="h", marker_color=BOARD)
    )
    figure.update_yaxes(autorange="reversed")
    return styled(figure, 240, f"cycles a step ({trial.cycles_provenance})", "")


def layer_bars(trial: TrialRecord) -> go.Figure:
    """Draw the cycles of the first compared step by layer, forward and backward."""
    figure = go.Figure()
    profile: Mapping[str, Any] = trial.profile or {}
    for direction, colour in (("forward", BOARD), ("backward", REFERENCE)):
        layers = profile[direction]
        figure.add_bar(y=list(layers), x=list(layers.values()), name=direction, orientation="h", marker_color=colour)
    figure.update_layout(barmode="stack", legend_traceorder="normal")
    figure.update_yaxes(autorange="reversed")
    height = 120 + 26 * len(profile["forward"])
    return styled(figure, height, f"cycles a step ({trial.cycles_provenance})", "")
