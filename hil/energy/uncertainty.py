"""Combine uncertainties (GUM, JCGM 100:2008); hil/energy/monte_carlo.py uses the same contributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

COVERAGE = 0.95
SMOOTHING = "smoothing by the meter after a change of its range"


@dataclass(frozen=True)
class Contribution:
    """One source of uncertainty.

    Attributes:
        source: name for the reader.
        kind: A (statistics) or B (other knowledge).
        standard: standard uncertainty in the unit of the result.
        dof: its degrees of freedom.
        shape: `scatter` (the statistic of the windows: a scaled and shifted t for a mean), `rectangular`, `normal`, or
            `arcsine` for an error that tends to lie at one of its limits (JCGM 101:2008, 6.4.6).
        counted: False if another contribution already contains it; it is listed, and not added.
    """

    source: str
    kind: str
    standard: float
    dof: float = math.inf
    shape: str = "rectangular"
    counted: bool = True


def rectangular(limit: float) -> float:
    """Return the standard uncertainty of a value within +-limit, all equally likely (GUM, 4.3.7)."""
    return limit / math.sqrt(3)


def combined(contributions: Sequence[Contribution]) -> float:
    """Return the combined standard uncertainty of independent contributions (GUM, equation (10))."""
    return math.sqrt(sum(one.standard**2 for one in contributions if one.counted))


def effective_dof(contributions: Sequence[Contribution]) -> float:
    """Return the effective degrees of freedom (Welch-Satterthwaite; GUM, equation (G.2b)).

    This is an approximation: in the worst case (six windows, error limits of half their scatter) a 95 % interval covers
    94.4 % (docs/reported-figures.md).
    """
    counted = [one for one in contributions if one.counted and one.standard]
    below = sum(one.standard**4 / one.dof for one in counted if math.isfinite(one.dof))
    return combined(contributions) ** 4 / below if below else math.inf


def coverage_factor(dof: float) -> float:
    """Return the factor of an uncertainty that covers 95 %: Student's t (GUM, G.3.2), for any real dof >= 1."""
    if dof > 1e6:
        return 1.959964
    return _end(1.0, 13.0, lambda t: student_coverage(t, dof) < COVERAGE)


def student_coverage(t: float, dof: float) -> float:
    """Return the probability that Student's t lies within +-t.

    It is 1 - I_x(dof / 2, 1 / 2) with x = dof / (dof + t^2) (Abramowitz and Stegun, 26.7.1 and 26.5.27).
    """
    return 1 - _incomplete_beta(dof / 2, 0.5, dof / (dof + t * t))


@lru_cache(maxsize=32)
def least_variance(windows: int) -> float:
    """Return the 5 % quantile of the variance of n normal numbers, as a share of its expectation.

    It is the quantile of chi squared over its n - 1 degrees of freedom.
    """
    half = (windows - 1) / 2
    return _end(0.0, 1.0, lambda share: _incomplete_gamma(half, share * (windows - 1) / 2) < 1 - COVERAGE)


def _end(low: float, high: float, below: Callable[[float], bool]) -> float:
    """Return the number up to which `below` holds, by bisection."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2


def _incomplete_gamma(a: float, x: float) -> float:
    """Return P(a, x), chi squared with 2 a degrees of freedom at 2 x, by its series (Abramowitz and Stegun, 6.5.29)."""
    term = total = 1 / a
    for k in range(1, 200):
        term *= x / (a + k)
        total += term
    return total * math.exp(a * math.log(x) - x - math.lgamma(a))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return I_x(a, b) by its continued fraction (Abramowitz and Stegun, 26.5.8), evaluated backwards."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    fraction = 0.0
    for m in range(200, 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        fraction = even / (1 + odd / (1 + fraction))
    first = -(a + b) * x / (a + 1)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) / a / (1 + first / (1 + fraction))
