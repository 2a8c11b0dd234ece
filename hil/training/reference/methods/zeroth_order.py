"""The base of the zeroth-order methods on graphs: streams of draws, update (docs/arithmetic-zeroth-order.md)."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from hil.training.methods.prng import start_states
from hil.training.reference.gradient import Gradient
from hil.training.reference.methods.trained import TrainedLayer
from hil.training.reference.methods.trained_graph import TrainedGraph

LAYERS, QUERIES = 64, 128  # that a stream's number has room for


class ZerothOrder(TrainedGraph):
    """A method that estimates gradients from differences of losses; arguments as of `TrainedGraph`."""

    def _update(self, layer: TrainedLayer, gradient: Gradient, samples: int) -> None:
        layer.update(gradient.total, gradient.exponent, self._factor(layer, samples), bool(self.settings.qas))

    @abstractmethod
    def _factor(self, layer: TrainedLayer, samples: int) -> np.float32:
        """Return f of section 6 up to and with the division by N Q."""

    def _streams(self, step: int, places: np.ndarray, layer: TrainedLayer, queries: np.ndarray) -> np.ndarray:
        """Return the states before a layer's draws (section 3), uint32 [N, Q], of uint32 places [N] and queries [Q]."""
        numbers = (places[:, None] * np.uint32(LAYERS) + np.uint32(layer.index)) * np.uint32(QUERIES) + queries
        return start_states(self.settings.seed, step, (numbers + np.uint32(1)).astype(np.uint32))
