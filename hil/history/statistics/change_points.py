"""Change points of a quantity over nights, found as the nights come, with the commits between which it changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hil.commit import commit_range
from hil.history.statistics.rank_test import MOST_BEFORE, WINDOWS, level, most_inversions
from hil.history.statistics.spread import median_of, spread

MARGIN = 2.0  # standard uncertainties: nights of unlike uncertainty that are nearer than this do not count
CAP = 4.5  # most that a night says about where the change was: a night three standard deviations off may be an outlier
SUPPORT = 3.0  # log likelihood below the best place at which a night still may be the first one after the change
SHARPEST = 6.0  # the noise is taken to be at least this part of the change when its place is sought


class Night(NamedTuple):
    """One night of a quantity.

    Attributes:
        name: of the night, such as its date or the id of its run.
        commit: that was tested; empty if unknown.
        value: of the quantity, in any unit.
        uncertainty: standard uncertainty of the value, None for a count.
    """

    name: str
    commit: str
    value: float
    uncertainty: float | None = None


@dataclass(frozen=True)
class ChangePoint:
    """A step of a quantity.

    Attributes:
        last_before, first_after: the nights between which the change was made; all others are surely before or after.
        likeliest: the likeliest first night after the change.
        found: the night at which it was found.
        before, after: median of the nights before and after it, in the unit of the quantity.
        before_uncertainty, after_uncertainty: standard uncertainties of these medians, from the scatter of the nights.
    """

    last_before: Night
    first_after: Night
    likeliest: Night
    found: Night
    before: float
    after: float
    before_uncertainty: float
    after_uncertainty: float

    @property
    def relative(self) -> float:
        """The change over the value before; infinite if that is 0."""
        return (self.after - self.before) / abs(self.before) if self.before else math.copysign(math.inf, self.after)

    @property
    def commits(self) -> str:
        """The range of commits for `git log`; empty if a commit is unknown, or both nights tested the same."""
        return commit_range(self.last_before.commit, self.first_after.commit)


def change_points(nights: Sequence[Night]) -> list[ChangePoint]:
    """Return the steps of a quantity, each as it was known on the night at which it was found.

    Later nights change nothing about an earlier step. Nights whose value is not finite are left out, as are those that
    are missing. Where the noise has one distribution for all nights, whatever it is, a quantity gets at most
    FALSE_ALARMS_A_YEAR false steps a year (docs/history.md).

    Args:
        nights: the oldest first.
    """
    kept = [night for night in nights if math.isfinite(night.value)]
    values = np.array([night.value for night in kept], float)
    if not len(values) or (values == values[0]).all():
        return []  # counts mostly are: no pair of nights differs
    uncertainties = np.array([night.uncertainty or 0.0 for night in kept], float)
    pairs = _Pairs(values, uncertainties)
    found, start, looked = [], 0, 0
    while (alarm := pairs.first_alarm(start, looked)) is not None:
        night, window = alarm
        step = _placed(values[: night + 1], start, window)
        found.append(_named(kept, step, start, night, values))
        start, looked = step.best, night + 1
    return found


@dataclass(frozen=True)
class _Place:
    """Indices of the first night after a change: the best one, and the range of those that are nearly as good."""

    earliest: int
    best: int
    latest: int


class _Pairs:
    """Counts of pairs of nights of which the later is surely higher, or surely lower.

    `_above[d, j]` is the number of nights among the d before night j that are lower than it, int32[D + 1, nights].
    Equal nights count for neither side, so a constant never is a change.
    """

    def __init__(self, values: np.ndarray, uncertainties: np.ndarray) -> None:
        self._nights, reach = len(values), MOST_BEFORE + max(WINDOWS)
        rise = values - _before(values, reach)
        least = MARGIN * np.sqrt(np.abs(uncertainties**2 - _before(uncertainties, reach) ** 2))
        self._above, self._below = (
            np.pad(np.cumsum(each, axis=0, dtype=np.int32), ((1, 0), (0, 0))) for each in (rise > least, rise < -least)
        )

    def first_alarm(self, start: int, looked: int) -> tuple[int, int] | None:
        """Return the first night from `looked` on with an alarm and the shortest window that speaks; None without one.

        Nights before `start`, where the last change was, are not compared with.
        """
        allowed = most_inversions(level())
        alarms = np.zeros((len(WINDOWS), self._nights), bool)
        for row, window in enumerate(WINDOWS):
            first = max(looked, start + window)
            if first >= self._nights:
                continue
            night = np.arange(first, self._nights)
            before = np.minimum(night - window + 1 - start, MOST_BEFORE)
            least = before * window - allowed[row, before]
            for counted in (self._above, self._below):
                alarms[row, first:] |= self._sum(counted, night, window, before) >= least
        nights = np.flatnonzero(alarms.any(axis=0))
        if not len(nights):
            return None
        return int(nights[0]), WINDOWS[int(np.argmax(alarms[:, nights[0]]))]

    def _sum(self, counted: np.ndarray, night: np.ndarray, window: int, before: np.ndarray) -> np.ndarray:
        """Return the pairs of the last `window` nights with the `before` nights before these."""
        total = np.zeros(len(night), np.int64)
        for nth in range(1, window + 1):
            late = night - window + nth
            total += counted[before + nth - 1, late] - counted[nth - 1, late]
        return total


def _before(values: np.ndarray, reach: int) -> np.ndarray:
    """Return the values of the nights before each night, float64[reach, nights], the night just before it first.

    NaN where there is no such night; it is neither higher nor lower than another value.
    """
    padded = np.concatenate([np.full(reach, np.nan), values[:-1]])
    return np.lib.stride_tricks.sliding_window_view(padded, reach)[:, ::-1].T


def _placed(values: np.ndarray, start: int, window: int) -> _Place:
    """Return where a change was, by the likelihood of each place for the medians before and after.

    The loss of a night is capped, so that an outlier does not move the place (Fearnhead and Rigaill, "Changepoint
    detection in the presence of outliers", JASA 114, 2019, the biweight loss). `values` end with the alarm.
    """
    surely_before = max(start + 1, len(values) - max(WINDOWS) - window)
    before = values[max(start, surely_before - MOST_BEFORE) : surely_before]
    low, high = float(np.median(before)), float(np.median(values[-window:]))
    scale = max(spread(before), abs(high - low) / SHARPEST)
    late = values[surely_before:]
    if not scale:
        return _Place(len(values) - window, len(values) - window, len(values) - window)
    loss = np.minimum(((late - low) / scale) ** 2 / 2, CAP) - np.minimum(((late - high) / scale) ** 2 / 2, CAP)
    cost = np.concatenate([[0.0], np.cumsum(loss)])[: len(late)]  # of late[:i] before the change, the rest after it
    likely = np.flatnonzero(cost <= cost.min() + SUPPORT)
    return _Place(*(surely_before + int(one) for one in (likely[0], np.argmin(cost), likely[-1])))


def _named(nights: Sequence[Night], place: _Place, start: int, found: int, values: np.ndarray) -> ChangePoint:
    before = median_of(values[max(start, place.best - MOST_BEFORE) : place.best])
    after = median_of(values[place.best : found + 1])
    return ChangePoint(
        nights[place.earliest - 1], nights[place.latest], nights[place.best], nights[found],
        before[0], after[0], before[1], after[1],
    )  # fmt: skip
