"""What a figure of energy is uncertain by beside its readings: the supply that nobody measured, and a room that is warmer than the data sheet's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hil.measure.capture import Capture
from hil.measure.data_sheet import DataSheet
from hil.measure.uncertainty import Contribution, rectangular

ASSUMED_SUPPLY = 0.05  # of the voltage: a regulator's tolerance and what an ohm of leads takes of it


@dataclass(frozen=True)
class Conditions:
    """What is known of them.

    Attributes:
        supply_error: limit of the supply's error as a share of the voltage it was set to, all that it gives way under load included; None: nobody knows.
        ambient_c: temperature about the meter in degrees Celsius; None: nobody knows.
    """

    supply_error: float | None = None
    ambient_c: float | None = None


def rows(
    conditions: Conditions, sheet: DataSheet, size_j: float, supplied_j: float, *, voltage_read: bool
) -> list[Contribution]:
    """Return the contributions to an energy.

    Args:
        conditions: as far as they are known.
        sheet: of the meter.
        size_j: of the energy, in joules.
        supplied_j: what the supply gave while the board worked, in joules: a supply that gives way under load alone errs by its limit of
            this, of which the idle energy that a net energy has subtracted takes nothing off.
        voltage_read: whether the power is of voltages that the meter read.
    """
    found = []
    if not voltage_read:
        known = conditions.supply_error is not None
        limit = conditions.supply_error if conditions.supply_error is not None else ASSUMED_SUPPLY
        # What a supply gives way under load is always there: the limit that somebody declares is what was measured, not the worst of many.
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
    """Return by how many degrees a temperature lies outside of what the limits of error hold for; 0 where it is not known."""
    low, high = sheet.specified_c
    return 0.0 if ambient_c is None else max(low - ambient_c, ambient_c - high, 0.0)


def reads_voltage(captures: Sequence[Capture], sheet: DataSheet, volt: float) -> bool:
    """Return whether the power of captures is of voltages that the meter answers for, and not of the one that its supply was set to."""
    if sheet.voltage_gain or sheet.voltage_offset_v:
        return True
    return any(bool(np.any(np.isfinite(one.voltage_v) & (one.voltage_v != volt))) for one in captures)


def doubts(conditions: Conditions, sheet: DataSheet) -> list[str]:
    """Return what is assumed of the room, a sentence."""
    if conditions.ambient_c is not None:
        return []
    low, high = sheet.specified_c
    return [
        f"the room is assumed to have {low:g} to {high:g} degrees, where the {sheet.name}'s limits of error hold: declare ambient_c in rig.toml."
    ]


def supply_flags(conditions: Conditions, sheet: DataSheet, *, voltage_read: bool) -> list[str]:
    """Return what a result must be flagged with: a supply that neither the meter nor anybody else looked at may give way by any amount."""
    if voltage_read or conditions.supply_error is not None:
        return []
    return [
        f"the {sheet.name} reads no voltage, and nobody declared the supply's: it is taken to be within {ASSUMED_SUPPLY:.0%} of what it was set to, "
        "under load too; measure it asleep and at work, and declare supply_error in rig.toml."
    ]
