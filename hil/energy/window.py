"""Evaluate one energy window: readings before, during and after the steps between two edges of the marker.

The energy above idle needs no edges: power minus idle power, summed from one sleep to the other, is zero while the
board sleeps, so a reading across an edge counts in full. The edges only give the duration, which is multiplied by idle
power.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hil.energy.capture import Capture, Edge
from hil.energy.integration import cells, integral
from hil.errors import Blocked

PHASES = ("idle before", "steps", "idle after")
FEWEST_IDLE = 10  # readings of both sleeps together
IDLE_USED = 0.9  # of each sleep: its far end may contain something else
SEEN = 10  # readings per step that show the swing of its current
SMEAR_S, SMEAR_IDLE = 1e-3, 0.1  # longest smear of an edge by capacitors: seconds, share of the sleep
SWING = 1 / 27  # relative variance of a current uniform between half its peak and its peak: assumed within one reading
REGULAR = 0.03  # of the interval: readings whose spacing scatters less (median deviation) are on a grid


@dataclass(frozen=True)
class Window:
    """One window. Energies in joules, powers in watts, charge in coulombs, times in seconds.

    Attributes:
        gross, idle, net: energy between the edges; energy of sleep in that time; their difference.
        active_power: gross over duration.
        charge: between the edges; NaN if neither current nor voltage is known.
        voltage: mean while training; NaN if the meter does not report it.
        readings: between the edges.
        lost: missing readings; None if the meter cannot tell.
        idle_before, idle_after: power of each sleep; NaN without readings.
        duration_u: standard uncertainty of the duration, both edges together.
        ends_u: standard deviation of the net energy from the position of readings at the edges; 0 if not on a grid.
        lever: distance of the middle of the window from that of the idle readings; multiplies a drift of the offset.
        missing: limit of the net energy's error from lost readings.
        smoothed: as `smoothed_j` of the capture.
        synchronisation: how the edges were found (hil/energy/capture.py).
        temperature_c: at the meter's sensor; None if it has none.
        burden, idle_burden: the meter's own share of net and idle energy at its full burden voltage.
        burden_share: share of these that is subtracted; the rest is the error limit.
    """

    gross: float
    idle: float
    net: float
    idle_power: float
    active_power: float
    duration: float
    charge: float
    voltage: float
    readings: int
    lost: int | None
    idle_before: float
    idle_after: float
    duration_u: float
    ends_u: float
    lever: float
    missing: float
    burden: float
    idle_burden: float
    burden_share: float = 0.5
    synchronisation: str = "marker"
    temperature_c: float | None = None
    smoothed: float = 0.0


def edges_of(capture: Capture) -> tuple[Edge, Edge]:
    """Return the edges that begin and end the window.

    Raises:
        Blocked: there is not exactly one edge up followed by one down.
    """
    levels = [edge.high for edge in capture.edges]
    if levels != [True, False]:
        went = " and ".join("up" if level else "down" for level in levels) or "nowhere"
        reason = f"the marker went {went} within one window, not up and down: check the marker pin for a loose wire."
        raise Blocked("energy", reason)
    return capture.edges[0], capture.edges[1]


def window_of(
    capture: Capture,
    idle_s: float,
    burden_ohm: float = 0.0,
    steps: int = 1,
    burden_share: float = 0.5,
    hidden: float | None = None,
) -> Window:
    """Evaluate one window.

    Args:
        capture: the window with the sleep on both sides.
        idle_s: sleep before and after it.
        burden_ohm: largest resistance of the meter between supply and board.
        steps: number of steps in the window.
        burden_share: share of the largest burden that is subtracted.
        hidden: share by which the mean square of the current exceeds that of the readings, from a faster capture;
            None if there was none.

    Raises:
        Blocked: there are not two edges, or too few readings to separate steps from idle.
    """
    up, down = edges_of(capture)
    duration = down.t_s - up.t_s
    bounds = cells(capture)
    first, last, before, after = _parts(capture, bounds, idle_s)
    inside = (capture.t_s >= up.t_s) & (capture.t_s < down.t_s)
    if before.sum() + after.sum() < FEWEST_IDLE or inside.sum() < 2:
        raise Blocked(
            "energy",
            f"the meter made {before.sum() + after.sum()} readings while the board slept and {inside.sum()} while it "
            "trained: choose a shorter interval, a longer sleep or more steps.",
        )
    power, current = capture.power_w, current_of(capture)
    idles = _mean(power, before), _mean(power, after)
    idle_power, idle_current = _both(*idles), _both(_mean(current, before), _mean(current, after))
    net = integral(capture, power, bounds[first], bounds[last]) - idle_power * (bounds[last] - bounds[first])
    charge = integral(capture, current, bounds[first], bounds[last]) - idle_current * (bounds[last] - bounds[first])
    square = integral(capture, current**2, bounds[first], bounds[last]) - idle_current**2 * (
        bounds[last] - bounds[first]
    )
    if hidden is None:
        hidden = SWING if capture.aperture_s and duration / steps < SEEN * capture.interval_s else 0.0
    square += hidden * (square + idle_current**2 * duration)  # a mean square exceeds the squared mean
    lost_s = (capture.lost or 0) * capture.interval_s
    return Window(
        gross=net + idle_power * duration, idle=idle_power * duration, net=net, idle_power=idle_power,
        active_power=net / duration + idle_power, duration=duration, charge=charge + idle_current * duration,
        voltage=float(np.mean(capture.voltage_v[inside])), readings=int(inside.sum()), lost=capture.lost,
        idle_before=idles[0], idle_after=idles[1],
        duration_u=math.hypot(up.half_s, down.half_s, capture.unseen_s) / math.sqrt(3),
        ends_u=_ends(capture, net / duration), lever=_lever(bounds, first, last, before, after),
        missing=lost_s * float(np.ptp(power[inside])) / 2 + capture.unseen_s * float(np.max(np.abs(power[inside]))),
        burden=_or_zero(burden_ohm * square), idle_burden=_or_zero(burden_ohm * idle_current**2 * duration),
        burden_share=burden_share, synchronisation=capture.synchronisation, temperature_c=capture.temperature_c,
        smoothed=capture.smoothed_j,
    )  # fmt: skip


def _parts(capture: Capture, bounds: np.ndarray, idle_s: float) -> tuple[int, int, np.ndarray, np.ndarray]:
    """Return the bounds that certainly enclose the steps, plus one cell, and which readings are idle: bool[n] each."""
    up, down = edges_of(capture)
    last_cell = len(bounds) - 1
    smear = min(SMEAR_S, SMEAR_IDLE * idle_s)  # charge of capacitors comes late and belongs to the work
    first = max(int(np.searchsorted(bounds, up.t_s - up.half_s, side="right")) - 2, 0)
    last = min(int(np.searchsorted(bounds, down.t_s + down.half_s + smear)) + 1, last_cell)
    number = np.arange(last_cell)
    before = (number < first) & (bounds[:-1] >= up.t_s - IDLE_USED * idle_s)
    after = (number >= last) & (bounds[1:] <= down.t_s + IDLE_USED * idle_s)
    return first, last, before, after


def current_of(capture: Capture) -> np.ndarray:
    """Return the currents, from power and voltage if the meter reports only those; NaN if neither."""
    return np.where(np.isnan(capture.current_a), capture.power_w / capture.voltage_v, capture.current_a)


def _mean(values: np.ndarray, chosen: np.ndarray) -> float:
    return float(np.mean(values[chosen])) if chosen.any() else math.nan


def _both(before: float, after: float) -> float:
    """Return the mean of both sides, regardless of their lengths: it cancels a linear drift."""
    return float(np.nanmean([before, after])) if not (math.isnan(before) and math.isnan(after)) else math.nan


def _or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _lever(bounds: np.ndarray, first: int, last: int, before: np.ndarray, after: np.ndarray) -> float:
    middle = (bounds[1:] + bounds[:-1]) / 2
    return abs(float(bounds[first] + bounds[last]) / 2 - _both(_mean(middle, before), _mean(middle, after)))


def _ends(capture: Capture, rise_w: float) -> float:
    """Return the scatter of the net energy from the pauses between readings on a grid, at the two edges.

    While an edge moves over a pause of g seconds, the error is a saw tooth of +-g / 2: a standard deviation of g /
    sqrt(12). An instrument that repeats its last reading renews it on a grid, even if it is polled irregularly.
    """
    if not capture.renewed_s and not on_a_grid(capture):
        return 0.0
    between = capture.renewed_s or float(np.median(np.diff(capture.t_s)))
    pause = max(between - capture.aperture_s, 0.0)
    return abs(rise_w) * pause * math.sqrt(2 / 12)


def on_a_grid(capture: Capture) -> bool:
    """Return whether the readings have a constant interval; lost readings do not matter."""
    spacing = np.diff(capture.t_s)
    middle = float(np.median(spacing))
    return bool(np.median(np.abs(spacing - middle)) <= REGULAR * middle)
