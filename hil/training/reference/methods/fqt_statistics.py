"""Running mean and deviation of the gradients of each channel (docs/arithmetic-fqt.md, section 5)."""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np

from hil.training.reference.floats import F
from hil.training.reference.methods.fqt_layers import GradientMoments

MOST = F(2.0**24)  # samples that are counted


class Statistics:
    """Of all trained layers, their channels one after the other.

    Args:
        channels: of each trained layer.
        momentum: `statistics_momentum`.

    Attributes:
        mean, square: mu and nu, float32.
        count: n, float32: whole numbers.
    """

    def __init__(self, channels: list[int], momentum: float) -> None:
        total = sum(channels)
        self.mean, self.square, self.count = (np.zeros(total, F) for _ in range(3))
        self._momentum = F(momentum)
        ends = accumulate(channels, initial=0)
        self.parts = [slice(first, end) for first, end in pairwise(ends)]

    def take(self, moments: list[GradientMoments], kept: list[np.ndarray]) -> None:
        """Take in samples, one after the other: moments and bool [B, O] of each trained layer."""
        means = np.concatenate([one.mean for one in moments], axis=1)
        squares = np.concatenate([one.square for one in moments], axis=1)
        for mean, square, mine in zip(means, squares, np.concatenate(kept, axis=1), strict=True):
            self.count = np.where(mine, np.minimum(self.count + F(1), MOST), self.count)
            a = np.maximum(self._momentum, F(1) / np.maximum(self.count, F(1)))
            self.mean = np.where(mine, self.mean + a * (mean - self.mean), self.mean)
            self.square = np.where(mine, self.square + a * (square - self.square), self.square)
