"""Monte Carlo interval from the same contributions: propagation of distributions (GUM Supplement 1, JCGM 101:2008)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hil.energy.uncertainty import COVERAGE, Contribution

DRAWS = 200_000
SEED = 101
MEAN, MEDIAN = "mean", "median"


def interval(
    value: float, contributions: Sequence[Contribution], windows: int, statistic: str = MEAN, draws: int = DRAWS
) -> tuple[float, float]:
    """Return the probabilistically symmetric 95 % interval (JCGM 101, 7.7.2) of a result.

    Args:
        value: the result.
        contributions: its uncertainty contributions; those not counted are left out.
        windows: number of windows in the statistic.
        statistic: `mean` or `median`.
        draws: number of draws from each distribution.
    """
    rng = np.random.default_rng(SEED)
    total = np.zeros(draws)
    for one in contributions:
        if not one.counted or not one.standard:
            continue
        if one.shape == "scatter":
            total += one.standard / efficiency(windows, statistic) * _pivot(windows, statistic, draws)
        elif one.shape == "normal":
            total += one.standard * rng.standard_normal(draws)
        elif one.shape == "arcsine":
            total += one.standard * math.sqrt(2) * np.sin(rng.uniform(0, 2 * math.pi, draws))
        else:
            limit = one.standard * math.sqrt(3)
            total += rng.uniform(-limit, limit, draws)
    low, high = np.quantile(total, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return value + float(low), value + float(high)


def efficiency(windows: int, statistic: str) -> float:
    """Return the standard deviation of the mean or the median of n normal numbers of standard deviation one."""
    return 1 / math.sqrt(windows) if statistic == MEAN else _median_deviation(windows)


@lru_cache(maxsize=32)
def _pivot(windows: int, statistic: str, draws: int) -> np.ndarray:
    """Draw (statistic - expectation) / s of normal samples, float64[draws].

    For the mean this is Student's t over the root of n (JCGM 101, 6.4.9.5). For the median there is no closed form. The
    ratio depends on neither expectation nor standard deviation, so it can be drawn from the standard normal
    distribution.
    """
    rng = np.random.default_rng(SEED + windows)
    if statistic == MEAN:
        return rng.standard_t(windows - 1, draws) / math.sqrt(windows)
    numbers = rng.standard_normal((draws, windows))
    ratios: np.ndarray = np.median(numbers, axis=1) / np.std(numbers, axis=1, ddof=1)
    return ratios


@lru_cache(maxsize=32)
def _median_deviation(windows: int) -> float:
    rng = np.random.default_rng(SEED)
    return float(np.std(np.median(rng.standard_normal((DRAWS, windows)), axis=1)))
