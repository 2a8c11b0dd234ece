"""Poor Man's Training (docs/arithmetic-zeroth-order.md, sections 3 to 7; PMT, algorithm 1).

MeZO, bias only and last layer only are settings of it.
"""

from __future__ import annotations

import numpy as np

from hil.training.methods.prng import signs
from hil.training.reference.floats import F
from hil.training.reference.formats.tflite8.fast import OwnWeights
from hil.training.reference.formats.tflite8.loss import deltas
from hil.training.reference.gradient import Gradient
from hil.training.reference.methods.trained import DELTA_EXPONENT, TrainedLayer
from hil.training.reference.methods.trained_graph import Samples
from hil.training.reference.methods.zeroth_order import ZerothOrder


class PoorMans(ZerothOrder):
    """Randomized gradient estimation by perturbed weights or nodes, layer by layer or all at once."""

    def estimate_samples(
        self, some: Samples, own: list[OwnWeights | None], gradients: list[Gradient]
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `TrainedGraph`."""
        values = self.forward.clean(some.images, own)
        clean = self._losses(values[-1][:, :, 0, 0], some.labels)
        groups = [[layer] for layer in self.trained] if self.settings.wise == "layer" else [self.trained]
        losses = []
        for group in groups:
            sums, magnitude, its = self._queries(some, group, values, clean, own)
            losses.append(its.reshape(len(some.numbers), -1))
            for layer, total in zip(group, sums, strict=True):
                gradient = gradients[self.trained.index(layer)]
                for one, exponent in self._of_samples(layer, total, magnitude, values):
                    gradient.add(one, exponent)
        return clean[:, 0], np.concatenate(losses, axis=1)

    def _queries(
        self,
        some: Samples,
        group: list[TrainedLayer],
        values: list[np.ndarray],
        clean: np.ndarray,
        own: list[OwnWeights | None],
    ) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """Run all queries that perturb a group of layers.

        Returns:
            For each layer the sums over the queries of delta * xi, float64 [N, dimension]; the sums of |delta|, int64
            [N]; the losses, float32 [N, Q] or [N, Q, 2].
        """
        n = len(some.numbers)
        at_once = max(1, self._rows(group) // n)
        sums = [np.zeros((n, layer.dimension)) for layer in group]
        magnitude, losses = np.zeros(n, np.int64), []
        held = dict(enumerate(values))
        places = np.zeros_like(some.numbers) if self.settings.direction == "batch" else some.numbers
        for first in range(0, self.settings.queries, at_once):
            numbers = np.arange(first, min(first + at_once, self.settings.queries), dtype=np.uint32)
            noise = [signs(self._streams(some.step, places, layer, numbers), layer.dimension) for layer in group]
            logits = [
                self.forward.logits(group[0].index, held, *self._perturbed(group, noise, sign, own))
                for sign in ((1, -1) if self.settings.difference == "central" else (1,))
            ]
            its = [self._losses(one, some.labels, len(numbers)) for one in logits]
            difference = (its[0] - its[1]) * F(0.5) if len(its) == 2 else its[0] - clean
            delta = deltas(difference)
            magnitude += np.abs(delta).sum(axis=1)
            for total, drawn in zip(sums, noise, strict=True):  # below 127 * 2^21: exact
                total += (delta[:, None].astype(np.float64) @ drawn.astype(np.float64))[:, 0]
            losses.append(np.stack(its, axis=-1))
        return sums, magnitude, np.concatenate(losses, axis=1)

    def _perturbed(
        self, group: list[TrainedLayer], noise: list[np.ndarray], sign: int, own: list[OwnWeights | None]
    ) -> tuple[list[OwnWeights | None], dict[int, np.ndarray]]:
        """Return the weights of all layers and the noise of the nodes, with `sign` times the noise."""
        chosen, nodes = list(own), {}
        for layer, drawn in zip(group, noise, strict=True):
            if layer.by_nodes:
                nodes[layer.index] = drawn
            else:
                chosen[layer.index] = layer.perturbed(drawn if sign == 1 else -drawn)
        return chosen, nodes

    def _of_samples(
        self, layer: TrainedLayer, sums: np.ndarray, magnitude: np.ndarray, values: list[np.ndarray]
    ) -> list[tuple[np.ndarray, int]]:
        """Return gradient and exponent of each sample."""
        if layer.by_nodes:
            return layer.from_nodes(sums, magnitude, values[layer.layer.reads[0]], values[layer.index + 1])
        return [(one, DELTA_EXPONENT) for one in sums.astype(np.int64)]

    def _rows(self, group: list[TrainedLayer]) -> int:
        return self.forward.rows(group[0].index, sum(layer.dimension for layer in group))

    def _group_size(self) -> int:
        return max(1, self._rows(self.trained) // self.settings.queries)

    def _factor(self, layer: TrainedLayer, samples: int) -> np.float32:
        total, d = samples * self.settings.queries, layer.dimension
        if self.settings.wise == "model":
            d = sum(other.dimension for other in self.trained)
        factor = F(self.settings.eta)
        if self.settings.gns:
            factor = factor * (F(total) / F(total + d - 1))
        return F(factor / F(total))
