"""Uncertainty from an unmeasured supply voltage, and from a temperature outside the data sheet's range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hil.energy.capture import Capture
from hil.energy.data_sheet import DataSheet
from hil.energy.uncertainty import Contribution, rectangular

ASSUMED_SUPPLY = 0.05  # of the voltage: tolerance of a regulator, and the drop over an ohm of leads


@dataclass(frozen=True)
class Conditions:
    """Conditions of supply and room, as far as known.

    Attributes:
        supply_error: error limit of the supply as a share of its set voltage, including its sag under load; None:
            unknown.
        ambient_c: temperature around the meter in degrees Celsius; None: unknown.
    """

    supply_error: float | None = None
    ambient_c: float | None = None


def rows(
    conditions: Conditions, sheet: DataSheet, size_j: float, supplied_j: float, *, voltage_read: bool
) -> list[Contribution]:
    """Return the contributions to an energy.

    Args:
        conditions: supply and room, as far as known.
        sheet: data sheet of the meter.
        size_j: the energy in joules.
        supplied_j: energy of the supply while the board worked, in joules. The error of a supply that sags only under
            load is a share of this; subtracting the idle energy does not reduce it.
        voltage_read: whether the power comes from voltages that the meter read.
    """
    found = []
    if not voltage_read:
        known = conditions.supply_error is not None
        limit = conditions.supply_error if conditions.supply_error is not None else ASSUMED_SUPPLY
        # A sag under load is systematic, and a declared limit is measured: the error is near a limit, not between.
        source = f"supply voltage, {'declared' if known else 'assumed'} within {limit:.2%}"
        found.append(Contribution(source, "B", limit / math.sqrt(2) * supplied_j, shape="arcsine"))
    beyond = degrees_beyond(conditions.ambient_c, sheet)
    if beyond:
        limit = sheet.per_degree * beyond * (max(one.gain for one in sheet.ranges) + sheet.voltage_gain)
        found.append(
            Contribution(f"temperature, {beyond:.1f} degrees beyond the data sheet's", "B", rectangular(limit) * size_j)
        )
    return found


def degrees_beyond(ambient_c: float | None, sheet: DataSheet) -> float:
    """Return by how many degrees a temperature lies outside the data sheet's specified range; 0 if it is unknown."""
    low, high = sheet.specified_c
    return 0.0 if ambient_c is None else max(low - ambient_c, ambient_c - high, 0.0)


def reads_voltage(captures: Sequence[Capture], sheet: DataSheet, volt: float) -> bool:
    """Return whether the power of captures comes from voltages that the meter measured, not from the set voltage."""
    if sheet.voltage_gain or sheet.voltage_offset_v:
        return True
    return any(bool(np.any(np.isfinite(one.voltage_v) & (one.voltage_v != volt))) for one in captures)


def ambient_assumptions(conditions: Conditions, sheet: DataSheet) -> list[str]:
    """Return the assumption about the room as a sentence, if its temperature is unknown."""
    if conditions.ambient_c is not None:
        return []
    low, high = sheet.specified_c
    return [
        f"the room is assumed to have {low:g} to {high:g} degrees, where the {sheet.name}'s limits of error hold: "
        "declare ambient_c in rig.toml."
    ]


def supply_flags(conditions: Conditions, sheet: DataSheet, *, voltage_read: bool) -> list[str]:
    """Return a flag if nothing measured the supply and no error limit of it is declared."""
    if voltage_read or conditions.supply_error is not None:
        return []
    return [
        f"the {sheet.name} reads no voltage, and none is declared: the supply is assumed to be within "
        f"{ASSUMED_SUPPLY:.0%} of its setting, also under load; measure it asleep and at work, "
        "and declare supply_error in rig.toml."
    ]
