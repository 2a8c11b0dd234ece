"""Check the edges of the marker against the power around them.

A bouncing marker, a glitch on its wire or a log that begins late give two edges that look correct but enclose a wrong
window. The power shows it: the board sleeps before the first edge and after the second one at about the same power, and
draws another power between them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hil.energy.capture import Capture, Edge
from hil.energy.edge_search import NOISE, POWER, HostTimes, NoEdges, Stamped, edges_by_power
from hil.energy.integration import cells
from hil.energy.window import SMEAR_IDLE, SMEAR_S

SLEEP_USED = 0.9  # of the sleep: its far ends may contain something else
DIFFERS = 0.25  # of the rise from sleep to work: if the two sleeps differ by more, one of them is not a sleep
FEWEST = 4  # readings of each sleep and of the work that are needed for the check
UNCHECKED = (
    "the power does not show where the work begins and ends: the marker's edges could not be checked against it."
)

BELOW = (
    "the power between the edges is below that outside: if the marker is low while the board works, this is the rest "
    "between two windows."
)


class WrongEdges(Exception):
    """The edges are not those of the work. The reason is one sentence without a full stop."""


def edge_tolerance_s(capture: Capture, idle_s: float) -> float:
    """Return the largest distance of an edge from its change of power: smear by capacitors, plus one reading."""
    return min(SMEAR_S, SMEAR_IDLE * idle_s) + capture.interval_s


def check_changes(levels: list[bool]) -> None:
    """Check that a marker went up and down once, or that only the first part of that was seen.

    Raises:
        WrongEdges: it bounced, or changed in another order.
    """
    if levels not in ([], [True], [True, False]):
        listed = ", ".join("up" if level else "down" for level in levels[:6]) + ", ..." * (len(levels) > 6)
        raise WrongEdges(
            f"the marker changed {len(levels)} times in one window ({listed}), not up and down: "
            "check the marker pin for bounce, a loose wire, or a level that is low while the board works"
        )


def checked_edges(capture: Capture, idle_s: float) -> Capture:
    """Return a capture whose edges agree with the power; an edge gets the power's time if that is more certain.

    A note is added if the power cannot show the edges: work draws as much as sleep, or there are too few readings.

    Args:
        capture: with one edge up and one down.
        idle_s: sleep before and after them.

    Raises:
        WrongEdges: the board worked outside the edges, or the power changes elsewhere.
    """
    up, down = capture.edges
    rise_w, noise_w = _same_sleep(capture, idle_s)
    if not abs(rise_w) > NOISE * noise_w:
        return capture.noted(UNCHECKED)
    if rise_w < 0:
        capture = capture.noted(BELOW)
    reach = SLEEP_USED * idle_s
    near = (capture.t_s >= up.t_s - up.half_s - reach) & (
        capture.t_s + capture.aperture_s <= down.t_s + down.half_s + reach
    )
    readings = Stamped(capture.t_s[near], capture.power_w[near], np.zeros(int(near.sum())), capture.aperture_s)
    try:
        by_power = edges_by_power(readings, HostTimes(reach))
    except NoEdges:
        return capture.noted(UNCHECKED)
    slack = edge_tolerance_s(capture, idle_s)
    for edge, power in zip((up, down), by_power, strict=True):
        if abs(edge.t_s - power.t_s) > edge.half_s + power.half_s + slack:
            raise WrongEdges(
                f"the marker goes {'up' if edge.high else 'down'} at {edge.t_s:.6g} s of the readings, and "
                f"the power changes at {power.t_s:.6g} s: check the marker's wire"
            )
    better = tuple(_better(edge, power, slack) for edge, power in zip((up, down), by_power, strict=True))
    return capture if better == (up, down) else replace(capture, edges=better, synchronisation=POWER)


def _better(edge: Edge, power: Edge, slack: float) -> Edge:
    """Return the change of power instead of an edge whose time is much less certain."""
    return edge if edge.half_s <= 2 * (power.half_s + slack) else replace(power, half_s=power.half_s + slack)


def _same_sleep(capture: Capture, idle_s: float) -> tuple[float, float]:
    """Return the change from sleep to work in watts, negative if work draws less, and its standard uncertainty.

    Raises:
        WrongEdges: the power after the second edge differs from that before the first one.
    """
    up, down = capture.edges
    bounds, slack = cells(capture), edge_tolerance_s(capture, idle_s)
    begin, end = bounds[:-1], bounds[1:]
    before = (end <= up.t_s - up.half_s - slack) & (begin >= up.t_s - SLEEP_USED * idle_s)
    after = (begin >= down.t_s + down.half_s + slack) & (end <= down.t_s + SLEEP_USED * idle_s)
    work = (begin >= up.t_s + up.half_s) & (end <= down.t_s - down.half_s)
    parts = [capture.power_w[part] for part in (before, after, work)]
    if min(map(len, parts)) < FEWEST:
        return 0.0, 0.0
    first, second, between = (float(np.mean(part)) for part in parts)
    # The smaller scatter of the two, because the other sleep may contain work.
    uncertain = float(np.sqrt(2) * min(np.std(part) / np.sqrt(len(part)) for part in parts[:2]))
    rise = max(abs(between - first), abs(between - second))
    if abs(second - first) > DIFFERS * rise + NOISE * uncertain:
        raise WrongEdges(
            f"the power is {first:.4g} W before the marker's first edge, {between:.4g} W between the edges and "
            f"{second:.4g} W after the second, so an edge is wrong or the board did not sleep on both sides: "
            "check the marker pin for bounce, or let the board sleep"
        )
    return math.copysign(rise, abs(between) - abs(first + second) / 2), uncertain
