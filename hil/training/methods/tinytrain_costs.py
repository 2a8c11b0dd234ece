"""What TinyTrain may choose, what it costs, and the choice (docs/arithmetic-tinytrain.md, sections 2, 4, 5 and 8)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from hil.errors import RigError
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.backward_pass import BackwardPass
from hil.training.methods.figures import StepWork
from hil.training.methods.graph_settings import GraphSettings

PARTS = 256  # of which work_budget and channels are shares
NUMBER_BYTES = 4  # of a gradient, and of a velocity


@dataclass(frozen=True)
class Candidate:
    """A layer that may be chosen.

    Attributes:
        name: of the layer.
        channels: C, its output channels.
        kept: k, how many of them are trained if it is chosen.
        numbers: w, its trained weights and biases.
        macs: m, its products in a forward pass.
        size: b, bytes for gradients and velocities of the kept channels.
        gradient_macs: products of the gradient of the kept channels, for a sample.
    """

    name: str
    channels: int
    kept: int
    numbers: int
    macs: int
    size: int
    gradient_macs: int


def bytes_a_number(settings: GraphSettings) -> int:
    """Return the bytes of gradient and velocity that are kept of a trained number."""
    return NUMBER_BYTES * ((settings.batch > 1) + bool(np.float32(settings.momentum) > 0))


class Costs:
    """The candidates with their costs, and the budgets.

    Args:
        graph: the network.
        settings: of the method.

    Attributes:
        candidates: by the index of the layer, input to output.
        whole: W_all, products of back-propagation through all candidates and channels, for a sample.
        most_work: W_max, those that the work budget allows.

    Raises:
        RigError: a pool that errors cannot be handed through.
    """

    def __init__(self, graph: Graph, settings: GraphSettings) -> None:
        self._graph, self._settings = graph, settings
        trained = settings.trained(graph)
        self.reached = BackwardPass(graph, trained, settings.trains_weights).reached
        self.first = trained[0]
        self.candidates = {index: self._candidate(index) for index in trained if index in self.reached}
        self.whole = 0
        if self.candidates:
            gradients = sum(one.macs for one in self.candidates.values()) if settings.trains_weights else 0
            self.whole = self.error_macs(min(self.candidates)) + gradients
        self.most_work = self.whole * settings.work_budget // PARTS

    def _candidate(self, index: int) -> Candidate:
        layer, settings = self._graph.layers[index], self._settings
        is_last = index == max(self._graph.own)
        kept = max(layer.channels * settings.channels // PARTS, 1)
        if is_last or layer.op is Op.DEPTHWISE:
            kept = layer.channels
        numbers = settings.coordinates(layer)
        size = kept * (numbers // layer.channels) * bytes_a_number(settings)
        gradient_macs = kept * (layer.macs // layer.channels) if settings.trains_weights else 0
        return Candidate(layer.name, layer.channels, kept, numbers, layer.macs, size, gradient_macs)

    def error_macs(self, first: int) -> int:
        """Return E, the products of the errors that are handed on to the outputs of layer `first` and those after."""
        layers = self._graph.layers
        behind = (layers[index] for index in self.reached if index >= first)
        return sum(layer.macs for layer in behind if layer.own is not None and layer.reads[0] > first)

    def work(self, chosen: Collection[int]) -> int:
        """Return W, the products of the backward pass of a sample with these chosen layers, at least one."""
        return self.error_macs(min(chosen)) + sum(self.candidates[index].gradient_macs for index in chosen)

    def check(self) -> None:
        """Check that the budgets let something be chosen, whatever the samples are.

        Raises:
            RigError: no candidate, or none within a budget.
        """
        settings = self._settings
        if not self.candidates:
            raise RigError(
                f"setting blocks is {settings.blocks}: errors reach no trained layer of {self._graph.name}, choose "
                "blocks between which and the output there are layers that read what they give."
            )
        smallest = min(self.candidates.values(), key=lambda one: one.size)
        if smallest.size > settings.memory_budget:
            raise RigError(
                f"setting memory_budget is {settings.memory_budget:,} bytes, and the layer that needs fewest for "
                f"gradients and velocities, {smallest.name}, needs {smallest.size:,}: choose at least "
                f"{smallest.size:,}, or a smaller share of channels."
            )
        work, index = self._least_work()
        if work > self.most_work:
            raise RigError(
                f"setting work_budget is {settings.work_budget}, which allows {self.most_work:,} products of a "
                f"backward pass, and the layer within memory_budget that needs fewest, "
                f"{self.candidates[index].name}, needs {work:,}: choose at least {self.least_work_budget}."
            )

    @property
    def least_work_budget(self) -> int:
        """The smallest `work_budget` that lets a layer within the memory budget be chosen; 0 if none needs products."""
        return -(-self._least_work()[0] * PARTS // self.whole) if self.whole else 0

    def _least_work(self) -> tuple[int, int]:
        """Return the products of the layer within the memory budget that needs fewest, and its index."""
        most = self._settings.memory_budget
        return min((self.work([index]), index) for index, one in self.candidates.items() if one.size <= most)

    def choose(self, scores: Mapping[int, np.float32]) -> tuple[int, ...]:
        """Return the layers that are chosen, input to output, by their scores (section 5)."""
        chosen: list[int] = []
        size = 0
        for index in sorted(scores, key=lambda index: (scores[index], index), reverse=True):
            fits = size + self.candidates[index].size <= self._settings.memory_budget
            if fits and self.work([*chosen, index]) <= self.most_work:
                chosen.append(index)
                size += self.candidates[index].size
        return tuple(sorted(chosen))

    def step_work(self, samples: int, chosen: Collection[int] | None) -> StepWork:
        """Return the work of a step: trained with these chosen layers, or a ranking step where they are None."""
        first = self.first if chosen is None else min(chosen)
        backward = self.error_macs(first) if chosen is None else self.work(chosen)
        runs = (1 + (index in self.reached and index >= first) for index in range(len(self._graph.layers)))
        return StepWork(tuple(samples * each for each in runs), samples * (self._graph.macs + backward))
