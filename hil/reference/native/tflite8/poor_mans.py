"""Poor Man's Training with its passes, draws and gradients in C; the update is NumPy's."""

from __future__ import annotations

import numpy as np

from hil.graph.graph import Graph
from hil.methods.graph_settings import GraphSettings
from hil.reference.formats.tflite8.fast import Own
from hil.reference.gradient import Gradient
from hil.reference.methods.poor_mans import PoorMans
from hil.reference.methods.trained_graph import Samples
from hil.reference.native.tflite8.library import Native, NativeNetwork, Step


class NativePoorMans(PoorMans):
    """As `PoorMans`, to the bit."""

    def __init__(self, graph: Graph, settings: GraphSettings, native: Native) -> None:
        super().__init__(graph, settings)
        self._native, self._network, self.arithmetic = native, NativeNetwork(graph), native.name

    def estimate_samples(
        self, some: Samples, own: list[Own | None], gradients: list[Gradient]
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `TrainedGraph`."""
        step = Step(self.settings, some.step, self.trained, gradients)
        return self._native.estimate(self._now(), step, int(some.numbers[0]), some.images, some.labels)

    def logits(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `TrainedGraph`."""
        last = len(self.graph.layers)
        stored = self._native.outputs(self._now(), images, last) + self.graph.layers[-1].zero
        return stored.astype(np.int8), np.zeros(len(images), np.int64)

    def _now(self) -> NativeNetwork:
        """Return the network with the weights as they are now."""
        for layer in self.trained:
            self._network.set_own(layer.index, layer.weights, layer.bias)
        return self._network

    def _group_size(self) -> int:
        return 2**16 - 1  # a whole step: the library has the values of one sample at a time
