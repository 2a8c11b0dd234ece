"""Poor Man's Training with its passes, draws and gradients in C; the update is NumPy's."""

from __future__ import annotations

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.formats.tflite8.fast import OwnWeights
from hil.training.reference.gradient import Gradient
from hil.training.reference.methods.poor_mans import PoorMans
from hil.training.reference.methods.trained_graph import Samples
from hil.training.reference.native.tflite8.evaluation import EvaluatedInC
from hil.training.reference.native.tflite8.library import Step, Tflite8Library


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
