"""Figures 4 to 7 of ElasticZO: memory and time of its variants in FP32 and in INT8.

Memory by the paper's equations stands beside the planned SRAM and the watermark of a board, time by phase beside the
shares of the paper's Raspberry Pi Zero 2, and both as ratios of FP32 to INT8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hil.training.experiments.costs import NOTHING, CostExperiment, RowCost, kilobytes, table_lines, training_cycles
from hil.training.experiments.paper import paper
from hil.training.methods import METHODS
from hil.training.networks import build
from hil.training.trial import TrialSpec
from hil.training.trial.lockstep_outcome import PHASES
from hil.training.trial.outcome import Outcome
from hil.training.trial.prepare import Prepared

NAME = "elasticzo-costs"
BATCHES = (32, 256)  # of the equations (figures 4 and 5)
BATCH = 32  # of the steps on the board, so that both formats do the same work
PARTS = ("forward", "backward", "perturb and update")  # of the time, as the paper groups the phases
DECLARED = paper("elasticzo").values["costs"]
ROWS = tuple(paper("elasticzo").experiments["elasticzo-table1"].rows)


@dataclass(frozen=True)
class ElasticzoCost(RowCost):
    """Memory and time of one variant in one column.

    Attributes:
        analytic: bytes by the paper's equations, by batch.
        slots: samples that the board holds at a time.
        watermark: bytes of SRAM that the board used; None if no trial passed.
        cycles: of one step by phase; None if no trial passed, empty if the board counts none.
    """

    column: str
    row: str
    equation: str
    analytic: Mapping[int, int]
    slots: int | None = None
    watermark: int | None = None
    cycles: Mapping[str, int] | None = None


class ElasticzoCosts(CostExperiment[ElasticzoCost]):
    """The costs on one board."""

    name, differences = NAME, DECLARED["differences"]

    def __init__(self, board: str) -> None:
        self.board = board

    def trial(self, cost: ElasticzoCost) -> TrialSpec:
        """Return the trial of a cell: two steps of 32 samples."""
        own = DECLARED["columns"][cost.column]
        kind = (own["network"], own["method"], own["data"])
        return TrialSpec(self.board, cost.row, *kind, batch=BATCH, steps=2, evaluate=0)

    def analysed(self) -> list[ElasticzoCost]:
        """Return what needs no board: the equations and the plan."""
        return [self.analysed_cell(column, row) for column in DECLARED["columns"] for row in ROWS]

    def analysed_cell(self, column: str, row: str) -> ElasticzoCost:
        """Return what a cell needs by equation and plan."""
        own = DECLARED["columns"][column]
        graph = build(own["network"], 1)
        found = {batch: METHODS[own["method"]].on(graph, row, batch=batch).figures.analytic() for batch in BATCHES}
        sizes = {batch: facts["bytes"] for batch, facts in found.items()}
        return self.planned(ElasticzoCost(column, row, found[BATCH]["equation"], sizes))

    def of_plan(self, prepared: Prepared) -> Mapping[str, Any]:
        """Return how many samples the board holds."""
        return {"slots": prepared.slots}

    def of_trial(self, outcome: Outcome) -> Mapping[str, Any]:
        """Return watermark and cycles."""
        last = outcome.steps[-1].cycles
        cycles = {phase: last[phase] for phase in PHASES if phase in last}
        return {"watermark": outcome.sram.total if outcome.sram else None, "cycles": cycles}

    def called(self, cost: ElasticzoCost) -> tuple[str, str, str]:
        """Return the column and the row."""
        name = f"{cost.column} {cost.row}"
        return f"{cost.column}-{cost.row}", f"{name} on {self.board}", name

    def facts(self, costs: Sequence[ElasticzoCost]) -> Mapping[str, Any]:
        """Return all cells and ratios."""
        provenance = {"analytic": "analytic", "planned": "analytic", "watermark": "by reality", "cycles": "by reality"}
        cells = [asdict(cost) | {"shares": shares(cost.cycles)} for cost in costs]
        return {
            "board": self.board, "batch": BATCH, "provenance": provenance, "cells": cells, "ratios": ratios(costs)
        }  # fmt: skip

    def tables(self, costs: Sequence[ElasticzoCost]) -> list[str]:
        """Return the tables of memory, time and ratios."""
        lines = [f"# Memory and time of ElasticZO in FP32 and INT8 (figures 4 to 7), {self.board}", ""]
        lines += ["Training memory in KB (the paper's in brackets); planned and watermark: SRAM on the board.", ""]
        heads = ("", "", "equation", "B = 32", "B = 256", "planned", "slots", "watermark", "reality")
        lines += table_lines(heads, map(_memory, costs), 3, 1)
        share = f"Share of the cycles of a step of {BATCH} samples, without digests (the paper's in brackets)."
        lines += ["", share, ""]
        lines += table_lines(("", "", *PARTS, "cycles"), map(_time, costs), 2)
        by_row = ratios(costs)
        memory, time = DECLARED["memory_ratio"], DECLARED["time_ratio"]
        lines += ["", f"FP32 divided by INT8, LeNet-5. The paper: memory {memory}, time {time}.", ""]
        rows = (
            (_title(row), *(NOTHING if value is None else f"{value:.2f}" for value in its.values()))
            for row, its in by_row.items()
        )
        return [*lines, *table_lines(("", *by_row[ROWS[0]]), rows)]


def ratios(cells: Sequence[ElasticzoCost]) -> dict[str, dict[str, float | None]]:
    """Return FP32 divided by INT8 of LeNet-5 by row: memory by the equations, planned, watermark, and time."""
    at = {(cell.column, cell.row): cell for cell in cells}
    values: dict[str, Callable[[ElasticzoCost], float | None]] = {
        f"equations, B = {batch}": lambda cost, batch=batch: cost.analytic[batch]  # type: ignore[misc]
        for batch in BATCHES
    }
    values |= {"planned": lambda cost: cost.planned, "watermark": lambda cost: cost.watermark}
    values["time"] = lambda cost: training_cycles(cost.cycles)
    found: dict[str, dict[str, float | None]] = {}
    for row in ROWS:
        pairs = {name: (value(at["fp32", row]), value(at["int8", row])) for name, value in values.items()}
        found[row] = {name: above / below if above and below else None for name, (above, below) in pairs.items()}
    return found


def shares(cycles: Mapping[str, int] | None) -> dict[str, float]:
    """Return the share of each phase as the paper groups them; empty if no cycles were counted."""
    whole = training_cycles(cycles)
    if not cycles or not whole:
        return {}
    moved = cycles.get("perturb", 0) + cycles.get("update", 0)
    parts = (cycles.get("forward", 0), cycles.get("backward", 0), moved)
    return {name: part / whole for name, part in zip(PARTS, parts, strict=True)}


def _title(row: str) -> str:
    return paper("elasticzo").experiments["elasticzo-table1"].titles[row]


def _memory(cost: ElasticzoCost) -> list[str]:
    by_batch = []
    for batch, size in cost.analytic.items():
        published = DECLARED["kb"][str(batch)][cost.row] if cost.column == "fp32" else None
        by_batch.append(kilobytes(size) + ("" if published is None else f" ({published:,.1f})"))
    reality = cost.reality if cost.verdict == "pass" and cost.reality else cost.verdict
    sizes = (*by_batch, kilobytes(cost.planned), str(cost.slots or NOTHING), kilobytes(cost.watermark))
    return [DECLARED["columns"][cost.column]["title"], _title(cost.row), cost.equation, *sizes, reality]


def _time(cost: ElasticzoCost) -> list[str]:
    """Return shares of the time; the paper's figure 7 does not have Full BP."""
    found, published = shares(cost.cycles), DECLARED["shares"].get(cost.column, {})
    entries = []
    for name in PARTS:
        theirs = published.get(name) if cost.row != "full-bp" else None
        entries.append((f"{found[name]:.1%}" if found else NOTHING) + (f" ({theirs})" if theirs else ""))
    cycles = f"{training_cycles(cost.cycles):,}" if found else NOTHING
    return [DECLARED["columns"][cost.column]["title"], _title(cost.row), *entries, cycles]
