"""A power trace that grows while a meter is watched, in bounded memory, with its sums and its histogram.

The readings of an update become a few bins. If there are too many bins, neighbours are joined. The sums are kept at the
bounds of the bins, so the energy between two bounds is that of all readings.
"""

from __future__ import annotations

import math

import numpy as np

MOST_BINS = 4000
BINS_OF_UPDATE = 20
CLASSES = 64  # of the histogram


class LiveTrace:
    """Power over time since the first update.

    Attributes:
        histogram: of all readings.
    """

    def __init__(self) -> None:
        self.histogram = PowerHistogram()
        self._bounds, self._sums = np.zeros(1), np.zeros(1)
        self._lowest, self._highest = np.empty(0), np.empty(0)
        self._last_w = math.nan

    def add(self, power_w: np.ndarray, seconds: float) -> None:
        """Add the readings of an update, float64[n] watts, that are spread evenly over its seconds.

        An update without readings continues with the mean power of the one before.
        """
        self.histogram.add(power_w)
        if not len(power_w):
            power_w = np.array([self._last_w])
        count = len(power_w)
        begins = np.arange(min(count, BINS_OF_UPDATE)) * count // min(count, BINS_OF_UPDATE)
        lengths = np.diff(np.append(begins, count)) * seconds / count
        sums = np.nan_to_num(np.add.reduceat(power_w, begins) * seconds / count)
        self._append(lengths, sums, np.minimum.reduceat(power_w, begins), np.maximum.reduceat(power_w, begins))
        self._last_w = float(np.mean(power_w))

    def miss(self, seconds: float) -> None:
        """Add an update without valid readings, of unknown power; its energy counts as 0."""
        self._last_w = math.nan
        unknown = np.array([math.nan])
        self._append(np.array([seconds]), np.zeros(1), unknown, unknown)

    def _append(self, lengths: np.ndarray, sums: np.ndarray, lowest: np.ndarray, highest: np.ndarray) -> None:
        self._bounds = np.append(self._bounds, self._bounds[-1] + np.cumsum(lengths))
        self._sums = np.append(self._sums, self._sums[-1] + np.cumsum(sums))
        self._lowest, self._highest = np.append(self._lowest, lowest), np.append(self._highest, highest)
        while len(self._lowest) > MOST_BINS:
            self._join_neighbours()

    def _join_neighbours(self) -> None:
        pairs = np.arange(0, len(self._lowest), 2)
        ends = np.append(pairs[1:], len(self._lowest))
        self._bounds = np.append(self._bounds[:1], self._bounds[ends])
        self._sums = np.append(self._sums[:1], self._sums[ends])
        self._lowest = np.fmin.reduceat(self._lowest, pairs)
        self._highest = np.fmax.reduceat(self._highest, pairs)

    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the bounds float64[m + 1] in s, the energy up to each in J, and lowest and highest power of each bin.

        The last two are float64[m] in W, NaN where the power is unknown.
        """
        return self._bounds, self._sums, self._lowest, self._highest


class PowerHistogram:
    """Counts of readings in classes of equal width from 0 W; a power beyond the last class doubles the width.

    Attributes:
        width_w: of a class; 0 before the first reading above 0 W.
        counts: int64[CLASSES].
    """

    def __init__(self) -> None:
        self.width_w, self.counts = 0.0, np.zeros(CLASSES, np.int64)

    def add(self, power_w: np.ndarray) -> None:
        """Count readings, float64[n] watts; one below 0 W counts in the first class, one that is no number nowhere."""
        known = power_w[np.isfinite(power_w)]
        largest = float(np.max(known, initial=0.0))
        if not self.width_w and largest:
            # the smallest power of two that leaves room above
            self.width_w = 2.0 ** math.ceil(math.log2(largest / CLASSES) + 1e-9)
        while largest >= CLASSES * self.width_w > 0:
            self.width_w *= 2
            self.counts = np.append(self.counts.reshape(-1, 2).sum(axis=1), np.zeros(CLASSES // 2, np.int64))
        places = np.maximum(known / (self.width_w or 1.0), 0).astype(np.int64)
        self.counts += np.bincount(places, minlength=CLASSES)


def keep_peaks(values: np.ndarray, buckets: int) -> np.ndarray:
    """Return the indices of the readings to keep, ascending, int64[m] with m <= 2 buckets + 2.

    Kept are the first and the last reading, and the lowest and the highest of each of `buckets` equal stretches: means
    of neighbours, or every k-th reading, would hide short peaks. A bucket of NaN keeps its first reading, so a gap
    stays visible.

    Args:
        values: float64[n].
        buckets: at least 1; with few readings all are kept.
    """
    n = len(values)
    if n <= 2 * buckets + 2:
        return np.arange(n)
    size = -(-n // buckets)
    rows = -(-n // size)
    padded = np.full(rows * size, np.nan)
    padded[:n] = values
    table = padded.reshape(rows, size)
    begins = np.arange(rows) * size
    hollow = np.isnan(table)
    lowest = begins + np.argmin(np.where(hollow, np.inf, table), axis=1)
    highest = begins + np.argmax(np.where(hollow, -np.inf, table), axis=1)
    return np.unique(np.concatenate([[0], lowest, highest, [n - 1]]))
