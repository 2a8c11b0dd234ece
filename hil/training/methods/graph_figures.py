"""The figures of the methods that train graphs (docs/arithmetic-zeroth-order.md, section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hil.training.graph.graph import inference_peak
from hil.training.methods.figures import CountedFigures, LeastCycles, StepWork, least_forward, least_moves
from hil.training.methods.graph_plan import GraphPlan

LARGEST_AT_REST = 126  # magnitude of a trained weight between steps


@dataclass(frozen=True)
class GraphFigures(CountedFigures):
    """The figures of layer-wise training by perturbed weights, as Poor Man's Training has them."""

    plan: GraphPlan

    def remarks(self) -> tuple[str, ...]:
        """Say how many trained weights the first step clips (docs/arithmetic-zeroth-order.md, section 2)."""
        plan = self.plan
        weights = [plan.network.own[index].weights for index in plan.trained if plan.settings.trains_weights]
        beyond = sum(int((np.abs(one) > LARGEST_AT_REST).sum()) for one in weights)
        if not beyond:
            return ()
        return (
            f"{beyond:,} of {sum(one.size for one in weights):,} trained weights of the file "
            f"are {LARGEST_AT_REST + 1} or -{LARGEST_AT_REST + 1}: the first step clips them to +-{LARGEST_AT_REST}, "
            "where weights rest in training.",
        )

    def step_work(self) -> StepWork:
        """Count the work of a step of `settings.batch` samples (docs/arithmetic-zeroth-order.md, section 7).

        The sparse form of DeepZero draws its coordinates; all of them are counted here.
        """
        plan, settings = self.plan, self.plan.settings
        runs = [1] * len(plan.layers)
        if plan.liveness.layerwise:
            starts = sorted({plan.liveness.first(index) for index in plan.trained})
            for start, following in zip(starts, [*starts[1:], 0], strict=True):
                self._layerwise(start, following, runs)
        else:
            runs = [1 + settings.sides * settings.queries] * len(runs)
            for index in range(max(plan.by_nodes, default=-1) + 1):
                runs[index] += 1
        return StepWork.of(plan.network, [settings.batch * each for each in runs])

    def _layerwise(self, start: int, following: int, runs: list[int]) -> None:
        """Add the runs of one start: the queries of its layers, and the way to the following start."""
        plan, behind = self.plan, start + (start in self.plan.by_nodes)
        if start in plan.by_nodes:
            runs[start] += 1
        for index in (index for index in plan.trained if plan.liveness.first(index) == start):
            passes = self.layer_passes(index)
            for later in range(behind, len(runs)):
                runs[later] += passes
        for later in range(behind, following):
            runs[later] += 1

    def layer_passes(self, index: int) -> int:
        """Return the perturbed passes for a trained layer and sample."""
        return self.plan.settings.sides * self.plan.settings.queries

    def parameter_bytes(self) -> int:
        """Return the bytes of the trained parameters."""
        return sum(tensor.size for tensor in self.plan.tensors)

    def training_bytes(self) -> int:
        """Return PMT's memory (section 4.3).

        It is the trained parameters (weights int8, biases int32), the peak of inference (input and output of a layer
        with what a residual holds), seeds and losses, and the gradient of the largest layer trained by nodes, in 8 bits
        as PMT's in-place swap has it.
        """
        network, queries = self.plan.network, self.plan.settings.queries
        by_nodes = max((network.layers[index].weight_count for index in self.plan.by_nodes), default=0)
        return self.parameter_bytes() + inference_peak(network) + 8 * queries + by_nodes

    def weights_by_zo(self) -> int:
        """Return the weights of the layers that zeroth order trains."""
        return sum(self.plan.network.layers[index].weight_count for index in self.plan.trained)

    def formula(self) -> dict[str, Any]:
        """Return what PMT counts (section 4.3, memory cost): parameters, the peak of inference, a gradient."""
        return {"equation": "PMT, section 4.3", "bytes": self.training_bytes()}

    def least_runs(self) -> Sequence[int]:
        """Return how often each layer runs in a step at least: once a sample, in the clean pass."""
        return (self.plan.settings.batch,) * len(self.plan.layers)

    def least_perturb(self) -> int | None:
        """Return the least cycles of the phase perturb."""
        return 1

    def least_update(self) -> int | None:
        """Return the least cycles of the phase update: every trained number is updated."""
        return least_moves(sum(tensor.elements for tensor in self.plan.tensors))

    def least_cycles(self) -> LeastCycles:
        """Every pass of every layer. In a chain that runs row by row the last layer has the cycles of all."""
        pairs = zip(self.plan.network.layers, self.least_runs(), strict=True)
        forward = [1 if self.plan.settings.fused else least_forward(layer, runs) for layer, runs in pairs]
        return LeastCycles.of(forward, self.least_perturb(), 1, self.least_update())
