"""Methods whose samples are evaluated in C; training is NumPy's, but for the passes of Poor Man's Training."""

from __future__ import annotations

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.formats.tflite8.fast import OwnWeights
from hil.training.reference.gradient import Gradient
from hil.training.reference.methods.back_propagation import BackPropagation
from hil.training.reference.methods.poor_mans import PoorMans
from hil.training.reference.methods.tinytrain import TinyTrainReference
from hil.training.reference.methods.trained_graph import Samples, TrainedGraph
from hil.training.reference.native.tflite8.library import NativeTflite8Network, Step, Tflite8Library


class EvaluatedInC(TrainedGraph):
    """A method on a graph with its forward pass for evaluation in C, to the bit."""

    def __init__(self, graph: Graph, settings: GraphSettings, native: Tflite8Library) -> None:
        super().__init__(graph, settings)
        self._native, self._network = native, NativeTflite8Network(graph)
        self.arithmetic = f"{self.arithmetic}; evaluated in {native.name}"

    def logits(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `TrainedGraph`."""
        last = len(self.graph.layers)
        stored = self._native.outputs(self._now(), images, last) + self.graph.zero_of(last)
        return stored.astype(np.int8), np.zeros(len(images), np.int64)

    def _now(self) -> NativeTflite8Network:
        """Return the network with the weights as they are now."""
        for layer in self.trained:
            self._network.set_own(layer.index, layer.weights, layer.bias)
        return self._network


class EvaluatedBackPropagation(EvaluatedInC, BackPropagation):
    """As `BackPropagation`."""


class EvaluatedTinyTrain(EvaluatedInC, TinyTrainReference):
    """As `TinyTrainReference`."""


class NativePoorMans(EvaluatedInC, PoorMans):
    """As `PoorMans`, to the bit."""

    def __init__(self, graph: Graph, settings: GraphSettings, native: Tflite8Library) -> None:
        super().__init__(graph, settings, native)
        self.arithmetic = native.name

    def estimate_samples(
        self, some: Samples, own: list[OwnWeights | None], gradients: list[Gradient]
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `TrainedGraph`."""
        step = Step(self.settings, some.step, self.trained, gradients)
        return self._native.estimate(self._now(), step, int(some.numbers[0]), some.images, some.labels)

    def _group_size(self) -> int:
        return 2**16 - 1  # a whole step: the library has the values of one sample at a time
