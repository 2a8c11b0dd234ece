"""Hold a meter's count of samples against the host's clock: samples that are lost make the count fall behind for good.

A sample arrives after it was made, sooner or later, and a busy host reads it later still. So the delay from the meter's
time of the newest sample to the host's time at which it was read has a floor. A pause of the host lifts a delay, and
the next ones are at the floor again. A loss lifts the floor itself. The smallest delay from some time on therefore
shows what was lost up to that time, to within the scatter of such smallest delays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from hil.energy.capture import Capture
from hil.energy.provenance import VIRTUAL

FEWEST = 8  # arrivals for a floor that can be compared
BLOCKS = (8, 64)  # fewest and most blocks whose floors show the scatter
SCATTER = 3.0  # times the median difference between the floors of neighbouring blocks, of which few are losses
FINEST_S = 0.0002  # scatter of a floor at least: scheduling of a computer, frames of USB


@dataclass(frozen=True)
class Unseen:
    """Time of the host between two samples that the count of the meter does not show.

    Attributes:
        most_s: limit of that time; at least none of it is lost.
        t_s, shift_s: float64[n] each: by how much the samples from a time of the meter on are later: in the middle
            between none and `most_s` if the host's clock shows a loss, else not at all.
    """

    most_s: float
    t_s: np.ndarray
    shift_s: np.ndarray

    @property
    def shown(self) -> bool:
        """Whether the host's clock shows a loss; else it only does not exclude one."""
        return bool(self.shift_s[-1])

    @property
    def half_s(self) -> float:
        """Limit of the error of the time between the two samples after the shift."""
        return self.most_s / 2 if self.shown else self.most_s

    def shifted(self, t_s: np.ndarray) -> np.ndarray:
        """Return times of the meter with what was lost before them: float64[n] seconds."""
        return np.asarray(t_s + np.interp(t_s, self.t_s, self.shift_s))


class Arrivals:
    """When samples were read, on both clocks.

    Args:
        identity: of the meter. A virtual one runs on virtual time, of which the host's clock knows nothing.
        timebase: largest relative error of the meter's clock; the host's is better than 1e-4 too.
        blind_s: a loss of a multiple of this does not show in the meter's own counter; 0 if each loss shows.
    """

    def __init__(self, identity: str, timebase: float, blind_s: float = 0.0) -> None:
        self._virtual = VIRTUAL in identity.lower()
        self._error, self._blind_s = timebase + 1e-4, blind_s
        self._rows: list[tuple[float, float]] = []

    def add(self, reached_s: float, now_s: float) -> None:
        """Add an arrival: the meter's time at the end of its newest sample, and the host's time when it was read."""
        self._rows.append((reached_s, now_s))

    def unseen(self, begin_s: float, end_s: float) -> Unseen | None:
        """Return what the count does not show between two times of the meter; None if it agrees with the host's clock.

        Arrivals from before and after that time are needed, such as those of the sleeps around a window.
        """
        if self._virtual or len(self._rows) < FEWEST:
            return None
        reached, now = np.array(self._rows).T
        delay = now - reached
        floor = np.minimum.accumulate(delay[::-1])[::-1]
        scatter = _scatter(delay)
        # A loss may be under way at the arrivals next to both times: from the last but one before the first time to the
        # second after the second time.
        first = max(int(np.searchsorted(reached, begin_s)) - 2, 0)
        last = min(int(np.searchsorted(reached, end_s)) + 1, len(floor) - 1)
        inside = slice(first, last + 1)
        drift = self._error * (reached[inside] - reached[first])
        raised = floor[inside] - floor[first]
        rise = np.maximum.accumulate(np.maximum(raised - drift, 0.0))
        shown = float(rise[-1]) > scatter
        most = max(float(raised[-1] + drift[-1]) + scatter, 0.0) if shown or self._blind_s else 0.0
        if self._blind_s:
            most = self._blind_s * math.floor(most / self._blind_s)
        if not most:
            return None
        between = (reached[inside] > begin_s) & (reached[inside] < end_s)
        share = rise[between] / rise[-1] if shown else np.zeros(int(between.sum()))
        t_s = np.array([begin_s, *reached[inside][between], end_s])
        return Unseen(most, t_s, most / 2 * np.array([0.0, *share, float(shown)]))


def _scatter(delay: np.ndarray) -> float:
    """Return how much the smallest delays of neighbouring blocks of arrivals differ, in seconds."""
    count = int(np.clip(len(delay) // 16, *BLOCKS))
    floors = np.array([np.min(block) for block in np.array_split(delay, count)])
    return FINEST_S + SCATTER * float(np.median(np.abs(np.diff(floors))))


def with_unseen(capture: Capture, unseen: Unseen | None) -> Capture:
    """Return a capture with the time that its readings do not show: in the middle of what is possible, with a note."""
    if unseen is None:
        return capture
    edges = tuple(replace(edge, t_s=float(unseen.shifted(np.array([edge.t_s]))[0])) for edge in capture.edges)
    found = replace(
        capture, t_s=unseen.shifted(capture.t_s), edges=edges, unseen_s=unseen.half_s,
        ends_s=None if capture.ends_s is None else unseen.shifted(capture.ends_s),
    )  # fmt: skip
    if not unseen.shown:
        return found
    missing = math.ceil(unseen.most_s / capture.interval_s)
    return found.noted(
        f"by the host's clock up to {unseen.most_s:.2g} s of samples ({missing} readings) were lost that the meter's "
        "count does not show: half of that time is taken to be missing, and the other half is in the uncertainty."
    )
