"""Combining uncertainties (GUM, JCGM 100:2008)."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Student's t for 95.45 % by degrees of freedom (GUM, table G.2); between two entries the smaller number of degrees counts.
T_95_45 = {
    1: 13.97, 2: 4.53, 3: 3.31, 4: 2.87, 5: 2.65, 6: 2.52, 7: 2.43, 8: 2.37, 9: 2.32, 10: 2.28, 12: 2.23, 14: 2.20, 16: 2.17,
    18: 2.15, 20: 2.13, 25: 2.11, 30: 2.09, 40: 2.06, 50: 2.05, 100: 2.025,
}  # fmt: skip


@dataclass(frozen=True)
class Contribution:
    """One source of uncertainty: its standard uncertainty in the unit of the result, kind A (statistics) or B (other knowledge)."""

    source: str
    kind: str
    standard: float
    dof: float = math.inf


def rectangular(limit: float) -> float:
    """Return the standard uncertainty of something within +-limit, every value as likely (GUM, 4.3.7)."""
    return limit / math.sqrt(3)


def combined(contributions: list[Contribution]) -> float:
    """Return the combined standard uncertainty of independent contributions (GUM, equation (10))."""
    return math.sqrt(sum(one.standard**2 for one in contributions))


def effective_dof(contributions: list[Contribution]) -> float:
    """Return the effective degrees of freedom (Welch-Satterthwaite; GUM, equation (G.2b))."""
    below = sum(one.standard**4 / one.dof for one in contributions if one.standard and math.isfinite(one.dof))
    return combined(contributions) ** 4 / below if below else math.inf


def coverage_factor(dof: float) -> float:
    """Return the factor for an expanded uncertainty that covers about 95 %."""
    below = [t for degrees, t in T_95_45.items() if degrees <= dof]
    return 2.0 if dof > max(T_95_45) else below[-1] if below else T_95_45[1]
