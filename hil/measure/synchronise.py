"""The two edges of a window that no marker told the meter, from its readings and what the host knows.

Best first: `power`, the change of power at the edges themselves (the firmware sleeps, trains, sleeps: a busy/idle code of three symbols);
`serial`, edges that the board dated by its own clock, carried over by hil/measure/clock_fit.py; `host`, when the host asked and was
answered, which says nothing about the link and is to be flagged. A half-width is a bound, not an estimate: the edge lies within it whatever
the shape of the power inside the window, as long as the board slept before and behind it and noise stays within eight of its deviations.

The net energy of a capture that sleeps at both ends needs no edges at all (the integral of power above idle); only gross energy and
duration depend on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hil.measure.capture import Edge

POWER, SERIAL, HOST = "power", "serial", "host"

IDLE_SHARE = 0.1  # of the sleep: how wrong the board's own timer may be (an RC oscillator is within a few per cent)
ARRIVAL = 0.2  # of the first sleep, in which the request may still be arriving
LONGEST_IDLE = 1.5  # times the sleep, from the request to the first edge: more is no sleep alone
LONG_IDLE = 0.6  # of the sleep, without a busy reading, is the sleep and no pause between steps
FEWEST = 8  # readings asleep: fewer tell no standard deviation
NOISE = 8.0  # standard deviations above idle that are no noise: with FEWEST - 1 degrees of freedom, 5e-5 (Student's t)
CONTRAST = 20.0  # standard deviations from idle to busy; less, and readings are averaged first
ROUNDING = 1e-8  # of the level: readings that are all alike have no noise, and are rounded to the digits of an answer all the same
PARTS = 4  # of a sleep, each of which must be idle in the mean
SHARE = 0.1  # of the busy power above idle: what a reading that straddles an edge may hide


class NoEdges(Exception):
    """The edges cannot be told; the reason is one sentence."""


@dataclass(frozen=True)
class Told:
    """What the host knows of a window, in seconds of the readings' clock.

    Attributes:
        idle_s: sleep before the first and behind the second edge.
        asked_s: when the host began to ask the board to run; no edge comes before the sleep that follows.
        answered_s: when the answer had arrived; the sleep behind the second edge was over.
        duration_s, duration_half_s: time between the edges by the board's own clock, and how wrong it may be; infinite where unknown.
    """

    idle_s: float
    asked_s: float = -math.inf
    answered_s: float = math.inf
    duration_s: float = math.inf
    duration_half_s: float = 0.0


@dataclass(frozen=True)
class Stamped:
    """Readings with the time of each.

    Attributes:
        t_s: float64[n], when the aperture began, or the instant of a point sample; ascending.
        power_w: float64[n].
        half_s: float64[n], how far each time may be wrong.
        aperture_s: 0 for point samples.
    """

    t_s: np.ndarray
    power_w: np.ndarray
    half_s: np.ndarray
    aperture_s: float


@dataclass(frozen=True)
class _Blocks:
    """Means over so many readings each: float64[k] begin, end, power, bound of the time stamps; `length` is the usual one."""

    begin: np.ndarray
    end: np.ndarray
    power: np.ndarray
    half: np.ndarray
    length: float


def synchronise(
    readings: Stamped, told: Told, serial: tuple[Edge, Edge] | None = None
) -> tuple[tuple[Edge, Edge], str]:
    """Return the edges by the best of the methods that can tell them, and its name.

    Args:
        readings: of the whole window, with sleep at both ends.
        told: what the host knows.
        serial: the edges by markers in the serial stream, where the board sends them.

    Raises:
        NoEdges: none can.
    """
    try:
        return edges_by_power(readings, told), POWER
    except NoEdges:
        if serial is not None:
            return narrow(*serial, told), SERIAL
        if not math.isfinite(told.asked_s - told.answered_s):
            raise  # the host has no word in it
        return edges_by_host(told), HOST


def edges_by_power(readings: Stamped, told: Told) -> tuple[Edge, Edge]:
    """Return the edges by the change of power, at the finest resolution at which sleep and work are told apart without doubt.

    Raises:
        NoEdges: they cannot be told apart, or the board did not sleep before and behind.
    """
    inside = (readings.t_s >= told.asked_s) & (readings.t_s + readings.aperture_s <= told.answered_s)
    t, power, half = readings.t_s[inside], readings.power_w[inside], readings.half_s[inside]
    start = max(told.asked_s, float(t[0])) if len(t) else 0.0
    if np.count_nonzero((t > start + ARRIVAL * told.idle_s) & (t < start + (1 - IDLE_SHARE) * told.idle_s)) < FEWEST:
        raise NoEdges(f"there are fewer than {FEWEST} readings while the board slept: sleep for twenty of them")
    size = 1
    while len(t) >= 2 * FEWEST * size:
        found = _edges_of(
            _blocks(t, power, half, readings.aperture_s, size), told, point=readings.aperture_s == 0 and size == 1
        )
        if found is not None:
            return narrow(*found, told)
        size *= 2
    raise NoEdges("the power does not tell when the board slept and when it trained")


def edges_by_host(told: Told) -> tuple[Edge, Edge]:
    """Return the edges from request, answer, sleep and the board's own duration; what is left is shared by link and firmware in a way not known.

    Raises:
        NoEdges: something of it is not known, or it does not fit together.
    """
    first = told.asked_s + (1 - IDLE_SHARE) * told.idle_s
    latest = told.answered_s - (1 - IDLE_SHARE) * told.idle_s
    duration, spread = told.duration_s, told.duration_half_s
    if not math.isfinite(latest - first - duration):
        raise NoEdges("the host was not told when the window began, when it ended and how long it was")
    if latest - first < duration - spread:
        raise NoEdges("the host was answered before the window can have been over")
    slack = latest - first - (duration - spread)
    return Edge(first + slack / 2, slack / 2, True), Edge(latest - slack / 2, slack / 2, False)


def narrow(first: Edge, second: Edge, told: Told) -> tuple[Edge, Edge]:
    """Return the parts of two brackets that fit the board's own duration between them, where it is known.

    Raises:
        NoEdges: nothing fits: one of the two is wrong.
    """
    if not math.isfinite(told.duration_s):
        return first, second
    shortest, longest = told.duration_s - told.duration_half_s, told.duration_s + told.duration_half_s
    one = (
        max(first.t_s - first.half_s, second.t_s - second.half_s - longest),
        min(first.t_s + first.half_s, second.t_s + second.half_s - shortest),
    )
    two = (max(second.t_s - second.half_s, one[0] + shortest), min(second.t_s + second.half_s, one[1] + longest))
    if one[0] > one[1] or two[0] > two[1]:
        raise NoEdges(
            f"the edges lie {second.t_s - first.t_s:.6g} s apart, and the board counted {told.duration_s:.6g} s"
        )
    return _edge(*one, high=True), _edge(*two, high=False)


def _edge(low: float, high_s: float, *, high: bool) -> Edge:
    return Edge((low + high_s) / 2, (high_s - low) / 2, high)


def _blocks(t: np.ndarray, power: np.ndarray, half: np.ndarray, aperture: float, size: int) -> _Blocks:
    count = len(t) // size
    table = [array[: count * size].reshape(count, size) for array in (t, power, half)]
    begin, end = table[0][:, 0], table[0][:, -1] + aperture
    return _Blocks(begin, end, table[1].mean(axis=1), table[2].max(axis=1), float(np.median(end - begin)))


def _edges_of(blocks: _Blocks, told: Told, *, point: bool) -> tuple[Edge, Edge] | None:
    """Return the brackets of both edges, or None where noise and work overlap at this resolution."""
    start = max(told.asked_s, float(blocks.begin[0]))
    asleep = (blocks.begin >= start + ARRIVAL * told.idle_s) & (blocks.end <= start + (1 - IDLE_SHARE) * told.idle_s)
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
    sleeps = _long_sleeps(blocks, above > threshold, LONG_IDLE * told.idle_s)
    if len(sleeps) < 2:
        return None
    last, then = sleeps[0][1], sleeps[-1][0]  # the last block of the first sleep, and the first of the last
    if math.isfinite(told.asked_s) and blocks.end[last] - start > LONGEST_IDLE * told.idle_s + 2 * blocks.length:
        return None  # the window itself lies within that sleep, and what is seen came later
    part = max(int(np.count_nonzero(asleep)) // PARTS, 2)
    if not all(
        _quiet(blocks.power[a + 1 : b] - level, noise, part) for a, b in (sleeps[0], sleeps[-1])
    ):  # but for those that reach over an end
        return None  # work lies within the noise of a sleep: something stronger was seen
    # The block that looks asleep may hold the edge, and steps may begin or end with a pause that looks like sleep.
    hidden = (0.0 if point else blocks.length) + _longest_pause(blocks, above > threshold, last, then)
    earliest = max(float(blocks.end[last] - blocks.half[last]) - hidden, told.asked_s + (1 - IDLE_SHARE) * told.idle_s)
    latest = min(
        float(blocks.begin[then] + blocks.half[then]) + hidden, told.answered_s - (1 - IDLE_SHARE) * told.idle_s
    )
    bounds = (
        earliest,
        float(blocks.end[last + 1] + blocks.half[last + 1]),
        float(blocks.begin[then - 1] - blocks.half[then - 1]),
        latest,
    )
    if bounds[0] > bounds[1] or bounds[2] > bounds[3]:
        return None
    return _edge(bounds[0], bounds[1], high=True), _edge(bounds[2], bounds[3], high=False)


def _quiet(power: np.ndarray, noise: float, part: int) -> bool:
    """Return whether the mean over every so many blocks of a sleep is idle; float64[n] above idle."""
    count = len(power) // part
    means = power[: count * part].reshape(count, part).mean(axis=1)
    return bool(np.all(np.abs(means) <= NOISE * noise / math.sqrt(part)))


def _long_sleeps(blocks: _Blocks, busy: np.ndarray, shortest: float) -> list[tuple[int, int]]:
    """Return the first and last block of every stretch without work that is long enough to be a sleep."""
    steps = np.flatnonzero(np.diff(np.concatenate([[True], busy, [True]]).astype(np.int8)))
    runs = [(int(a), int(b) - 1) for a, b in zip(steps[::2], steps[1::2], strict=True)]
    return [run for run in runs if blocks.end[run[1]] - blocks.begin[run[0]] >= shortest]


def _longest_pause(blocks: _Blocks, busy: np.ndarray, last: int, then: int) -> float:
    """Return the longest time within the window that may be a pause: from a busy block, which it may begin in, to the next."""
    at = np.arange(last + 1, then)[busy[last + 1 : then]]
    gaps = (blocks.end[at[1:]] - blocks.begin[at[:-1]])[np.diff(at) > 1]
    return float(np.max(gaps, initial=0.0))
