"""SPSA (docs/arithmetic-spsa.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hil.training.methods.prng import signs
from hil.training.reference.floats import F
from hil.training.reference.formats.tflite8.fast import OwnWeights
from hil.training.reference.formats.tflite8.loss import deltas, summed
from hil.training.reference.gradient import Gradient
from hil.training.reference.methods.trained import DELTA_EXPONENT, TrainedLayer
from hil.training.reference.methods.trained_graph import CHUNK, Samples
from hil.training.reference.methods.zeroth_order import ZerothOrder

FIRST = np.zeros(1, np.uint32)  # sample and query of the one direction of a step


class Spsa(ZerothOrder):
    """One two-sided query a step."""

    def estimate_samples(
        self, some: Samples, own: list[OwnWeights | None], gradients: list[Gradient]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add the gradient of a step; arguments and result as of `TrainedGraph`, the losses those of both passes."""
        directions = [self._direction(some.step, layer) for layer in self.trained]
        plus, minus = (self._pass(some, own, directions, side) for side in (1, -1))
        delta = deltas((summed(plus, F(0)) - summed(minus, F(0))) * F(0.5))
        for gradient, direction in zip(gradients, directions, strict=True):
            gradient.add(delta * direction[0, 0].astype(np.int64), DELTA_EXPONENT)
        return plus, minus

    def passes(self, weights: Sequence[np.ndarray], step: int) -> Iterator[list[np.ndarray]]:
        """Yield the weights of both passes."""
        for side in (1, -1):
            left, moved = iter(weights), []
            for layer in self.trained:
                noise = side * self._direction(step, layer)[0, 0].astype(np.int64)
                steps = [1] * layer.trains_weights + [np.int64(1) << layer.bias_steps] * layer.trains_bias
                for one, unit in zip(layer.parts(noise), steps, strict=True):
                    tensor = next(left)
                    moved.append((tensor + one * unit).astype(tensor.dtype))
            yield moved

    def _direction(self, step: int, layer: TrainedLayer) -> np.ndarray:
        """Return xi of a layer, int8 [1, 1, coordinates]."""
        return signs(self._streams(step, FIRST, layer, FIRST), layer.dimension)

    def _pass(
        self, some: Samples, own: list[OwnWeights | None], directions: Sequence[np.ndarray], side: int
    ) -> np.ndarray:
        """Return the losses of all samples with the trained layers moved to a side, float32 [N]."""
        moved, losses = list(own), []
        for layer, direction in zip(self.trained, directions, strict=True):
            moved[layer.index] = layer.perturbed(side * direction)
        for first in range(0, len(some.images), CHUNK):
            values = self.forward.input_values(some.images[first : first + CHUNK])
            logits = self.forward.logits(0, {0: values}, moved)
            losses.append(self._losses(logits, some.labels[first : first + CHUNK])[:, 0])
        return np.concatenate(losses)

    def _group_size(self) -> int:
        return int(self.settings.batch)

    def _factor(self, layer: TrainedLayer, samples: int) -> np.float32:
        return F(F(self.settings.eta) / F(samples))
