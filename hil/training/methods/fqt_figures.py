"""The figures of FQT (docs/arithmetic-fqt.md, section 10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hil.training.graph.file import file_size
from hil.training.graph.graph import Graph
from hil.training.methods.backward_pass import BackwardPass
from hil.training.methods.figures import CountedFigures, LeastCycles, StepWork, least_forward, least_moves
from hil.training.methods.fqt_plan import FqtPlan, segments


@dataclass(frozen=True)
class FqtFigures(CountedFigures):
    """The figures of a forward pass and a backward pass for each sample."""

    plan: FqtPlan

    def step_work(self) -> StepWork:
        """Return the work of a step in which all channels take part."""
        return step_work(self.plan.network, self.plan.backward, self.plan.settings.batch)

    def work(self) -> StepWork | None:
        """Return the passes of a step; None where the losses decide how many channels take part."""
        return None if self.plan.settings.is_sparse else self.step_work()

    def formula(self) -> dict[str, Any]:
        """Return the memory of one sample by the segments of DT, figure 4, with the network file in flash."""
        planned = replace(self.plan, in_flash=True).memory(1)
        trainable, feature_maps = segments(planned)
        return {
            "equation": "FQT, segments of figure 4",
            "bytes": planned.total,
            "trainable": trainable,
            "feature_maps": feature_maps,
            "static": file_size(self.plan.network),
        }

    def weights_by_zo(self) -> int:
        """Return 0: zeroth order trains nothing."""
        return 0

    def least_cycles(self) -> LeastCycles:
        """Every layer runs once a sample; every trained weight is stored in an update."""
        return LeastCycles.of(
            [least_forward(layer, self.plan.settings.batch) for layer in self.plan.network.layers],
            perturb=0,
            backward=1,
            update=least_moves(sum(tensor.elements for tensor in self.plan.tensors)),
        )


def step_work(graph: Graph, backward: BackwardPass, samples: int, kept: Mapping[int, int] | None = None) -> StepWork:
    """Return the work of a step of so many samples.

    Args:
        graph: the network.
        backward: which layers errors reach.
        samples: of the step.
        kept: the kept channels of all samples, by reached layer with weights; None: all.
    """
    runs, macs = [1] * len(graph.layers), samples * graph.macs
    for index in backward.reached:
        runs[index] += 1
        layer = graph.layers[index]
        if layer.own is not None:
            channels = samples * layer.channels if kept is None else kept[index]
            macs += channels * (layer.macs // layer.channels) * (1 + backward.passes_on(index))
    return StepWork(tuple(samples * each for each in runs), macs)
