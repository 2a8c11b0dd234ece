"""Steps of TinyTrain in loops over plain integers: docs/arithmetic-tinytrain.md.

A trained step is one of back-propagation whose trained layers, and the channels of each, were chosen on the way.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from tests.oracle.graph_backward import PlainBackPropagation
from tests.oracle.graph_layers import Values, clamp
from tests.oracle.numbers import F32, Tensor

LEAST_POWER = -60


class PlainTinyTrain(PlainBackPropagation):
    """The state of a training.

    Attributes:
        own: weights and biases of every layer.
        trained: the layers that errors are computed for: all that may be chosen, then those that are.
        fisher: D of every channel of the candidates.
        scores: s of the candidates; empty before the choice.
        kept: the channels of the chosen layers, ascending; None before the choice.
        runs, macs: the work of the last step.

    Raises:
        ValueError: no layer fits the budgets; the text begins with the name of the setting.
    """

    def __init__(self, graph: Graph, settings: GraphSettings) -> None:
        super().__init__(graph, settings)
        self.clipped = self.trained
        reached = self._reached(self.trained[0])
        self.candidates = [index for index in self.trained if index in reached]
        self.fisher = {index: [F32(0)] * graph.layers[index].channels for index in self.candidates}
        self.scores: dict[int, np.float32] = {}
        self.kept: dict[int, list[int]] | None = None
        self.ranked = 0
        self.most_work = settings.work_budget * self.whole_work() // 256
        fitting = [index for index in self.candidates if self.bytes_of(index) <= settings.memory_budget]
        if not fitting:
            raise ValueError(f"memory_budget: the least layer needs {min(map(self.bytes_of, self.candidates))}")
        if all(self.work_of({index}) > self.most_work for index in fitting):
            raise ValueError(f"work_budget: the least work is {min(self.work_of({index}) for index in fitting)}")

    def step(self, images: Sequence[np.ndarray], labels: Sequence[int]) -> np.float32:
        """Rank, or train, on uint8 images and labels; return the sum of the clean losses."""
        for index in self.clipped:
            self._rest(index)
        total = super().step(images, labels)
        if self.kept is None:
            self.ranked += 1
            if self.ranked == self.settings.ranking:
                self._choose()
        return total

    def share(self, index: int) -> int:
        """Return k, the channels of a layer that are trained if it is chosen (section 4)."""
        layers = self.graph.layers
        last = all(layer.own is None for layer in layers[index + 1 :])
        channels = layers[index].channels
        if last or layers[index].op is Op.DEPTHWISE:
            return channels
        return max(channels * self.settings.channels // 256, 1)

    def bytes_of(self, index: int) -> int:
        """Return the bytes that a layer takes of the memory budget (section 5)."""
        layer, settings = self.graph.layers[index], self.settings
        each = 4 * (settings.batch > 1) + 4 * bool(F32(settings.momentum) > 0)
        return each * self.share(index) * (layer.taps * self._trains_weights + settings.train_bias)

    def work_of(self, chosen: Collection[int]) -> int:
        """Return W of a set of layers, the products of its backward pass (section 5)."""
        return self._errors_work(min(chosen)) + sum(
            self.share(index) * (self.graph.layers[index].macs // self.graph.layers[index].channels)
            for index in chosen
            if self._trains_weights
        )

    def whole_work(self) -> int:
        """Return the products of the backward pass that trains all candidates with all channels."""
        gradients = sum(self.graph.layers[index].macs for index in self.candidates if self._trains_weights)
        return self._errors_work(self.candidates[0]) + gradients

    def score(self, index: int) -> np.float32:
        """Return s of a layer (section 4)."""
        size, largest = self._trained_count(index), max(map(self._trained_count, self.candidates))
        macs, most = self.graph.layers[index].macs, max(self.graph.layers[i].macs for i in self.candidates)
        return self.potential(index) / ((F32(size) / F32(largest)) * (F32(macs) / F32(most)))

    def potential(self, index: int) -> np.float32:
        """Return P of a layer (section 4)."""
        total, c = F32(0), self.factors[index + 1].c
        for d in self.fisher[index]:
            total = total + d
        return (c * c) * total

    def _choose(self) -> None:
        self.scores = {index: self.score(index) for index in self.candidates}
        chosen: set[int] = set()
        memory = 0
        for index in sorted(self.candidates, key=lambda i: (self.scores[i], i), reverse=True):
            fits = memory + self.bytes_of(index) <= self.settings.memory_budget
            if fits and self.work_of(chosen | {index}) <= self.most_work:
                chosen.add(index)
                memory += self.bytes_of(index)
        self.kept = {index: self._best_channels(index) for index in sorted(chosen)}
        self.trained = tuple(self.kept)

    def _best_channels(self, index: int) -> list[int]:
        d = self.fisher[index]
        order = sorted(range(len(d)), key=lambda o: (-d[o], o))
        return sorted(order[: self.share(index)])

    def _own_gradient(self, index: int, values: list[Values], error: Tensor) -> Tensor:
        if self.kept is not None:
            return super()._own_gradient(index, values, error)
        layer, channels = self.graph.layers[index], self.graph.layers[index].channels
        u = [0] * channels
        for i, (q, e) in enumerate(zip(values[index + 1], error.values, strict=True)):
            u[i % channels] += (q - layer.zero) * e
        power = clamp(self.factors[index + 1].j + error.exponent, LEAST_POWER, 0)
        for o, one in enumerate(u):
            v = F32(math.ldexp(float(F32(one)), power))
            self.fisher[index][o] = self.fisher[index][o] + v * v
        return Tensor([], error.exponent)

    def _update(self, index: int, total: Tensor, samples: int) -> None:
        if self.kept is not None:
            super()._update(index, total, samples)

    def _products(self, index: int) -> int:
        assert self.kept is not None
        return super()._products(index) // self.graph.layers[index].channels * len(self.kept[index])

    def _coordinates(self, index: int) -> Iterator[tuple[bool, int, int]]:
        assert self.kept is not None
        return (one for one in super()._coordinates(index) if one[2] in self.kept[index])

    def _trained_count(self, index: int) -> int:
        layer = self.graph.layers[index]
        return layer.weight_count * self._trains_weights + layer.channels * self.settings.train_bias

    def _reached(self, first: int) -> set[int]:
        """Return the layers from a first trained one on that errors reach."""
        reached = {len(self.graph.layers) - 1}
        for index in range(len(self.graph.layers) - 1, first, -1):
            if index in reached:
                reached |= {value - 1 for value in self.graph.layers[index].reads if value > first}
        return reached

    def _errors_work(self, first: int) -> int:
        """Return the products of the layers that pass an error on, with a first trained layer."""
        layers = self.graph.layers
        return sum(layers[index].macs for index in self._reached(first) if layers[index].reads[0] > first)
