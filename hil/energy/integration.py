"""Integrate readings to charge and energy.

A reading that is a mean over its aperture stands for a cell of time; at the ends of a stretch, cells count in part.
Instants are joined by straight lines, the trapezoidal rule with real time stamps. The trapezoidal rule over means would
smear every step of the power over two cells.
"""

from __future__ import annotations

import numpy as np

from hil.energy.capture import Capture


def cells(capture: Capture) -> np.ndarray:
    """Return the bounds of the time for which each reading stands, in s, float64[n + 1], ascending.

    A bound lies half way between two apertures. So apertures without a gap keep their own bounds, and neighbours share
    the time of a lost reading.
    """
    ends = capture.t_s + capture.aperture_s if capture.ends_s is None else capture.ends_s
    pause = (capture.interval_s - capture.aperture_s) / 2
    return np.concatenate([[capture.t_s[0] - pause], (ends[:-1] + capture.t_s[1:]) / 2, [ends[-1] + pause]])


def integral(capture: Capture, values: np.ndarray, begin_s: float, end_s: float) -> float:
    """Return the integral of a quantity over a stretch of time on the meter's clock.

    Args:
        capture: times and kind of the readings.
        values: float64[n], one per reading: watts for joules, amperes for coulombs.
        begin_s, end_s: the stretch; outside the readings the nearest one is continued.
    """
    first, last = integrals(capture, values, np.array([begin_s, end_s]))
    return float(last - first)


def integrals(capture: Capture, values: np.ndarray, at_s: np.ndarray) -> np.ndarray:
    """Return the integral of a quantity up to each of several times, float64[k]; arguments as in `integral`.

    Differences between them are integrals over stretches.
    """
    below = _below_of_instants if capture.aperture_s == 0 else _below_of_means
    return below(capture, values, at_s)


def _below_of_means(capture: Capture, values: np.ndarray, at_s: np.ndarray) -> np.ndarray:
    bounds = cells(capture)
    total = np.concatenate([[0.0], np.cumsum(values * np.diff(bounds))])
    cell = np.clip(np.searchsorted(bounds, at_s, side="right") - 1, 0, len(values) - 1)
    integral: np.ndarray = total[cell] + values[cell] * (at_s - bounds[cell])
    return integral


def _below_of_instants(capture: Capture, values: np.ndarray, at_s: np.ndarray) -> np.ndarray:
    t_s = capture.t_s
    total = np.concatenate([[0.0], np.cumsum(np.diff(t_s) * (values[1:] + values[:-1]) / 2)])
    inside = np.clip(at_s, t_s[0], t_s[-1])
    left = np.clip(np.searchsorted(t_s, inside, side="right") - 1, 0, len(t_s) - 2)
    there = np.interp(inside, t_s, values)
    integral: np.ndarray = total[left] + (inside - t_s[left]) * (values[left] + there) / 2 + (at_s - inside) * there
    return integral
