"""Conditions on the readings of a window: numbers, within the range, and nearly all present."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.energy.capture import Capture
from hil.energy.current_ranges import at_limit
from hil.meters.meter import InvalidWindow

OVERLOAD = 9e37  # SCPI-99, volume 1, 7.2.1: infinity is 9.9e37
NOT_A_NUMBER = 9.91e37  # SCPI-99, volume 1, 7.2.1
OTHER_POWER = 0.1  # apart: power and current times voltage are not of one thing, or one has a wrong unit
MOST_LOST = 0.001  # share of a window's readings; the older runner of MLPerf Tiny's energy rules refuses a larger share


def require_numbers(current_a: np.ndarray, voltage_v: np.ndarray, name: str) -> None:
    """Check that all readings are numbers.

    Raises:
        InvalidWindow: overload (if of the current, the next larger range cures it), or not a number.
    """
    none = (
        np.isnan(current_a)
        | np.isnan(voltage_v)
        | np.isclose(current_a, NOT_A_NUMBER, rtol=1e-4, atol=0)
        | (np.abs(voltage_v) > OVERLOAD)
    )
    if np.any(none):
        raise InvalidWindow(f"the {name} returned readings that are not numbers")
    over = np.abs(current_a) > OVERLOAD
    if np.any(over):
        raise InvalidWindow(f"{np.sum(over)} readings of the {name} were beyond its current range", beyond_range=True)


@dataclass(frozen=True)
class Means:
    """Means of the power and of current times voltage, in watts, over the readings that have all three."""

    power_w: float
    product_w: float

    @property
    def apart(self) -> float:
        """Their difference as a share of the larger one."""
        size = max(abs(self.power_w), abs(self.product_w))
        return abs(self.power_w - self.product_w) / size if size else 0.0


def compare_power(power_w: np.ndarray, current_a: np.ndarray, voltage_v: np.ndarray) -> Means | None:
    """Return the means of power and of current times voltage, float64[n] each; None if no reading has all three."""
    product = current_a * voltage_v
    known = np.isfinite(product) & np.isfinite(power_w)
    return Means(float(power_w[known].mean()), float(product[known].mean())) if known.any() else None


def require_below_limit(current_a: np.ndarray, limit_a: float, name: str) -> None:
    """Check that no current, float64[n] amperes, is at the current limit of a supply, which gives too little there.

    Raises:
        InvalidWindow: at least one is.
    """
    cut = at_limit(current_a, limit_a)
    if cut:
        raise InvalidWindow(
            f"{cut} readings of the {name} are at its current limit of {limit_a:g} A: the board got too little current",
            beyond_range=True,
        )


def require_within_range(capture: Capture) -> None:
    """Check that no reading is at the end of the range, or so near that it may be clipped.

    Raises:
        InvalidWindow: at least one is; the next larger range cures it.
    """
    cut = at_limit(capture.current_a, capture.range_a)
    if cut:
        raise InvalidWindow(
            f"{cut} readings are at the end of the range of {capture.range_a:g} A and may be clipped: "
            "use a larger range",
            beyond_range=True,
        )


def missing(t_s: np.ndarray, interval_s: float) -> int:
    """Return how many readings are missing, from the gaps in their time stamps: float64[n] seconds, ascending."""
    return int(np.sum(np.maximum(np.rint(np.diff(t_s) / interval_s) - 1, 0)))


def require_complete(lost: int, kept: int, name: str) -> None:
    """Check that a window has nearly all of its readings.

    Raises:
        InvalidWindow: more than MOST_LOST of them are missing.
    """
    if lost > MOST_LOST * (lost + kept):
        raise InvalidWindow(f"the {name} lost {lost} of {lost + kept} readings of a window")
