"""Figures of training: loss, difference, accuracy, cycles by phase and layer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hil.record import TrialRecord
from hil.record.parquet import Columns, rows_of
from hil.report.style import BOARD, LIMIT, REFERENCE, STACKED, Figure, Trace, axis, styled

MOST_ROWS = 40

PHASES = ("perturb", "forward", "backward", "update", "digest")
SMOOTH_OVER = 10  # steps of the moving mean
SMOOTH_FROM = 5 * SMOOTH_OVER  # shorter runs have no moving mean
SIDES = ("board", "reference", "float")
COLUMNS = dict(zip(SIDES, ("loss", "reference_loss", "reference_float"), strict=True))


def has_queries(trial: TrialRecord) -> bool:
    """Return whether the method makes queries: its steps report the clean loss, and the sum over all queries."""
    return "queries" in trial.settings


def drawn_losses(trial: TrialRecord, steps: Columns) -> Columns:
    """Return the steps with the losses to draw. For a method with queries this is only the clean loss.

    A difference in the losses of queries is still in `match`.
    """
    if not has_queries(trial):
        return steps
    return {**steps, **{f"{name}_minus": steps[f"{name}_plus"] for name in COLUMNS.values() if f"{name}_plus" in steps}}


def loss_a_sample(steps: Columns, side: str, batch: int) -> np.ndarray:
    """Return the loss per sample for each step: the mean of both passes, divided by the batch size.

    Args:
        steps: the columns of steps.parquet; the losses are sums over the batch.
        side: `board`, `reference`, or `float` for the float losses of the reference (INT8* compares integers).
        batch: samples in a step.
    """
    loss: np.ndarray = (steps[f"{COLUMNS[side]}_plus"] + steps[f"{COLUMNS[side]}_minus"]) / (2 * batch)
    return loss


def differs(steps: Columns) -> np.ndarray:
    """Return which steps differ, in a tensor (`match`) or in a loss; two NaN losses are equal."""
    wrong: np.ndarray = ~steps["match"].astype(bool)
    for name in ("loss_plus", "loss_minus"):
        board, reference = steps[name], steps[f"reference_{name}"]
        wrong |= (board != reference) & ~(np.isnan(board) & np.isnan(reference))
    return wrong


def loss_curve(steps: Columns, batch: int, integers: bool = False) -> Figure:
    """Draw the loss of each step: one line if board and reference are equal, else both lines and the steps that differ.

    A long run has a moving mean, unless a step differs, because the mean would hide it. If the method compares integer
    losses (INT8*), the reference's float losses are drawn. There is at least one step.
    """
    wrong = differs(steps)
    if integers:
        lines = _one_line(steps["step"], loss_a_sample(steps, "float", batch), "reference, in floats", REFERENCE)
    elif wrong.any():
        lines = _two_lines(steps, wrong, batch)
    else:
        lines = _one_line(steps["step"], loss_a_sample(steps, "board", batch), "board = reference", BOARD)
    every_step = {"dtick": 1} if rows_of(steps) <= SMOOTH_OVER else {}
    return styled(lines, 320, axis("step", **every_step), "loss a sample")


def _line(x: np.ndarray, y: np.ndarray, name: str, mode: str, **more: Any) -> Trace:
    return {"type": "scatter", "x": x, "y": y, "name": name, "mode": mode} | more


def _one_line(step: np.ndarray, loss: np.ndarray, name: str, colour: str) -> list[Trace]:
    smooth = len(step) >= SMOOTH_FROM
    mode = "lines" if smooth else "lines+markers"
    line: dict[str, Any] = {"color": colour, "width": 1 if smooth else 3}
    lines = [_line(step, loss, name, mode, line=line, opacity=0.45 if smooth else 1.0)]
    if smooth:
        mean = np.full(len(loss), np.nan)  # where there are fewer steps before
        mean[SMOOTH_OVER - 1 :] = np.convolve(loss, np.ones(SMOOTH_OVER) / SMOOTH_OVER, mode="valid")
        line = {"color": colour, "width": 3.5}
        lines.append(_line(step, mean, f"mean of {SMOOTH_OVER} steps", "lines", line=line))
    return lines


def _two_lines(steps: Columns, wrong: np.ndarray, batch: int) -> list[Trace]:
    mode = "lines" if rows_of(steps) > 1 else "markers"
    styles = ({"color": BOARD, "width": 4}, {"color": REFERENCE, "width": 2, "dash": "dash"})
    lines = [
        _line(steps["step"], loss_a_sample(steps, side, batch), side, mode, line=line)
        for side, line in zip(("board", "reference"), styles, strict=True)
    ]
    loss = loss_a_sample(steps, "board", batch)[wrong]
    cross = {"color": LIMIT, "size": 11, "symbol": "x"}
    return [*lines, _line(steps["step"][wrong], loss, "differs", "markers", marker=cross)]


def difference(steps: Columns, batch: int) -> Figure:
    """Draw the loss of the board minus that of the reference, per sample."""
    difference_per_sample = loss_a_sample(steps, "board", batch) - loss_a_sample(steps, "reference", batch)
    line = {"color": LIMIT, "width": 2}
    points = _line(steps["step"], difference_per_sample, "board − reference", "lines+markers", line=line)
    return styled([points], 220, "step", "difference")


def accuracy_points(evaluations: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the accuracy on the test images, each point with the binomial standard error of its n images."""
    marks = (("board", BOARD, "circle", 10), ("reference", REFERENCE, "circle-open", 17))
    sides = []
    for side, colour, symbol, size in marks:
        points = [point for point in evaluations if point[side] is not None]
        error = [100 * math.sqrt(point[side] * (1 - point[side]) / point["n"]) for point in points]
        sides.append({
            "type": "scatter", "x": [point["step"] for point in points], "y": [100 * point[side] for point in points],
            "name": side, "mode": "markers",
            "marker": {"color": colour, "symbol": symbol, "size": size, "line": {"width": 2}},
            "error_y": {"type": "data", "array": error, "color": colour, "thickness": 2, "width": 6},
        })  # fmt: skip
    return styled(sides, 240, "after step", axis("% right", range=[0, 100]))


