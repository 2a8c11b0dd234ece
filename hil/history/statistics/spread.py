"""Location and scatter of a few nights, so that an outlier counts for no more than any other night."""

from __future__ import annotations

import math

import numpy as np

OF_NORMAL = 1.4826  # standard deviation over median absolute deviation, of normal numbers
OF_MEAN = math.sqrt(
    math.pi / 2
)  # standard deviation over mean absolute deviation, and over the mean's, of the median's


def spread(values: np.ndarray) -> float:
    """Return an estimate of the standard deviation from the median absolute deviation.

    If more than half of the values are equal, that is 0 and says nothing; then from the mean absolute deviation.
    """
    distance = np.abs(values - np.median(values))
    return float(OF_NORMAL * np.median(distance) or OF_MEAN * np.mean(distance))


def median_of(values: np.ndarray) -> tuple[float, float]:
    """Return the median and its standard uncertainty, that of the median of as many normal numbers."""
    return float(np.median(values)), OF_MEAN * spread(values) / math.sqrt(len(values))
