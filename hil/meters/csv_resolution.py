"""How finely the numbers of a CSV file are written, and whether its power is volts x amperes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from hil.energy.capture import Capture
from hil.errors import RigError
from hil.meters.csv_columns import CsvColumn
from hil.meters.reading_checks import OTHER_POWER, compare_power

STEPS = 8  # of a counter; with fewer, their common divisor says little
EXACT = 1e12  # units of the last digit: of a larger counter, binary64 does not keep the steps exactly
NOTED = 0.01  # of the larger of two


def last_digit(cell: str) -> int:
    """Return the power of ten of the last digit of a number, such as -3 for `0.120` and `1.2e-2`."""
    mantissa, _, exponent = cell.lower().partition("e")
    return int(exponent or 0) - len(mantissa.replace(",", ".").partition(".")[2])


def counter_resolution(name: str, counter: np.ndarray, unit: float) -> float:
    """Return the smallest step of a counter: its last digit, or a multiple of it that divides all steps.

    Args:
        name: of the file.
        counter: float64[n].
        unit: one unit of the last digit.

    Raises:
        RigError: the counter never moves.
    """
    steps = np.diff(counter)
    if not steps.any():
        raise RigError(
            f"{name}: its energy counter is {counter[0]:.10g} in every line: it does not count, or the energy is below "
            "its last digit: record current and voltage instead, or measure for longer."
        )
    if len(steps) < STEPS or float(np.max(np.abs(counter))) > EXACT * unit:
        return unit
    units = np.rint(np.abs(steps) / unit).astype(np.int64)
    return unit * max(1, int(np.gcd.reduce(units))) if len(set(units.tolist())) > 1 else unit


def resolution_j(
    name: str, values: Mapping[str, np.ndarray], digits: Mapping[str, float], capture: Capture, means: bool, gaps: int
) -> float:
    """Return the standard uncertainty of the energy between the edges that comes from the resolution of the numbers.

    A number lies anywhere within one unit of its resolution (GUM, F.2.2.1): q / sqrt(12). All readings may be off by
    the same, as those of a steady load are. Of a counter two values are taken, one at each edge.

    Args:
        name: of the file.
        values: numbers of each kind in SI units, float64[n].
        digits: for each kind, one unit of its last digit in SI units.
        capture: the readings with their edges.
        means: whether the power is a column of means, and the counter is taken for gaps only.
        gaps: number of gaps in a file of means.

    Raises:
        RigError: an energy counter never moves.
    """
    duration = capture.edges[1].t_s - capture.edges[0].t_s
    parts = []
    if "energy" in values and (gaps or not means):
        counter = counter_resolution(name, values["energy"], digits["energy"])
        parts.append(counter * math.sqrt((gaps if means else 1) / 6))
    if "power" in values:
        parts.append(digits["power"] * duration / math.sqrt(12))
    elif "current" in values:
        volts, amps = float(np.mean(np.abs(capture.voltage_v))), float(np.mean(np.abs(capture.current_a)))
        parts.append(digits["current"] * volts * duration / math.sqrt(12))
        parts.append(digits.get("voltage", 0.0) * amps * duration / math.sqrt(12))
    return math.hypot(*parts)


def power_notes(
    name: str, used: Mapping[str, CsvColumn], values: Mapping[str, np.ndarray], voltage_v: np.ndarray, means: bool
) -> list[str]:
    """Return a note if a power column differs a little from volts x amperes; float64[n] each.

    Of `means` over an interval it may differ more: the product of two means is not the mean of the products.

    Raises:
        RigError: it differs much.
    """
    if not {"power", "current"} <= values.keys():
        return []
    seen = compare_power(values["power"], values["current"], voltage_v)
    if seen is None:
        return []
    says = (
        f"its column {used['power'].name!r} has a mean of {seen.power_w:.4g} W, and voltage x current one of "
        f"{seen.product_w:.4g} W"
    )
    if seen.apart > OTHER_POWER and not means:
        raise RigError(
            f"{name}: {says}: correct the unit or --volt of the wrong one, or choose the right one, with "
            f"--column '{used['power'].name}=power' or --column '{used['current'].name}=current'."
        )
    return [f"{says}; the power column was taken."] if seen.apart > NOTED else []


def counter_notes(
    used: Mapping[str, CsvColumn], values: Mapping[str, np.ndarray], times: np.ndarray, late: np.ndarray
) -> list[str]:
    """Return a note if an energy counter differs from the power times the time, where no row is missing.

    Args:
        used: the columns.
        values: of each kind in SI units, float64[n].
        times: of the rows in seconds, float64[n].
        late: which rows come after a gap, bool[n - 1] from the second one.
    """
    if not {"power", "energy"} <= values.keys():
        return []
    steps = np.where(late, 0.0, np.diff(times))
    counted = abs(float(np.sum(np.where(late, 0.0, np.diff(values["energy"])))))
    computed = abs(float(np.sum(values["power"][1:] * steps)))
    size = max(counted, computed)
    if not size or abs(counted - computed) <= NOTED * size:
        return []
    return [
        f"its column {used['energy'].name!r} counts {counted:.4g} J where no row is missing, and its column "
        f"{used['power'].name!r} has {computed:.4g} J: one of them is wrong."
    ]
