"""Plan number and length of the windows for a requested uncertainty, from the scatter of the windows so far."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from hil.energy.monte_carlo import MEAN, efficiency
from hil.energy.step_energy import EnergyResult
from hil.energy.uncertainty import combined, coverage_factor, effective_dof

MOST_WINDOWS = 24
MOST_COUNTED = 1000  # windows of a trial (hil/training/trial/spec.py)
LONGEST_S = 60.0  # of a window
AT_ONCE = 10  # largest increase of the length: an estimate from six windows is rough
SPARE = 0.9  # of the requested uncertainty, as a target, because the estimate is rough


@dataclass(frozen=True)
class WindowPlan:
    """Total number of windows, and steps in each."""

    windows: int
    steps: int


def reached(result: EnergyResult, wanted: float) -> bool:
    """Return whether the expanded uncertainty (95 %) is within a share of the energy of a step."""
    return result.expanded <= wanted * abs(result.per_step)


def plan_windows(result: EnergyResult, wanted: float) -> WindowPlan | None:
    """Return a plan that should reach an uncertainty; None if neither more nor longer windows would.

    More windows shrink the scatter of their mean by the root of their number, longer ones by the root of their length
    or faster. Neither shrinks what all windows have in common, such as the gain.

    Args:
        result: of the windows so far.
        wanted: expanded uncertainty (95 %) over the energy.
    """
    n, steps = len(result.windows), result.task.steps
    aim = SPARE * wanted * abs(result.per_step)
    fewest = next((one for one in range(n + 1, MOST_WINDOWS + 1) if _expanded(result, one, 1.0) <= aim), None)
    if fewest is not None:
        return WindowPlan(fewest, steps)
    room = min(AT_ONCE, LONGEST_S * steps / (steps * max(window.duration for window in result.windows)))
    lengths = [1.25**power for power in range(1, 11) if 1.25**power <= room]
    longer = next((one for one in lengths if _expanded(result, n, one) <= aim), room)
    if math.floor(longer * steps) <= steps or _expanded(result, MOST_WINDOWS, 1e9) > wanted * abs(result.per_step):
        return None
    return WindowPlan(n, math.ceil(longer * steps))


def more_windows(result: EnergyResult, half_width: float) -> int | None:
    """Return how many more windows would bring the expanded uncertainty (95 %) below a half-width in joules.

    None if MOST_COUNTED windows would not: what all windows have in common does not shrink.
    """
    n = len(result.windows)
    if _expanded(result, MOST_COUNTED, 1.0) > half_width:
        return None
    low, high = n, MOST_COUNTED  # high is enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _expanded(result, middle, 1.0) <= half_width else (middle, high)
    return high - n


def _expanded(result: EnergyResult, windows: int, longer: float) -> float:
    """Return the expected expanded uncertainty of `windows` windows that are `longer` times as long."""
    now = efficiency(len(result.windows), MEAN)
    shrink = efficiency(windows, MEAN) / now / math.sqrt(longer)
    parts = [
        replace(one, standard=one.standard * shrink, dof=windows - 1 if one.shape == "scatter" else one.dof)
        if one.shape in ("scatter", "normal") else one for one in result.contributions
    ]  # fmt: skip
    return coverage_factor(effective_dof(parts)) * combined(parts)
