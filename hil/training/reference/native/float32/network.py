"""A network in `float32` whose last layers are trained, with its passes in C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.methods.qzo_ff_tensors import QzoFfTensor
from hil.training.reference.floats import F
from hil.training.reference.formats.float32.forward import Own
from hil.training.reference.formats.float32.network import Float32Network
from hil.training.reference.formats.tflite8.loss import summed
from hil.training.reference.native.float32.arithmetic import NativeFloat32
from hil.training.reference.native.float32.library import Float32Library

EVALUATED = 128  # samples that are evaluated at a time: their values stay in the cache


class NativeFloat32Network(Float32Network):
    """As `Float32Network`, to the bit.

    The values that `prefix` returns are overwritten by the next pass of as many samples from the input on.
    """

    def __init__(self, graph: Graph, trained: Sequence[QzoFfTensor], native: Float32Library) -> None:
        super().__init__(graph, trained)
        self._native = NativeFloat32(graph, native)
        self.arithmetic = native.name

    def prefix(self, images: np.ndarray) -> list[dict[int, np.ndarray]]:
        """As `Float32Network`; one group with all values up to the first trained layer."""
        values = self._native.continued([self._native.input_value(images)], self._frozen, self.first)
        return [dict(enumerate(values))]

    def losses(self, prefix: Sequence[dict[int, np.ndarray]], labels: np.ndarray) -> np.ndarray:
        """As `Float32Network`."""
        (values,) = prefix
        return self._native.losses_from(list(values.values()), labels, self.own_now(), {})

    def logits(self, images: np.ndarray) -> np.ndarray:
        """As `Float32Network`."""
        own = self.own_now()
        parts = (images[first : first + EVALUATED] for first in range(0, len(images), EVALUATED))
        return np.concatenate([self._native.logits(part, own) for part in parts])

    def add_gradients(self, images: np.ndarray, labels: np.ndarray, sums: Mapping[int, Own]) -> np.float32:
        """As `Float32Network`."""
        return summed(self._native.losses(images, labels, self.own_now(), sums), F(0))
