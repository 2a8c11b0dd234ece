"""The table behind the loss curve: the same figures for who does not see it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hil.report.figures import differs, loss_a_sample

MOST_ROWS = 40


@dataclass(frozen=True)
class LossRow:
    """Mean loss a sample over the steps `first` to `last`; None where a side has none. `alike`: no step of them differs."""

    first: int
    last: int
    board: float | None
    reference: float | None
    alike: bool


def loss_rows(steps: pd.DataFrame, batch: int, integers: bool = False) -> list[LossRow]:
    """Return a row a step, or a row for every few steps of a long run.

    Args:
        steps: the columns of steps.parquet, at least one row.
        batch: samples a step.
        integers: the method compares integers (INT8*): the reference's float losses, and none of the board.
    """
    wrong = differs(steps).to_numpy()
    board = None if integers else loss_a_sample(steps, "board", batch).to_numpy(float)
    reference = loss_a_sample(steps, "float" if integers else "reference", batch).to_numpy(float)
    number = steps["step"].to_numpy()
    rows = []
    for part in np.array_split(np.arange(len(steps)), min(len(steps), MOST_ROWS)):
        mean = None if board is None else float(board[part].mean())
        alike = not wrong[part].any()
        rows.append(LossRow(int(number[part[0]]), int(number[part[-1]]), mean, float(reference[part].mean()), alike))
    return rows
