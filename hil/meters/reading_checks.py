"""What the readings of a window must be to count: numbers, within the range, and nearly all there."""

from __future__ import annotations

import numpy as np

from hil.energy.capture import Capture, Edge
from hil.energy.current_ranges import at_limit
from hil.meters.meter import Spoiled

OVERLOAD = 9e37  # SCPI-99, volume 1, 7.2.1: infinity is 9.9e37
NOT_A_NUMBER = 9.91e37  # the same
MOST_LOST = 0.001  # share of a window's readings; the older runner of MLPerf Tiny's energy rules refuses more


def require_numbers(current_a: np.ndarray, voltage_v: np.ndarray, name: str) -> None:
    """Refuse readings that are none.

    Raises:
        Spoiled: overload (which the next range up cures where it is the current's), or not a number.
    """
    none = (
        np.isnan(current_a)
        | np.isnan(voltage_v)
        | np.isclose(current_a, NOT_A_NUMBER, rtol=1e-4, atol=0)
        | (np.abs(voltage_v) > OVERLOAD)
    )
    if np.any(none):
        raise Spoiled(f"the {name} returned readings that are not numbers")
    over = np.abs(current_a) > OVERLOAD
    if np.any(over):
        raise Spoiled(f"{np.sum(over)} readings of the {name} were beyond its current range", beyond_range=True)


def require_below_limit(current_a: np.ndarray, limit_a: float, name: str) -> None:
    """Refuse readings at the limit of current that a supply was set to, float64[n] amperes: the board wanted more, and was starved.

    Raises:
        Spoiled: one at least.
    """
    cut = at_limit(current_a, limit_a)
    if cut:
        raise Spoiled(
            f"{cut} readings of the {name} lie at its limit of current, {limit_a:g} A: the board was starved",
            beyond_range=True,
        )


def require_within_range(capture: Capture) -> None:
    """Refuse readings at the end of the range or so near to it that they may be cut off.

    Raises:
        Spoiled: one at least; the next range up cures it.
    """
    cut = at_limit(capture.current_a, capture.range_a)
    if cut:
        raise Spoiled(
            f"{cut} readings lie at the end of the range of {capture.range_a:g} A, and may be cut off: take a larger range",
            beyond_range=True,
        )


def missing(t_s: np.ndarray, interval_s: float) -> int:
    """Return how many readings are missing between the first and the last, by gaps in their time stamps: float64[n] seconds, ascending."""
    return int(np.sum(np.maximum(np.rint(np.diff(t_s) / interval_s) - 1, 0)))


def require_complete(lost: int, kept: int, name: str) -> None:
    """Refuse a window of which too much is missing.

    Raises:
        Spoiled: more than MOST_LOST of its readings.
    """
    if lost > MOST_LOST * (lost + kept):
        raise Spoiled(f"the {name} lost {lost} of {lost + kept} readings of a window")


def edge_between(before_s: float, after_s: float, *, high: bool) -> Edge:
    """Return an edge that happened between the begins of two neighbouring readings, the second of which was the first to begin after it."""
    return Edge((before_s + after_s) / 2, (after_s - before_s) / 2, high)
