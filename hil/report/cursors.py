"""What two cursors in a power trace need: sums up to each of their places, and the limits of error of the meter.

The trace that is drawn is thinned. The sums are over all readings, so the energy between two places is exact, whatever
is drawn between them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hil.energy.capture import Edge
from hil.energy.data_sheet import known_meters, load_data_sheet
from hil.energy.integration import integrals
from hil.energy.uncertainty import rectangular
from hil.energy.window import current_of
from hil.report.power import Trace

SUPPLY = "supply voltage"  # begin of its source in the budget (hil/energy/conditions.py)


@dataclass(frozen=True)
class CursorLimits:
    """Standard uncertainties of figures between two cursors, from the meter's limits of error.

    Attributes:
        energy, charge, time: shares of the figure.
        watts, amperes: grow with the time between the cursors.
    """

    energy: float
    charge: float
    time: float
    watts: float
    amperes: float


@dataclass(frozen=True)
class CursorPlace:
    """A time at which a cursor may stand beside those of the readings, and its standard uncertainty, in s."""

    t_s: float
    u_s: float


def limits_of(energy: Mapping[str, Any]) -> CursorLimits | None:
    """Return the uncertainties by the data sheet that a record names; None if this trainrig does not have it.

    The scatter of the windows is not part of them: it is not a property of one trace.
    """
    meter = energy["meter"]
    key, range_a = meter.get("data_sheet"), meter.get("range")
    if key not in known_meters() or not isinstance(range_a, (int, float)):
        return None
    sheet = load_data_sheet(str(key))
    used = next((one for one in sheet.ranges if math.isclose(one.amperes, range_a, rel_tol=1e-6)), None)
    if used is None:
        return None
    volt = float(meter.get("supply_v") or 0.0)
    amperes = math.hypot(rectangular(used.offset_a), used.resolution_a / math.sqrt(12))
    shared = math.hypot(rectangular(used.gain), rectangular(sheet.timebase))
    of_voltage = rectangular(sheet.voltage_gain), rectangular(sheet.voltage_offset_v) / volt if volt else 0.0
    of_energy = math.hypot(shared, *of_voltage, _supply_share(energy))
    return CursorLimits(of_energy, shared, rectangular(sheet.timebase), volt * amperes, amperes)


def _supply_share(energy: Mapping[str, Any]) -> float:
    """Return the uncertainty of a supply that the meter does not read, as a share of the gross energy."""
    of_step = [row["standard_uncertainty"] for row in energy["budget"] if str(row["source"]).startswith(SUPPLY)]
    gross = energy["gross"]["value"] / energy.get("steps_per_window", 1)
    return float(sum(of_step)) / gross if gross else 0.0


def cursor_data(trace: Trace, ends_s: Sequence[float], limits: CursorLimits | None) -> dict[str, Any]:
    """Return the places of the cursors with their sums, for the page's script.

    Args:
        trace: of a window.
        ends_s: ends of its steps, in s from the first edge.
        limits: of the meter.

    Returns:
        t float64[n] in s, ascending; energy float64[n] in J and charge float64[n] in C, up to each place; charge is
        None if the record has no current; `edges`: place and uncertainty of each edge; `limits`.
    """
    capture = trace.capture()
    last = float(capture.t_s[-1])
    drawn = [capture.t_s[places] for _, places in trace.kept()]
    marked = np.array([*(edge.t_s for edge in trace.edges), *(at for at in ends_s if 0 <= at <= last)])
    at_s = np.unique(np.concatenate([*drawn, marked]))
    sums = integrals(capture, capture.power_w, at_s)
    current = current_of(capture)
    charge = integrals(capture, current, at_s) if np.isfinite(current).all() else None
    return {
        "t": at_s,
        "energy": sums - sums[0],
        "charge": None if charge is None else charge - charge[0],
        "edges": [asdict(_place(edge)) for edge in trace.edges],
        "limits": asdict(limits) if limits is not None else None,
    }


def _place(edge: Edge) -> CursorPlace:
    return CursorPlace(edge.t_s, rectangular(edge.half_s))
