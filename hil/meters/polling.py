"""Poll a meter at random intervals, so that a step whose length fits the interval is not aliased.

Random intervals turn the alias of a periodic step into scatter, which shrinks with the number of readings (additive
random sampling; Shapiro and Silverman, "Alias-free sampling of random noise", J. SIAM 8 (1960), cited from memory).
A fixed interval is only there to demonstrate the alias.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hil.meters.meter import Host, InvalidWindow
from hil.meters.reading_checks import NOT_A_NUMBER, OVERLOAD

JITTER = 0.5  # of the interval, earlier or later
FEWEST_CHANGES = 6  # of the reading; fewer may be changes of the board's power
REPEATED = 1.5  # polls; readings that never change sooner are repeated ones
LATE = 2.0  # intervals without a reading: the readings within are missing
OVERLOAD_WORDS = ("OL", "OVLD", "OVERLOAD", "INF", "+INF", "-INF", "9.9E37")


@dataclass(frozen=True)
class Polls:
    """Replies and when they arrived.

    Attributes:
        t_s: float64[n], middle of each round trip, on the host's clock.
        half_s: float64[n], half of each round trip.
        values: float64[n, columns].
        lost: readings that were due but not polled.
    """

    t_s: np.ndarray
    half_s: np.ndarray
    values: np.ndarray
    lost: int


class Poller:
    """Poll a meter at random intervals.

    Args:
        host: clock.
        jitter: largest change of an interval, as a share of it; 0 is a fixed interval.
        seed: of the random intervals.
    """

    def __init__(self, host: Host, jitter: float = JITTER, seed: int = 0) -> None:
        self._host, self._jitter, self._rng = host, jitter, np.random.default_rng(seed)

    def run(
        self, poll: Callable[[], tuple[float, float, list[float]]], interval_s: float, over: Callable[[], bool]
    ) -> Polls:
        """Poll until `over` returns True.

        Args:
            poll: polls once, and returns the time of the query, the time of the reply, and the numbers in the reply.
            interval_s: mean interval.
            over: called before each poll.

        Raises:
            InvalidWindow: from `poll`, or the window was over before the first reading.
        """
        rows: list[tuple[float, float, list[float]]] = []
        due = self._host.now()
        while not over():
            self._host.sleep(max(0.0, due - self._host.now()))
            rows.append(poll())
            due += interval_s * (1 + self._jitter * float(self._rng.uniform(-1, 1)))
            if due < self._host.now() - interval_s:
                due = self._host.now()  # the meter is slower than the interval, or the host was suspended
        if not rows:
            raise InvalidWindow("the window was over before the first reading.")
        sent, received = (np.array([row[column] for row in rows]) for column in (0, 1))
        gaps = np.diff((sent + received) / 2)
        pace = max(interval_s, float(np.median(gaps))) if len(gaps) else interval_s
        missing = np.floor(gaps[gaps > LATE * pace] / pace)
        return Polls(
            (sent + received) / 2,
            (received - sent) / 2,
            np.array([row[2] for row in rows], np.float64),
            int(missing.sum()),
        )


def reading(text: str, name: str) -> float:
    """Return the number in a meter's reply.

    Raises:
        InvalidWindow: overload, or no number.
    """
    word = text.strip().upper()
    try:
        value = float(word)
    except ValueError:
        value = math.inf if word in OVERLOAD_WORDS else math.nan
    if math.isnan(value) or math.isclose(value, NOT_A_NUMBER, rel_tol=1e-4):
        raise InvalidWindow(f"the {name} said {text.strip()!r}, which is not a reading.")
    if abs(value) > OVERLOAD:
        raise InvalidWindow(f"the {name} was overloaded within the window.", beyond_range=True)
    return value


def refresh_s(t_s: np.ndarray, values: np.ndarray) -> float:
    """Return the seconds between new readings of a meter that repeats its last one; 0 if every poll may be new.

    The reply of such a meter cannot change before its next measurement, whatever the board does. So the shortest time
    between two changes, to within one poll, is a lower bound.

    Args:
        t_s: float64[n], time of each reply.
        values: float64[n, k], the replies.
    """
    changed = np.flatnonzero(np.any(values[1:] != values[:-1], axis=1)) + 1
    if len(changed) < FEWEST_CHANGES:
        return 0.0
    poll = float(np.median(np.diff(t_s)))
    shortest = float(np.min(np.diff(t_s[changed])))
    return shortest + poll if shortest > REPEATED * poll and np.min(np.diff(changed)) > 1 else 0.0
