"""TinyTrain: the board chooses the layers and channels that it back-propagates to (docs/arithmetic-tinytrain.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from hil.training.methods.figures import StepWork
from hil.training.methods.graph_settings import LIMITS, GraphSettings
from hil.training.methods.int8_bp import BpFigures, BpPlan, BpRequest, Int8Bp
from hil.training.methods.tinytrain_costs import NUMBER_BYTES, Costs, bytes_a_number

MOMENTUM = {"momentum": 0.9}


class TinyTrainPlan(BpPlan):
    """The plan, with room for any choice."""

    @cached_property
    def costs(self) -> Costs:
        """What may be chosen, and what it costs.

        Raises:
            RigError: a pool that errors cannot be handed through.
        """
        return Costs(self.network, self.settings)

    def gradient_buffers(self) -> Iterator[tuple[str, int]]:
        """Yield the information of each candidate's channels, and room for gradients and velocities of any choice."""
        candidates = self.costs.candidates
        for index, candidate in candidates.items():
            yield f"fisher[{index}]", NUMBER_BYTES * candidate.channels
        selected = min(self.settings.memory_budget, sum(candidate.size for candidate in candidates.values()))
        if selected:
            yield "selected", selected


class TinyTrainRequest(BpRequest):
    """The request: the choice is kept from step to step."""

    def kept_state(self, settings: GraphSettings) -> tuple[str, str]:
        """Return the choice, which cannot be turned off."""
        return "the choice of layers and channels", "use int8-bp, whose layers do not depend on samples"

    def ranking_steps(self, settings: GraphSettings) -> int:
        """Return the steps that rank."""
        return settings.ranking

    def fault_of_steps(self, settings: GraphSettings, steps: int) -> str:
        """Name both numbers if all steps rank."""
        if steps > settings.ranking:
            return ""
        return (
            f"all {steps} steps rank with ranking = {settings.ranking}, and none trains: choose more steps than that."
        )


@dataclass(frozen=True)
class TinyTrainFigures(BpFigures):
    """The figures: the most that a choice may take."""

    plan: TinyTrainPlan

    def step_work(self) -> StepWork:
        """Return the most that a trained step may take: the work budget, and errors down to the first trained layer."""
        batch, costs = self.plan.settings.batch, self.plan.costs
        return StepWork(costs.step_work(batch, None).runs, batch * (self.plan.network.macs + costs.most_work))

    def work(self) -> None:
        """Return None: samples decide how far the errors go."""

    def step_macs(self) -> int:
        """Return the most multiply-accumulates of a step, whether it ranks or trains."""
        return max(self.step_work().macs, self.plan.costs.step_work(self.plan.settings.batch, None).macs)

    def least_update(self) -> None:
        """Return None: a ranking step updates nothing."""


@dataclass(frozen=True)
class TinyTrain(Int8Bp):
    """The method: back-propagation whose first steps rank layers and channels; the budgets then decide."""

    name = "tinytrain"
    docs = "docs/arithmetic-tinytrain.md"
    loop = "tinytrain"
    reference = "hil.training.reference.methods.tinytrain:TinyTrainReference"
    plan_of = TinyTrainPlan
    request_of = TinyTrainRequest
    figures_of = TinyTrainFigures
    default_variant = "budget"
    variants: ClassVar[Mapping[str, Any]] = {
        "budget": MOMENTUM,
        "whole": MOMENTUM | {name: LIMITS[name][1] for name in ("memory_budget", "work_budget", "channels")},
    }
    cell: ClassVar[Mapping[str, Any]] = {"batch": 2, "steps": 3}  # the first step ranks, and moves nothing

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is kept of a trained number: with nothing, all layers are within every memory budget."""
        return {**super().facts, "bytes_a_number": bytes_a_number(self.settings)}

    def check(self, variant: str) -> None:
        """Raise RigError for a pool that errors cannot be handed through, or budgets that no layer fits."""
        Costs(self.network, self.settings).check()
