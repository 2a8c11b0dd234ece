"""SPSA: one two-sided query a step, with one direction for all samples (docs/arithmetic-spsa.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hil.training.methods.figures import StepWork
from hil.training.methods.graph_figures import GraphFigures
from hil.training.methods.graph_method import GraphMethod, GraphRequest
from hil.training.methods.graph_plan import GraphPlan

SIDES = 2


class SpsaPlan(GraphPlan):
    """The plan: the gradient follows from the sums of the losses."""

    @property
    def sums_gradients(self) -> bool:
        """Whether the gradients of a step's samples are summed: no."""
        return False


class SpsaRequest(GraphRequest):
    """The request: a batch goes through the board for each side of the query."""

    def passes(self) -> int:
        """One for each side of the query."""
        return SIDES


class SpsaFigures(GraphFigures):
    """The figures: each layer runs once a sample and side."""

    def least_runs(self) -> Sequence[int]:
        """Return how often each layer runs in a step."""
        return (SIDES * self.plan.settings.batch,) * len(self.plan.layers)

    def step_work(self) -> StepWork:
        """Count the work of a step of `settings.batch` samples."""
        return StepWork.of(self.plan.network, self.least_runs())


@dataclass(frozen=True)
class Spsa(GraphMethod):
    """The method."""

    name = "spsa"
    docs = "docs/arithmetic-spsa.md"
    loop = "spsa"
    reference = "hil.training.reference.methods.spsa:Spsa"
    plan_of = SpsaPlan
    request_of = SpsaRequest
    figures_of = SpsaFigures
    default_variant = "all"
    variants: ClassVar[Mapping[str, Any]] = {"all": {}, "last": {"train": "last"}}
    cell: ClassVar[Mapping[str, Any]] = {"batch": 1, "steps": 2, "settings": {}}
