"""The figures of methods of forward passes alone: every layer of every sample runs in every pass of a step."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from hil.training.graph.graph import inference_peak
from hil.training.methods.figures import CountedFigures, LeastCycles, StepWork, least_forward, least_moves
from hil.training.methods.forward_plan import ForwardPlan
from hil.training.methods.request import MethodRequest


@dataclass(frozen=True)
class ForwardRequest(MethodRequest):
    """The request: a batch that comes in parts goes through the board once for every pass."""

    plan: ForwardPlan

    def passes(self) -> int:
        """As often as a step has passes."""
        return self.plan.passes


@dataclass(frozen=True)
class ForwardFigures(CountedFigures):
    """The figures; `EQUATION` names the formula of memory."""

    EQUATION: ClassVar[str]

    plan: ForwardPlan

    @abstractmethod
    def moved(self) -> int:
        """Return how many numbers every pass moves for certain."""

    @property
    def runs(self) -> int:
        """Runs of each layer in a step."""
        return self.request.passes() * int(self.plan.settings.batch)

    def step_work(self) -> StepWork:
        """Return the passes of a step: every layer of every sample in each."""
        return StepWork.of(self.plan.network, [self.runs] * len(self.plan.layers))

    def formula(self) -> dict[str, Any]:
        """Return the memory beyond the samples: the peak of inference, trained tensors, and directions."""
        trained = sum(size for _, size in self.plan.trained_bytes())
        return {
            "equation": self.EQUATION,
            "bytes": inference_peak(self.plan.network) + trained + self.plan.direction_bytes,
        }

    def weights_by_zo(self) -> int:
        """Return the elements of all trained tensors."""
        return sum(tensor.elements for tensor in self.plan.tensors)

    def least_cycles(self) -> LeastCycles:
        """Every pass of every layer; each pass moves weights, and the step updates them."""
        moved = self.moved()
        return LeastCycles.of(
            [least_forward(layer, self.runs) for layer in self.plan.network.layers],
            perturb=least_moves(moved, self.request.passes()),
            backward=0,
            update=least_moves(moved),
        )
