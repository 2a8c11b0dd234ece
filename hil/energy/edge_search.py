"""Find the two edges of a window that the meter did not record, from its readings and the host's times.

Methods, the best first: `power`, the change of power at the edges (the firmware sleeps, trains, sleeps); `host`, the
times of the host's request and of the reply, which include unknown delays of the link and are flagged. A half-width is
a bound: if the board slept before and after, and the noise stays within eight standard deviations, the edge lies within
it for any shape of the power inside the window.

The net energy of a capture that sleeps at both ends needs no edges (it is the integral of the power above idle). Only
gross energy and duration depend on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hil.energy.capture import Edge, edge_between

POWER, HOST = "power", "host"

IDLE_SHARE = 0.1  # of the sleep: largest error of the board's timer (an RC oscillator is within a few per cent)
ARRIVAL = 0.2  # of the first sleep: the request may still be arriving
LONGEST_IDLE = 1.5  # times the sleep, from request to first edge; a longer time is not only sleep
LONG_IDLE = 0.6  # of the sleep: as long a time without a busy reading is the sleep, not a pause between steps
FEWEST = 8  # readings asleep for a standard deviation
# Standard deviations above idle that are not noise: 5e-5 with FEWEST - 1 degrees of freedom (Student's t).
NOISE = 8.0
CONTRAST = 20.0  # standard deviations from idle to busy; with less, readings are averaged first
ROUNDING = 1e-8  # of the level: least noise of equal readings, by rounding
PARTS = 4  # parts of a sleep, each of which must be idle on average
SHARE = 0.1  # of the busy power above idle: most that a reading across an edge may hide


class NoEdges(Exception):
    """The edges cannot be found. The reason is one sentence."""


@dataclass(frozen=True)
class HostTimes:
    """The host's times of a window, in seconds on the clock of the readings.

    Attributes:
        idle_s: sleep before the first and after the second edge.
        asked_s: when the host began to send the request; the first edge comes after the sleep that follows.
        answered_s: when the reply had arrived, after the end of the sleep after the second edge.
        duration_s, duration_half_s: time between the edges by the board's clock, and its error limit; infinite if
            unknown.
    """

    idle_s: float
    asked_s: float = -math.inf
    answered_s: float = math.inf
    duration_s: float = math.inf
    duration_half_s: float = 0.0


@dataclass(frozen=True)
class Stamped:
    """Readings with individual times.

    Attributes:
        t_s: float64[n], start of the aperture, or the time of a point sample; ascending.
        power_w: float64[n].
        half_s: float64[n], error limit of each time.
        aperture_s: 0 for point samples.
    """

    t_s: np.ndarray
    power_w: np.ndarray
    half_s: np.ndarray
    aperture_s: float


@dataclass(frozen=True)
class _Blocks:
    """Means over blocks of readings, float64[k]: begin, end, power, error limit of times; `length`: usual length."""

    begin: np.ndarray
    end: np.ndarray
    power: np.ndarray
    half: np.ndarray
    length: float


def synchronise(readings: Stamped, host: HostTimes) -> tuple[tuple[Edge, Edge], str]:
    """Return the edges by the best method that finds them, and its name.

    Args:
        readings: readings of the whole window, with sleep at both ends.
        host: the host's times.

    Raises:
        NoEdges: no method finds them.
    """
    try:
        return edges_by_power(readings, host), POWER
    except NoEdges:
        if not math.isfinite(host.asked_s - host.answered_s):
            raise  # the host did not send a request
        return edges_by_host(host), HOST


def edges_by_power(readings: Stamped, host: HostTimes) -> tuple[Edge, Edge]:
    """Return the edges by the change of power, at the finest resolution that clearly separates sleep and work.

    Raises:
        NoEdges: sleep and work cannot be separated, or the board did not sleep before and after.
    """
    inside = (readings.t_s >= host.asked_s) & (readings.t_s + readings.aperture_s <= host.answered_s)
    t, power, half = readings.t_s[inside], readings.power_w[inside], readings.half_s[inside]
    start = max(host.asked_s, float(t[0])) if len(t) else 0.0
    if np.count_nonzero((t > start + ARRIVAL * host.idle_s) & (t < start + (1 - IDLE_SHARE) * host.idle_s)) < FEWEST:
        raise NoEdges(f"there are fewer than {FEWEST} readings while the board slept: let it sleep for twenty of them")
    size = 1
    while len(t) >= 2 * FEWEST * size:
        found = _edges_of(
            _blocks(t, power, half, readings.aperture_s, size), host, point=readings.aperture_s == 0 and size == 1
        )
        if found is not None:
            return narrow(*found, host)
        size *= 2
    raise NoEdges("the power does not show when the board slept and when it trained")


def edges_by_host(host: HostTimes) -> tuple[Edge, Edge]:
    """Return the edges from request, reply, sleep and the board's own duration.

    What remains is the unknown delay of link and firmware.

    Raises:
        NoEdges: one of these is unknown, or they contradict each other.
    """
    first = host.asked_s + (1 - IDLE_SHARE) * host.idle_s
    latest = host.answered_s - (1 - IDLE_SHARE) * host.idle_s
    duration, spread = host.duration_s, host.duration_half_s
    if not math.isfinite(latest - first - duration):
        raise NoEdges("the host does not know start, end or length of the window")
    if latest - first < duration - spread:
        raise NoEdges("the reply came before the window could be over")
    slack = latest - first - (duration - spread)
    return Edge(first + slack / 2, slack / 2, True), Edge(latest - slack / 2, slack / 2, False)


def narrow(first: Edge, second: Edge, host: HostTimes) -> tuple[Edge, Edge]:
    """Return the parts of two uncertainty intervals that agree with the board's own duration, if it is known.

    Raises:
        NoEdges: no part agrees, so one of the two intervals is wrong.
    """
    if not math.isfinite(host.duration_s):
        return first, second
    shortest, longest = host.duration_s - host.duration_half_s, host.duration_s + host.duration_half_s
    one = (
        max(first.t_s - first.half_s, second.t_s - second.half_s - longest),
        min(first.t_s + first.half_s, second.t_s + second.half_s - shortest),
    )
    two = (max(second.t_s - second.half_s, one[0] + shortest), min(second.t_s + second.half_s, one[1] + longest))
    if one[0] > one[1] or two[0] > two[1]:
        raise NoEdges(
            f"the edges lie {second.t_s - first.t_s:.6g} s apart, and the board counted {host.duration_s:.6g} s"
        )
    return edge_between(*one, high=True), edge_between(*two, high=False)


def _blocks(t: np.ndarray, power: np.ndarray, half: np.ndarray, aperture: float, size: int) -> _Blocks:
    count = len(t) // size
    table = [array[: count * size].reshape(count, size) for array in (t, power, half)]
    begin, end = table[0][:, 0], table[0][:, -1] + aperture
    return _Blocks(begin, end, table[1].mean(axis=1), table[2].max(axis=1), float(np.median(end - begin)))


def _edges_of(blocks: _Blocks, host: HostTimes, *, point: bool) -> tuple[Edge, Edge] | None:
    """Return both edges with their uncertainty, or None if noise and work overlap at this resolution."""
    start = max(host.asked_s, float(blocks.begin[0]))
    asleep = (blocks.begin >= start + ARRIVAL * host.idle_s) & (blocks.end <= start + (1 - IDLE_SHARE) * host.idle_s)
    if np.count_nonzero(asleep) < FEWEST:
        return None
    level = float(np.mean(blocks.power[asleep]))
    noise = max(float(np.std(blocks.power[asleep], ddof=1)), ROUNDING * abs(level))
    above = np.abs(blocks.power - level)
    busy = above > NOISE * noise
    work = float(np.median(above[busy])) if busy.any() else 0.0
    if work <= CONTRAST * noise:
        return None
    threshold = max(NOISE * noise, SHARE * work)
    sleeps = _long_sleeps(blocks, above > threshold, LONG_IDLE * host.idle_s)
    if len(sleeps) < 2:
        return None
    last, then = sleeps[0][1], sleeps[-1][0]  # the last block of the first sleep, and the first of the last
    if math.isfinite(host.asked_s) and blocks.end[last] - start > LONGEST_IDLE * host.idle_s + 2 * blocks.length:
        return None  # the window itself lies within that sleep, and the busy blocks came later
    part = max(int(np.count_nonzero(asleep)) // PARTS, 2)
    # Without the first and last block, which may overlap an end of the sleep.
    if not all(_quiet(blocks.power[a + 1 : b] - level, noise, part) for a, b in (sleeps[0], sleeps[-1])):
        return None  # a sleep contains work below the noise threshold: the busy blocks are stronger work
    # The last quiet block may contain the edge, and steps may begin or end with a pause that looks like sleep.
    hidden = (0.0 if point else blocks.length) + _longest_pause(blocks, above > threshold, last, then)
    earliest = max(float(blocks.end[last] - blocks.half[last]) - hidden, host.asked_s + (1 - IDLE_SHARE) * host.idle_s)
    latest = min(
        float(blocks.begin[then] + blocks.half[then]) + hidden, host.answered_s - (1 - IDLE_SHARE) * host.idle_s
    )
    bounds = (
        earliest,
        float(blocks.end[last + 1] + blocks.half[last + 1]),
        float(blocks.begin[then - 1] - blocks.half[then - 1]),
        latest,
    )
    if bounds[0] > bounds[1] or bounds[2] > bounds[3]:
        return None
    return edge_between(*bounds[:2], high=True), edge_between(*bounds[2:], high=False)


def _quiet(power: np.ndarray, noise: float, part: int) -> bool:
    """Return whether the mean over every `part` blocks of a sleep is idle; `power` is float64[n] above idle."""
    count = len(power) // part
    means = power[: count * part].reshape(count, part).mean(axis=1)
    return bool(np.all(np.abs(means) <= NOISE * noise / math.sqrt(part)))


def _long_sleeps(blocks: _Blocks, busy: np.ndarray, shortest: float) -> list[tuple[int, int]]:
    """Return the first and last block of every stretch without work that is long enough to be a sleep."""
    steps = np.flatnonzero(np.diff(np.concatenate([[True], busy, [True]]).astype(np.int8)))
    runs = [(int(a), int(b) - 1) for a, b in zip(steps[::2], steps[1::2], strict=True)]
    return [run for run in runs if blocks.end[run[1]] - blocks.begin[run[0]] >= shortest]


def _longest_pause(blocks: _Blocks, busy: np.ndarray, last: int, then: int) -> float:
    """Return the longest time within the window that may be a pause: from one busy block to the next."""
    at = np.arange(last + 1, then)[busy[last + 1 : then]]
    gaps = (blocks.end[at[1:]] - blocks.begin[at[:-1]])[np.diff(at) > 1]
    return float(np.max(gaps, initial=0.0))
