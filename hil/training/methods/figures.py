"""What is known of a step without a board: the third of the three interfaces of a method.

The least cycles are products of layers, divided by the most products of a core in a cycle. A Cortex-M4, M33 or M7
computes two products of 16 bits in one instruction (SMLAD; ARM DDI 0403E.e, A7.7.130), one such instruction in a cycle;
the kernels for a Cortex-M0+ have at most two in one product of 32 bits. Taps in the padding may be skipped and are not
counted, nor are products of floats: those with a factor 0 may be left out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node
from hil.training.methods.plan import MethodPlan
from hil.training.methods.request import MethodRequest

PRODUCTS_A_CYCLE = 2
WEIGHTS_A_WORD = 4
WORDS_A_CYCLE = 2  # that a core loads or stores at most
Bookings = tuple[dict[str, int], tuple[list[int], list[int]]]  # a step's, by phase, and by layer forward and backward


@dataclass(frozen=True)
class StepWork:
    """Runs of each layer in a step, forward and backward, and the multiply-accumulates of all (PMT, section 4.3)."""

    runs: tuple[int, ...]
    macs: int

    @property
    def layer_runs(self) -> int:
        """All runs of all layers."""
        return sum(self.runs)

    @classmethod
    def of(cls, graph: Graph, runs: Sequence[int]) -> StepWork:
        """Return the work of forward runs."""
        return cls(tuple(runs), sum(each * layer.macs for each, layer in zip(runs, graph.layers, strict=True)))


@dataclass(frozen=True)
class LeastCycles:
    """Least cycles of a step.

    Attributes:
        forward: by layer.
        phases: by phase; 0 if the method never uses the phase, so that it takes no cycles; None if it may be unused.
    """

    forward: tuple[int, ...]
    phases: Mapping[str, int | None]

    @classmethod
    def of(cls, forward: Sequence[int], perturb: int | None, backward: int, update: int | None) -> LeastCycles:
        """Return those of layers forward and of the other phases."""
        phases = {"perturb": perturb, "forward": sum(forward), "backward": backward, "update": update}
        return cls(tuple(forward), phases)


@dataclass(frozen=True)
class MethodFigures(ABC):
    """What is known of a step; `request` says how often a batch goes through the board."""

    plan: MethodPlan
    request: MethodRequest

    @abstractmethod
    def analytic(self) -> dict[str, Any]:
        """Return what the paper's formulas give."""

    @abstractmethod
    def least_cycles(self) -> LeastCycles:
        """Return the fewest cycles that a step takes on any core."""

    @abstractmethod
    def step_macs(self) -> int:
        """Return the multiply-accumulates of a step, the most where draws or data decide."""

    def work(self) -> StepWork | None:
        """Return the passes of a step; None where draws or data decide how many, or the board counts none."""
        return None

    def bookings(self) -> Bookings | None:
        """Return how often a step books cycles (docs/performance.md); None where the board counts the bookings."""
        return None

    def remarks(self) -> tuple[str, ...]:
        """Return sentences for the warnings of a record."""
        return ()

    def integers_only(self) -> bool:
        """Return whether the sign of a step comes from integers alone (INT8*)."""
        return False

    def budget_scope(self) -> str:
        """Return the exponent scope whose budgets hold (the catalogue's `budget`); empty where there are none."""
        return ""


class CountedFigures(MethodFigures):
    """The figures of a method whose passes the board counts."""

    @abstractmethod
    def step_work(self) -> StepWork:
        """Return the passes of a step, the most where draws or data decide."""

    @abstractmethod
    def formula(self) -> dict[str, Any]:
        """Return `equation`, where the paper has its formula of memory, and `bytes`, which it gives, and its terms."""

    @abstractmethod
    def weights_by_zo(self) -> int:
        """Return how many numbers zeroth order trains."""

    def weights(self) -> int:
        """Return the weights of the network, without biases."""
        return sum(layer.weight_count for layer in self.plan.network.layers)

    def work(self) -> StepWork | None:
        """Return the passes of a step."""
        return self.step_work()

    def step_macs(self) -> int:
        """Return the multiply-accumulates of all passes of a step."""
        return self.step_work().macs

    def analytic(self) -> dict[str, Any]:
        """Return what the paper's formulas give: memory, multiply-accumulates, layer runs and weights."""
        work = self.step_work()
        return self.formula() | {
            "macs_forward": self.plan.network.macs,
            "macs_step": work.macs,
            "layer_runs": work.layer_runs,
            "weights": self.weights(),
            "weights_by_zo": self.weights_by_zo(),
        }


def products_inside(layer: Node) -> int:
    """Return the products of one pass with taps inside the input."""
    if not layer.macs or not layer.kernel[0]:
        return layer.macs
    inside = share = 1
    for axis in (0, 1):
        taps = [
            at * layer.stride[axis] - layer.pad[axis] + tap
            for at in range(layer.out_shape[axis])
            for tap in range(layer.kernel[axis])
        ]
        inside *= sum(0 <= tap < layer.in_shape[axis] for tap in taps)
        share *= len(taps)
    return layer.macs * inside // share


def least_forward(layer: Node, runs: int) -> int:
    """Return the least cycles of `runs` passes of a layer; in `float32` values are read and written."""
    if layer.format is Format.FLOAT32:
        return max(1, runs * (layer.in_size + layer.out_size) // WORDS_A_CYCLE)
    return max(1, runs * products_inside(layer) // PRODUCTS_A_CYCLE)


def least_moves(weights: int, times: int = 1) -> int:
    """Return the least cycles to update `weights` int8 weights: one for each stored word of 32 bits."""
    return max(1, times * weights // WEIGHTS_A_WORD)
