"""The budgets of all trials of a run beside their figures, each with its margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hil.gates import FIGURES
from hil.record import TrialRecord
from hil.record.gates import Gate


@dataclass(frozen=True)
class BudgetRow:
    """A budget of a trial; `margin` is the room to the limit over the limit, below 0 beyond it; None without both."""

    trial: TrialRecord
    gate: Gate
    margin: float | None


def budget_rows(trials: Sequence[TrialRecord]) -> list[BudgetRow]:
    """Return the budgets of the trials, those with the least margin first and those without one last."""
    rows = [BudgetRow(trial, gate, _margin(gate)) for trial in trials for gate in trial.gates]
    return sorted(rows, key=lambda row: (row.margin is None, row.margin or 0.0))


def _margin(gate: Gate) -> float | None:
    value, limit = gate["value"], gate["limit"]
    if value is None or not limit:
        return None
    figure = FIGURES.get(gate["name"])  # a record may name one that this version does not know
    return (limit - value if figure is None or figure.upper else value - limit) / abs(limit)
