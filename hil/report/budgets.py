"""The budgets of all trials of a run beside their figures, each with its margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hil.record import TrialRecord
from hil.record.gates import Gate

LEAST = ("accuracy",)  # figures whose budget is the least; that of the others is the most


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
    return (value - limit if gate["name"] in LEAST else limit - value) / abs(limit)
