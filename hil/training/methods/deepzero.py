"""DeepZero: one coordinate at a time (docs/arithmetic-zeroth-order.md, section 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hil.errors import Blocked
from hil.training.methods.figures import StepWork
from hil.training.methods.graph_figures import GraphFigures
from hil.training.methods.graph_method import GraphMethod
from hil.training.methods.graph_plan import GraphPlan

MOST_COORDINATES = 1 << 17  # there is a forward pass for each: LeNet-5 has 107,786


class DeepZeroPlan(GraphPlan):
    """The plan: coordinates have buffers."""

    coordinate_wise = True


class DeepZeroFigures(GraphFigures):
    """The figures: each coordinate has a pass."""

    def layer_passes(self, index: int) -> int:
        """Return the coordinates of a trained layer."""
        return self.plan.settings.coordinates(self.plan.network.layers[index])

    def work(self) -> StepWork | None:
        """Return the passes of a step; None where it draws its coordinates."""
        return None if self.plan.settings.sparsity else self.step_work()

    def least_update(self) -> int:
        """Return the least cycles of the phase update, where draws decide how many coordinates change."""
        return 1


@dataclass(frozen=True)
class DeepZero(GraphMethod):
    """The method."""

    name = "deepzero"
    loop = "deepzero"
    reference = "hil.training.reference.methods.deepzero:DeepZeroReference"
    plan_of = DeepZeroPlan
    figures_of = DeepZeroFigures
    default_variant = "dense"
    variants: ClassVar[Mapping[str, Any]] = {
        "dense": {},
        "sparse": {"sparsity": 230},
        "last-sparse": {"sparsity": 230, "train": "last"},
    }
    cell: ClassVar[Mapping[str, Any]] = {"batch": 1, "steps": 1}  # one step is long

    def check(self, variant: str) -> None:
        """Raise Blocked for more coordinates than a step can try."""
        coordinates = sum(tensor.elements for tensor in self.plan.tensors)
        if coordinates > MOST_COORDINATES:
            raise Blocked(
                "plan",
                f"{self.name} {variant} makes a forward pass for each coordinate, of which {self.network.name} has "
                f"{coordinates:,}, more than {MOST_COORDINATES:,}: choose last-sparse, or a smaller network.",
            )
