"""The table below the loss curve, for readers who cannot see the figure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.record.parquet import Columns
from hil.report.figures import differs, loss_a_sample

MOST_ROWS = 40


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
