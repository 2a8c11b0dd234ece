"""Whether the readings that a plugin's meter gives are what the interface says (docs/new-board.md)."""

from __future__ import annotations

import math

import numpy as np

from hil.energy.capture import Capture, Edge
from hil.energy.data_sheet import DataSheet
from hil.meters.reading_checks import OTHER_POWER, compare_power

SAME_RANGE = 1e-6  # relative
SECONDS = ("aperture_s", "interval_s", "renewed_s", "unseen_s")
JOULES = ("smoothed_j", "resolution_j")


def wrong_capture(value: object, sheet: DataSheet) -> str:
    """Return why a value is no capture of a meter with this data sheet, as a clause; empty if it is one."""
    if not isinstance(value, Capture):
        return f"it is no Capture but {type(value).__name__}"
    return _wrong_arrays(value) or _wrong_edges(value) or _wrong_numbers(value, sheet) or _contradicts(value)


def _wrong_arrays(capture: Capture) -> str:
    count = len(capture.t_s) if isinstance(capture.t_s, np.ndarray) else 0
    optional = {"ends_s": capture.ends_s} if capture.ends_s is not None else {}
    arrays = {name: getattr(capture, name) for name in ("t_s", "power_w", "current_a", "voltage_v")} | optional
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or array.ndim != 1:
            return f"its {name} is no array of floats with one axis"
        if not count or len(array) != count:
            return f"its {name} has {len(array)} readings and its t_s {count}: all need as many, at least one"
    if not np.isfinite(capture.t_s).all() or not np.isfinite(capture.power_w).all():
        return "its t_s or power_w has a value that is no finite number"
    return "" if (np.diff(capture.t_s) >= 0).all() else "its t_s does not ascend"


def _wrong_edges(capture: Capture) -> str:
    for edge in capture.edges:
        if not isinstance(edge, Edge) or not math.isfinite(edge.t_s) or not 0 <= edge.half_s < math.inf:
            return f"its edge {edge} has no finite time, or no half width of at least 0"
    return ""


def _wrong_numbers(capture: Capture, sheet: DataSheet) -> str:
    for name in (*SECONDS, *JOULES):
        if not 0 <= getattr(capture, name) < math.inf:
            return f"its {name} is {getattr(capture, name)}"
    ranges = [each.amperes for each in sheet.ranges]
    if not any(math.isclose(capture.range_a, one, rel_tol=SAME_RANGE) for one in ranges):
        return f"its range_a is {capture.range_a:g} A, which the data sheet {sheet.key} does not have"
    return ""


def _contradicts(capture: Capture) -> str:
    means = compare_power(capture.power_w, capture.current_a, capture.voltage_v)
    if means is None or means.apart <= OTHER_POWER:
        return ""
    return f"its power has the mean {means.power_w:.3g} W, and its current times its voltage {means.product_w:.3g} W"