def cycle_bars(trial: TrialRecord) -> Figure:
    """Draw the mean cycles of a step by phase."""
    bars = _bars({phase: trial.cycles[phase] for phase in PHASES}, BOARD)
    return styled([bars], 240, f"cycles a step ({trial.cycles_provenance})", axis("", autorange="reversed"))


def layer_bars(trial: TrialRecord) -> Figure:
    """Draw the cycles of the first compared step by layer, forward and backward."""
    profile: Mapping[str, Any] = trial.profile or {}
    directions = (("forward", BOARD), ("backward", REFERENCE))
    bars = [_bars(profile[direction], colour) | {"name": direction} for direction, colour in directions]
    height = 120 + 26 * len(profile["forward"])
    words = f"cycles a step ({trial.cycles_provenance})"
    return styled(bars, height, words, axis("", autorange="reversed"), **STACKED)


def _bars(lengths: Mapping[str, float], colour: str) -> Trace:
    x, y = list(lengths.values()), list(lengths)
    return {"type": "bar", "x": x, "y": y, "orientation": "h", "marker": {"color": colour}}


@dataclass(frozen=True)
class LossRow:
    """Mean loss per sample over the steps `first` to `last`, None if unknown; `alike` if no step differs."""

    first: int
    last: int
    board: float | None
    reference: float | None
    alike: bool


def loss_rows(steps: Columns, batch: int, integers: bool = False) -> list[LossRow]:
    """Return a row for each step, or for every few steps of a long run. There is at least one step.

    If the method compares integer losses (INT8*), only the float losses of the reference are shown.
    """
    wrong = differs(steps)
    board = None if integers else loss_a_sample(steps, "board", batch).astype(float)
    reference = loss_a_sample(steps, "float" if integers else "reference", batch).astype(float)
    number = steps["step"]
    rows = []
    for part in np.array_split(np.arange(len(number)), min(len(number), MOST_ROWS)):
        mean = None if board is None else float(board[part].mean())
        alike = not wrong[part].any()
        rows.append(LossRow(int(number[part[0]]), int(number[part[-1]]), mean, float(reference[part].mean()), alike))
    return rows
