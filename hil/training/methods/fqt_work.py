"""The work of a step of FQT (docs/arithmetic-fqt.md, section 10)."""

from __future__ import annotations

from collections.abc import Mapping

from hil.training.graph.graph import Graph
from hil.training.methods.backward_pass import BackwardPass
from hil.training.methods.step_work import Work


def step_work(graph: Graph, backward: BackwardPass, samples: int, kept: Mapping[int, int] | None = None) -> Work:
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
    return Work(tuple(samples * each for each in runs), macs)
