"""A batch of training samples, and which samples of the data set they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Batch(NamedTuple):
    """Samples that are given to board and reference.

    Attributes:
        images, labels: uint8 [n, height, width] or [n, height, width, channels], and [n].
        numbers: of the samples among the training samples [n]; None of samples that are not among them.
    """

    images: np.ndarray
    labels: np.ndarray
    numbers: np.ndarray | None = None

    def part(self, first: int, count: int) -> Batch:
        """Return at most `count` samples from one on."""
        part = slice(first, first + count)
        return Batch(self.images[part], self.labels[part], None if self.numbers is None else self.numbers[part])
