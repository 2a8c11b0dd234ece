"""What a step costs, by network, method and board: time, energy, SRAM, and the accuracy that it buys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hil.quantity import Quantity
from hil.record import TrialRecord, quantities
from hil.record.clients import clients
from hil.report.budgets import BudgetRow, budget_rows
from hil.report.formats import in_unit
from hil.report.overview import kind_of


@dataclass(frozen=True)
class CostColumn:
    """A figure of the table: where the record has it, in which unit it is written, and what is said without it.

    `budgets` are the names of the budgets that are shown beside it.
    """

    name: str
    path: str
    unit: str
    scale: float  # of the unit, in that of the record
    missing: str
    budgets: tuple[str, ...]


COLUMNS = (
    CostColumn("time a step", "step_time_s", "ms", 1e-3, "not measured", ("step_time", "latency")),
    CostColumn("energy a step", "energy.per_step", "mJ", 1e-3, "not measured", ("energy_per_step",)),
    CostColumn("SRAM", "sram.total", "KiB", 1024, "not counted", ("sram",)),
    CostColumn("accuracy", "accuracy.after", "%", 0.01, "not counted", ("accuracy",)),
)


@dataclass(frozen=True)
class CostCell:
    """A figure over the trials of a row.

    Attributes:
        column: which one.
        figures: of the trials that have it, the smallest first.
        budget: the one with the smallest margin; None if none is set.
    """

    column: CostColumn
    figures: tuple[Quantity, ...]
    budget: BudgetRow | None

    @property
    def text(self) -> str:
        """The value in the unit of the column, with its standard uncertainty; of several trials the range."""
        values = [in_unit(one.value, self.column.scale) for one in (self.figures[0], self.figures[-1])]
        if values[0] != values[1]:
            return " to ".join(values)
        one = self.figures[0]
        return in_unit(one.value, self.column.scale, one.uncertainty if len(self.figures) == 1 else None)

    @property
    def words(self) -> tuple[str, ...]:
        """The provenances, each once."""
        return tuple(dict.fromkeys(one.provenance.value for one in self.figures))

    @property
    def limit(self) -> str:
        """The budget in the unit of the column; empty without one."""
        known = self.budget is not None and self.budget.gate["limit"] is not None
        return in_unit(self.budget.gate["limit"], self.column.scale) if known else ""  # type: ignore[union-attr, arg-type]  # known


@dataclass(frozen=True)
class CostRow:
    """The trials of one network, method, variant, batch and board on one reality, with their figures."""

    trials: tuple[TrialRecord, ...]
    formats: str  # number formats of a named network; empty for a network of the user's own
    cells: tuple[CostCell, ...]


def cost_rows(trials: Sequence[TrialRecord]) -> list[CostRow]:
    """Return the rows in the order of their names. Trials that differ in data, seed or steps share a row."""
    groups: dict[tuple[object, ...], list[TrialRecord]] = {}
    for trial in trials:
        groups.setdefault(kind_of(trial), []).append(trial)
    ordered = sorted(groups.values(), key=lambda group: _names(group[0]))
    return [CostRow(tuple(group), _formats(group[0]), _cells(group)) for group in ordered]


def _formats(trial: TrialRecord) -> str:
    """Return the number formats of the network of a trial; empty if no client knows it."""
    return next((words for client in clients() if (words := client.formats(trial))), "")


def _names(trial: TrialRecord) -> tuple[str, ...]:
    return trial.network, trial.method, trial.variant, trial.board, trial.reality or "", f"{trial.batch:09}"


def _cells(trials: Sequence[TrialRecord]) -> tuple[CostCell, ...]:
    found = [quantities(trial) for trial in trials]
    budgets = budget_rows(trials)
    cells = []
    for column in COLUMNS:
        figures = sorted((one[column.path] for one in found if column.path in one), key=lambda one: one.value)
        tightest = next((row for row in budgets if row.gate["name"] in column.budgets), None)
        cells.append(CostCell(column, tuple(figures), tightest))
    return tuple(cells)
