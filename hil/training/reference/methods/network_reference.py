"""The base of the methods whose passes run in a network of their format, which also has the trained tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.reference.methods import MethodReference, TracedStage, stage_bytes


class NetworkReference(MethodReference):
    """A method whose network runs the passes and has the trained tensors, in the class of its format."""

    graph: Graph
    _network: Any
    _tensors: Sequence[Any]

    @property
    def weights(self) -> list[np.ndarray]:
        """The trained tensors, input to output, as they lie in the network file."""
        return [tensor.stored for tensor in self._tensors]

    def logits(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the logits of uint8 images, int8 or float32 [B, classes], and zeros for exponents: they have none."""
        return self._network.logits(images), np.zeros(len(images), np.int64)

    def logit_scale(self) -> float:
        """Return the scale of the last layer's output."""
        return self.graph.scale_of(len(self.graph.layers))

    def trace(
        self, weights: Sequence[np.ndarray], images: np.ndarray, labels: np.ndarray, slot: int
    ) -> list[TracedStage]:
        """Return the output of every layer for one sample."""
        outputs = self._network.outputs(weights, images[slot : slot + 1])
        return [
            TracedStage(layer.name, "output", stage_bytes(values, type=self.value_type), self.value_type)
            for layer, values in zip(self.graph.layers, outputs, strict=True)
        ]
