"""The gates of a trial: the budgets that apply to it, its figures, and what may be said of them."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from hil import boards
from hil.boards import Board
from hil.energy.uncertainty import coverage_factor, effective_dof
from hil.energy.window_planning import more_windows
from hil.gates import NO_HISTORY, Budgets, FigureGate, Judgement, More, NoMedian, judge, nearest, parse_budgets
from hil.gates.judgement import COVERAGE
from hil.history.earlier import median_of_nights
from hil.quantity import Provenance, Quantity, share
from hil.training.data.names import public_name
from hil.training.trial.kept import RAM
from hil.training.trial.latency_counts import total_figures
from hil.training.trial.spec import OF_TEST

if TYPE_CHECKING:
    from hil.training.trial.outcome import Outcome

IDENTITY = ("board", "method", "variant", "batch", "seed", "steps", "keep")  # of the trial's specification


def budgets_of(outcome: Outcome) -> dict[str, list[FigureGate]]:
    """Return the budgets of a trial: those of the test, else those of rig.toml, else those of the catalogue."""
    spec, prepared = outcome.spec, outcome.prepared
    scope = prepared.method.figures.budget_scope() if prepared else str(spec.settings.get("scope", "sample"))
    catalogue = catalogue_budgets(boards.load(spec.board), spec.variant, spec.batch, scope, spec.keep)
    return nearest(parse_budgets(spec.budgets, OF_TEST), outcome.budgets, catalogue)


def catalogue_budgets(board: Board, variant: str, batch: int, scope: str, keep: str | None = None) -> Budgets:
    """Return the budgets of the catalogue for a variant, as `Board.sram_budget` and `Board.latency_budget_ms`.

    The SRAM of the catalogue is that of a training; it is no budget of samples that stay in RAM (`keep`).
    """
    sram = board.sram_budget(variant, batch, scope) if keep != RAM else None
    milliseconds = board.latency_budget_ms(variant, batch, scope)
    limits = {"sram": sram, "latency": None if milliseconds is None else milliseconds / 1e3}
    return {
        name: [FigureGate(name, _catalogue(board.name), limit)] for name, limit in limits.items() if limit is not None
    }


def _catalogue(board: str) -> str:
    """Return where a budget of the catalogue is written."""
    return f"of {board}"


def judged(outcome: Outcome) -> list[Judgement]:
    """Return every budget of a trial with what may be said of its figure."""
    found = figures_of(outcome)
    coverage, more = {}, {}
    if outcome.energy is not None:
        coverage["energy_per_step"] = coverage_factor(effective_dof(outcome.energy.contributions))
        more["energy_per_step"] = More("energy windows", partial(more_windows, outcome.energy))
    if "accuracy" in found:
        more["accuracy"] = More("test images", partial(_more_images, found["accuracy"].value, outcome.evaluated))
    return [
        judge(
            gate, found.get(gate.name), coverage.get(gate.name, COVERAGE),
            _median(outcome, gate, found.get(gate.name)), more.get(gate.name),
        )
        for gates in budgets_of(outcome).values()
        for gate in gates
        if gate.name in found or gate.source != _catalogue(outcome.spec.board)  # nobody asked for the catalogue's
    ]  # fmt: skip


def figures_of(outcome: Outcome) -> dict[str, Quantity]:
    """Return the figures that may have a budget, as the record has them (hil/record/trial_quantities.py).

    If two sources of a figure differ, no time and no energy of the trial is judged: it fails anyway.
    """
    compared, found = outcome.compared, dict[str, Quantity]()
    if compared is None:
        return found
    if compared.sram is not None:
        found["sram"] = Quantity(compared.sram.total, "B", Provenance.COUNTED)
    if compared.after is not None:
        found["accuracy"] = share(compared.after.board, compared.evaluated)
    if outcome.figures.wrong:
        return found
    if compared.steps:
        word = Provenance.MEASURED if compared.reality == "hardware" else Provenance.MODELLED
        found["step_time"] = Quantity(compared.mean_cycles()["total"] / compared.clock_hz, "s", word)
    latency, energy = compared.latency, compared.energy
    if latency is not None and latency.steps:
        p99 = total_figures(latency, compared.prepared.method.figures.bookings()).p99
        found["latency"] = Quantity(p99 / compared.clock_hz, "s", latency.provenance)
    if energy is not None:
        found["energy_per_step"] = Quantity(energy.per_step, "J", Provenance(energy.provenance), energy.uncertainty)
    return found


def _median(outcome: Outcome, gate: FigureGate, value: Quantity | None) -> Quantity | NoMedian:
    earlier = outcome.earlier
    return (
        NO_HISTORY
        if earlier is None
        else median_of_nights(gate, value, lambda: earlier(identity(outcome), gate.figure.path))
    )


def identity(outcome: Outcome) -> dict[str, Any]:
    """Return the fields of the record that say which trial it is: nights of the same fields are comparable.

    The history makes the subject of a series of the same fields (`hil.history.rows.subject_columns`).
    """
    spec, prepared = outcome.spec, outcome.prepared
    return {name: getattr(spec, name) for name in IDENTITY} | {
        "network": spec.network_name,
        "data": public_name(spec.data),
        "reality": outcome.reality,
        "settings": asdict(prepared.settings) if prepared is not None else {},
        "slots": prepared.slots if prepared is not None else None,
        "schedule": [{"step": first, **changes} for first, changes in spec.schedule],
    }


def _more_images(p: float, n: int, half: float) -> int:
    """Return how many more than n images bring the interval of accuracy p below a half-width, by the root."""
    return max(1, math.ceil(COVERAGE**2 * p * (1 - p) / half**2) - n)
