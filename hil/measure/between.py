"""Statistics between two edges of the marker: energy, charge, mean, lowest and highest power, and what their uncertainty is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hil.errors import Blocked
from hil.measure.capture import Capture, Edge
from hil.measure.data_sheet import DataSheet
from hil.measure.uncertainty import Contribution, rectangular


@dataclass(frozen=True)
class Between:
    """What was read between two edges, in SI units; `charge_c` is NaN where the meter tells no current."""

    duration_s: float
    energy_j: float
    charge_c: float
    mean_w: float
    lowest_w: float
    highest_w: float
    readings: int


def between(capture: Capture, begin: Edge, end: Edge) -> Between:
    """Integrate from one edge to another.

    A reading that is a mean counts with the part of its time, up to the next reading, that lies between; point samples are joined by straight
    lines with their own times.

    Raises:
        Blocked: the second edge is not behind the first, or the readings do not reach from one to the other.
    """
    first, last = begin.t_s, end.t_s
    if last <= first:
        raise Blocked("energy", f"an edge at {last:g} s is not behind the one at {first:g} s: choose two edges in order.")
    reach = capture.t_s[-1] + (capture.interval_s if capture.aperture_s else 0.0) if len(capture.t_s) else -math.inf
    slack = 1e-9 * max(1.0, abs(last))
    if not len(capture.t_s) or capture.t_s[0] > first + slack or reach < last - slack:
        raise Blocked("energy", f"the readings do not reach from {first:g} s to {last:g} s: let the meter begin earlier and end later.")
    if capture.aperture_s:
        ends = np.append(capture.t_s[1:], reach)
        shares = np.clip(np.minimum(ends, last) - np.maximum(capture.t_s, first), 0.0, None)
        inside = shares > 0
        energy, charge = float(np.sum(capture.power_w * shares)), float(np.sum(np.where(inside, capture.current_a, 0.0) * shares))
        power = capture.power_w[inside]
    else:
        inside = (capture.t_s > first) & (capture.t_s < last)
        times = np.concatenate([[first], capture.t_s[inside], [last]])
        power = np.interp(times, capture.t_s, capture.power_w)
        energy, charge = _trapezoid(power, times), _trapezoid(np.interp(times, capture.t_s, capture.current_a), times)
    duration = last - first
    return Between(duration, energy, charge, energy / duration, float(power.min()), float(power.max()), int(np.sum(inside)))


def budget(capture: Capture, begin: Edge, end: Edge, sheet: DataSheet) -> list[Contribution]:
    """Return what the standard uncertainty of the energy between two edges is made of, in joules, from the data sheet and the edges.

    Limits of error are rectangular (GUM, 4.3.7). The noise of the current is white: over a time T its mean scatters by noise / sqrt(T).
    """
    found = between(capture, begin, end)
    used = sheet.range_for(capture.range_a)
    t, e = found.duration_s, abs(found.energy_j)
    q = abs(found.charge_c) if math.isfinite(found.charge_c) else 0.0
    volt = e / q if q else 0.0
    mean_volt = float(np.nanmean(capture.voltage_v)) if np.isfinite(capture.voltage_v).any() else 1.0
    volt = volt or mean_volt
    edges = [rectangular(edge.half_s) * _step(capture, edge) for edge in (begin, end)]
    return [
        Contribution("current gain", "B", rectangular(used.gain) * e),
        Contribution("current offset", "B", rectangular(used.offset_a) * volt * t),
        Contribution("current resolution", "B", used.resolution_a / math.sqrt(12) * volt * t),
        Contribution("current noise", "B", used.noise_a * volt * math.sqrt(t)),
        Contribution("current drift", "B", rectangular(sheet.drift_a_per_s) * volt * t * t / 2),
        Contribution("voltage gain", "B", rectangular(sheet.voltage_gain) * e),
        Contribution("voltage offset", "B", rectangular(sheet.voltage_offset_v) * q),
        Contribution("time base", "B", rectangular(sheet.timebase) * e),
        Contribution("both edges", "B", math.hypot(*edges)),
    ]


def _step(capture: Capture, edge: Edge) -> float:
    """Return by how much power may be told wrong where the edge is not sharp: the largest power near it, less the smallest."""
    near = np.abs(capture.t_s + capture.aperture_s / 2 - edge.t_s) <= edge.half_s + 2 * capture.interval_s
    power = capture.power_w[near]
    if len(power) < 2:
        return float(np.max(np.abs(capture.power_w)))
    return float(power.max() - power.min())


def _trapezoid(values: np.ndarray, times: np.ndarray) -> float:
    return float(np.sum((values[1:] + values[:-1]) / 2 * np.diff(times)))
