"""What a board draws, as a script: a current that is constant between two instants, the marker beside it, and the
energy that follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Trace:
    """A current: `amperes[k]` from `t_s[k]` to `t_s[k + 1]`; before and after, the first and the last of them.

    Attributes:
        t_s: float64[n + 1] in seconds of the world's time, ascending.
        amperes: float64[n].
    """

    t_s: np.ndarray
    amperes: np.ndarray
    _sums: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sums = np.concatenate([[0.0], np.cumsum(self.amperes * np.diff(self.t_s))])
        object.__setattr__(self, "_sums", sums)

    def mapped(self, change: Callable[[np.ndarray], np.ndarray]) -> Trace:
        """Return the same instants with other currents."""
        return Trace(self.t_s, change(self.amperes))

    def charge(self, t_s: np.ndarray) -> np.ndarray:
        """Return the charge from the first instant to each of `t_s`, in coulombs."""
        inside = np.interp(t_s, self.t_s, self._sums)
        early = np.minimum(t_s - self.t_s[0], 0.0) * self.amperes[0]
        late = np.maximum(t_s - self.t_s[-1], 0.0) * self.amperes[-1]
        return inside + early + late

    def mean(self, begin_s: np.ndarray, end_s: np.ndarray) -> np.ndarray:
        """Return the mean of each stretch; of one without length, the current at that instant."""
        begin_s, end_s = np.asarray(begin_s, float), np.asarray(end_s, float)
        length = end_s - begin_s
        means = (self.charge(end_s) - self.charge(begin_s)) / np.where(length > 0, length, 1.0)
        return np.where(length > 0, means, self.at(begin_s))

    def at(self, t_s: np.ndarray) -> np.ndarray:
        """Return the current at each instant."""
        place = np.clip(np.searchsorted(self.t_s, t_s, side="right") - 1, 0, len(self.amperes) - 1)
        return self.amperes[place]

    def reaches(self, limit_a: float, begin_s: float, end_s: float) -> bool:
        """Return whether the current exceeds a limit between two instants."""
        first = max(int(np.searchsorted(self.t_s, begin_s, side="right")) - 1, 0)
        last = int(np.searchsorted(self.t_s, end_s))
        return bool(np.any(self.amperes[first : max(last, first + 1)] > limit_a))


@dataclass(frozen=True)
class Edge:
    """The marker's new level from `t_s` on."""

    t_s: float
    high: bool


@dataclass(frozen=True)
class Script:
    """One window as it happens.

    Attributes:
        trace: the board's current.
        edges: of the marker as the instrument's input sees it, bounces and all.
        up_s, down_s: between which the steps are.
        idle_a: current asleep, before and after.
        steps: in the window.
        answer_s: when the board answers.
    """

    trace: Trace
    edges: tuple[Edge, ...]
    up_s: float
    down_s: float
    idle_a: tuple[float, float]
    steps: int
    answer_s: float

    def net_j(self, volt: float, ohm: float) -> float:
        """Return the energy above sleep that a step takes at the board, whose supply and meter drop `ohm` times the
        current."""
        idle_w = np.mean([_power(np.array(one), volt, ohm) for one in self.idle_a])
        return (self.gross_j(volt, ohm) * self.steps - float(idle_w) * (self.down_s - self.up_s)) / self.steps

    def gross_j(self, volt: float, ohm: float) -> float:
        """Return the energy between the edges of a step, in joules."""
        powers = self.trace.mapped(lambda amperes: _power(amperes, volt, ohm))
        return float(powers.charge(np.array(self.down_s)) - powers.charge(np.array(self.up_s))) / self.steps

    def level(self, t_s: float) -> bool:
        """Return the marker's level."""
        past = [edge.high for edge in self.edges if edge.t_s <= t_s]
        return past[-1] if past else False


def _power(amperes: np.ndarray, volt: float, ohm: float) -> np.ndarray:
    return amperes * (volt - ohm * amperes)


def joined(stretches: Sequence[tuple[float, float]], begin_s: float) -> Trace:
    """Return a trace from (seconds, amperes) in their order."""
    seconds = np.array([length for length, _ in stretches])
    return Trace(begin_s + np.concatenate([[0.0], np.cumsum(seconds)]), np.array([amperes for _, amperes in stretches]))
