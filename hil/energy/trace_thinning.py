"""Thin a trace for drawing without losing peaks: keep the lowest and highest reading of every bucket at their times.

Means of neighbours, or every k-th reading, would hide short peaks.
"""

from __future__ import annotations

import numpy as np


def keep_peaks(values: np.ndarray, buckets: int) -> np.ndarray:
    """Return the indices of the readings to keep, ascending, int64[m] with m <= 2 buckets + 2.

    Kept are the first and the last reading, and the lowest and the highest of each of `buckets` equal stretches. A
    bucket of NaN keeps its first reading, so a gap stays visible.

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
