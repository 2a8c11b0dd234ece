"""What a board runs in a step (docs/arithmetic-zeroth-order.md, section 7, Work; docs/memory.md, What is run)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.methods.back_propagation import BackPropagation
from hil.training.reference.methods.deepzero import DeepZeroReference
from hil.training.reference.methods.trained_graph import TrainedGraph


def work_of(learner: TrainedGraph, step: int, samples: int) -> Work:
    """Return the work of a step that a learner has made, as a board runs it.

    Args:
        learner: after the step.
        step: its index, which decides the coordinates of DeepZero.
        samples: of the step.
    """
    work, settings = Work(learner.graph), learner.settings
    passes = samples * settings.sides * settings.queries
    if isinstance(learner, BackPropagation):
        work.add_backward(settings, samples, learner.backward.chain.of_value)
    elif isinstance(learner, DeepZeroReference):
        active = {layer.index: samples * len(learner.active(step, layer)) for layer in learner.trained}
        work.add_layerwise(settings, samples, active)
    elif settings.wise == "model":
        work.add_modelwise(settings, samples, passes)
    else:
        work.add_layerwise(settings, samples, {layer.index: passes for layer in learner.trained})
    return work


@dataclass
class Work:
    """Layers that were run, and their multiply-accumulates.

    They are counted as a board runs them, however the reference computes.
    """

    graph: Graph
    layer_runs: int = 0
    macs: int = 0

    def add(self, first: int, end: int, times: int) -> None:
        """Count runs of the layers first..end - 1."""
        self.layer_runs += times * max(end - first, 0)
        self.macs += times * sum(layer.macs for layer in self.graph.layers[first:end])

    def add_layerwise(self, settings: GraphSettings, samples: int, passes: Mapping[int, int]) -> None:
        """Count layer-wise samples, with the passes that each trained layer asked for, by its index."""
        n = len(self.graph.layers)
        self.add(0, n, samples)
        starts = _starts(self.graph, settings)
        for place, (start, members) in enumerate(starts):
            behind = start + settings.by_nodes(self.graph.layers[members[0]])
            self.add(start, behind, samples)
            for index in members:
                self.add(behind, n, passes[index])
            if place + 1 < len(starts):
                self.add(behind, starts[place + 1][0], samples)

    def add_modelwise(self, settings: GraphSettings, samples: int, passes: int) -> None:
        """Count model-wise samples and all their queries' passes."""
        self.add(0, len(self.graph.layers), samples + passes)
        by_nodes = [index for index in settings.trained(self.graph) if settings.by_nodes(self.graph.layers[index])]
        self.add(0, max(by_nodes, default=-1) + 1, samples)

    def add_backward(self, settings: GraphSettings, samples: int, reached: Collection[int]) -> None:
        """Count samples of back-propagation, with the values that an error reaches.

        See docs/arithmetic-tflite.md, section 7.5.
        """
        self.add(0, len(self.graph.layers), samples)
        trained = settings.trained(self.graph)
        for index in range(trained[0], len(self.graph.layers)):
            if index + 1 in reached:
                layer = self.graph.layers[index]
                hands_on = max(layer.reads) > trained[0]
                updates = index in trained and settings.trains_weights
                self.layer_runs += samples
                self.macs += samples * layer.macs * (hands_on + updates)


def _starts(graph: Graph, settings: GraphSettings) -> list[tuple[int, list[int]]]:
    """Return the layers at which passes begin, each with the trained layers that they are for."""
    joined = _joined(graph, settings) if settings.fused else set()
    starts: dict[int, list[int]] = {}
    for index in settings.trained(graph):
        first = index
        while first in joined:
            first -= 1
        starts.setdefault(first, []).append(index)
    return list(starts.items())


def _joined(graph: Graph, settings: GraphSettings) -> set[int]:
    """Return the layers that run in the group of the layer before, row by row.

    See docs/memory.md, Groups and starts.
    """
    trained = settings.trained(graph)
    by_nodes = {index for index in trained if settings.by_nodes(graph.layers[index])}
    joined: set[int] = set()
    for index, (layer, following) in enumerate(zip(graph.layers, graph.layers[1:], strict=False)):
        readers = [other for other in graph.layers if index + 1 in other.reads]
        if readers != [following] or {index, index + 1} & by_nodes:
            continue
        ends = index in joined and layer.op is Op.DEPTHWISE and following.op is Op.POINTWISE
        convolves = index not in joined and layer.op in (Op.CONV2D, Op.POINTWISE)
        if ends or (convolves and following.op is Op.DEPTHWISE):
            joined.add(index + 1)
    return joined
