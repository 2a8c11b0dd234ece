"""Running mean and deviation of the gradients of each channel (docs/arithmetic-fqt.md, sections 5 and 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np

from hil.training.methods.fqt_settings import FqtSettings
from hil.training.reference.floats import F
from hil.training.reference.methods.fqt_layers import GradientMoments
from hil.training.reference.methods.fqt_update import LayerGradient

MOST = F(2.0**24)  # samples, or steps, that are counted


class Statistics:
    """Of all trained layers, their channels one after the other.

    Args:
        channels: of each trained layer, by its index.
        settings: with `standardise` and `statistics_momentum`.

    Attributes:
        by_sample: whether they are of the gradients of samples; else of those that a step has accumulated.
        mean, square: mu and nu, float32.
        count: n, float32: whole numbers.
    """

    def __init__(self, channels: Mapping[int, int], settings: FqtSettings) -> None:
        self.by_sample = settings.standardise == "running"
        self._channels, self._momentum = channels, F(settings.statistics_momentum)
        self.mean, self.square, self.count = (np.zeros(sum(channels.values()), F) for _ in range(3))
        ends = accumulate(channels.values(), initial=0)
        self.parts = [slice(first, end) for first, end in pairwise(ends)]

    def take_samples(
        self, samples: int, moments: Mapping[int, GradientMoments | None], kept: Mapping[int, np.ndarray]
    ) -> None:
        """Take in samples, one after the other; a layer that no error reaches has none.

        Args:
            samples: how many.
            moments: of the gradients of each reached layer.
            kept: which channels a sample keeps, bool [B, O], of each reached layer.
        """
        found, masks = [], []
        for index, channels in self._channels.items():
            shape = samples, channels
            found.append(moments.get(index) or GradientMoments(np.zeros(shape, F), np.zeros(shape, F)))
            masks.append(kept.get(index, np.zeros(shape, bool)))
        self._take(found, masks)

    def standardise(self, gradients: Sequence[LayerGradient]) -> None:
        """Give the gradients of a step, times u, their mean and mean square; take them in before, unless by sample."""
        if not self.by_sample:
            each = [gradient.moments() for gradient in gradients]
            found = [GradientMoments.of(mean[None], square[None]) for mean, square in each]
            self._take(found, [gradient.kept[None] for gradient in gradients])
        for gradient, part in zip(gradients, self.parts, strict=True):
            gradient.running = self.mean[part], self.square[part]

    def _take(self, moments: Sequence[GradientMoments], kept: Sequence[np.ndarray]) -> None:
        means = np.concatenate([one.mean for one in moments], axis=1)
        squares = np.concatenate([one.square for one in moments], axis=1)
        for mean, square, mine in zip(means, squares, np.concatenate(kept, axis=1), strict=True):
            self.count = np.where(mine, np.minimum(self.count + F(1), MOST), self.count)
            a = np.maximum(self._momentum, F(1) / np.maximum(self.count, F(1)))
            self.mean = np.where(mine, self.mean + a * (mean - self.mean), self.mean)
            self.square = np.where(mine, self.square + a * (square - self.square), self.square)

    def state(self) -> dict[str, np.ndarray]:
        """Return mu, nu and n by name."""
        return {"mean": self.mean, "square": self.square, "count": self.count}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on with what `state` returned."""
        self.mean, self.square, self.count = (state[name].astype(F) for name in ("mean", "square", "count"))
