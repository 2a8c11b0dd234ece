"""Figures between two edges of a pin: energy, mean power, duration and charge, with uncertainties and notes."""

from __future__ import annotations

import math
from typing import Any

from hil.energy.capture import MARKER, SHARED
from hil.energy.conditions import ASSUMED_SUPPLY, Conditions
from hil.energy.data_sheet import READ_BY_HAND, DataSheet
from hil.energy.edge_search import HOST, POWER
from hil.energy.marker_interval import MarkerInterval, burden_j, interval_budget
from hil.energy.provenance import provenance_of
from hil.energy.uncertainty import Contribution, combined, rectangular
from hil.errors import Blocked
from hil.quantity import Provenance, Quantity

COVERAGE = 2.0  # about 95 %: the data sheet's contributions have unlimited degrees of freedom
FEW = 10  # readings: with fewer, point samples and edges say little
MODELLED = "the meter is virtual: the figures are those of a model, and nothing was measured."
TIME_BASE = "time base"
FOUND_BY = {POWER: "change of power", HOST: "host's clock"}


UNKNOWN = Conditions()


def require_not_negative(energy_j: float, name: str) -> None:
    """Raise Blocked if the energy between two edges is below 0, so that the meter `name` sees the current reversed."""
    if energy_j < 0:
        raise Blocked(
            "meter",
            f"the {name} has read an energy below 0 ({energy_j:.3g} J): the current flows the other way, exchange the "
            "leads, or correct the sign of the column.",
        )


def evaluate(
    found: MarkerInterval, sheet: DataSheet, identity: str, steps: int, conditions: Conditions = UNKNOWN
) -> dict[str, Any]:
    """Return the figures between the first two edges, with uncertainties and notes.

    The energy is that of the board: the meter's own consumption, as far as its data sheet gives it, is subtracted.

    Args:
        found: energy, duration and other sums of a window.
        sheet: data sheet of the meter; for readings by hand, their accuracy as that of power, however they were made.
        identity: how the meter identifies itself.
        steps: the energy is divided by this number.
        conditions: of supply and room, as far as known.

    Raises:
        Blocked: the energy is below 0.
    """
    voltage_read = sheet.key == READ_BY_HAND or bool(sheet.voltage_gain or sheet.voltage_offset_v)
    burden, _ = burden_j(found, sheet)
    energy = found.energy_j - burden
    require_not_negative(energy, sheet.name)
    parts = interval_budget(found, sheet, conditions, voltage_read=voltage_read)
    missing = _missing(found)
    if missing.standard:
        parts.append(missing)
    word = Provenance.DECLARED if sheet.key == READ_BY_HAND else provenance_of("hardware", identity)
    flags = [*([MODELLED] if word is Provenance.MODELLED else []), *_warnings(found, sheet)]
    flags += [*([] if voltage_read else [_supply(found, sheet, conditions)]), *found.notes]
    if sheet.unverified:
        flags.append(f"of the {sheet.name}'s data sheet is unverified: {'; '.join(sheet.unverified)}.")
    u = combined(parts)
    u_time = math.hypot(
        rectangular(found.begin.half_s),
        rectangular(found.end.half_s),
        rectangular(sheet.timebase) * found.duration_s,
        rectangular(found.unseen_s),
    )
    u_power = combined([one for one in parts if one.source != TIME_BASE]) / found.duration_s

    def quantity(value: float, unit: str, uncertainty: float | None = None) -> dict[str, Any]:
        return Quantity(value, unit, word, uncertainty).to_json()

    figures = {
        "energy": quantity(energy, "J", u), "energy_per_step": quantity(energy / steps, "J", u / steps),
        "mean_power": quantity(energy / found.duration_s, "W", u_power),
        "duration": quantity(found.duration_s, "s", u_time),
        "lowest_power": quantity(found.lowest_w, "W"), "highest_power": quantity(found.highest_w, "W"),
    }  # fmt: skip
    if burden:
        figures["burden"] = quantity(burden, "J")
    if math.isfinite(found.charge_c):
        figures["charge"] = quantity(found.charge_c, "C")
    if math.isfinite(found.voltage_v):
        figures["voltage"] = quantity(found.voltage_v, "V")
    about = {
        "name": sheet.name,
        "identity": identity,
        "data_sheet": sheet.key,
        "range_a": found.range_a,
        "aperture_s": found.aperture_s,
    }
    rows = [{"source": one.source, "kind": one.kind, "standard_uncertainty": one.standard} for one in parts]
    return figures | {
        "steps": steps, "readings": found.readings, "synchronisation": found.synchronisation,
        "coverage_factor": COVERAGE, "budget": rows,
        "meter": about, "flags": flags,
    }  # fmt: skip


def _missing(found: MarkerInterval) -> Contribution:
    """Return the uncertainty from missing readings: any power from the lowest to the highest of the others.

    It lasts as long as the missing readings do.
    """
    lost = found.lost or 0
    lost_s = found.duration_s * lost / max(found.readings + lost, 1)
    return Contribution("missing readings", "B", rectangular(lost_s * (found.highest_w - found.lowest_w)))


def _warnings(found: MarkerInterval, sheet: DataSheet) -> list[str]:
    doubts = []
    if found.changes > 2:
        doubts.append(f"the pin changed {found.changes} times: the first two changes count.")
    if found.synchronisation != MARKER:
        doubts.append(
            "the meter did not date both changes of the pin well: what it missed is from the "
            f"{FOUND_BY[found.synchronisation]}."
        )
    if found.readings < FEW:
        doubts.append(
            f"only {found.readings} reading{'s' * (found.readings != 1)} between the edges: "
            "shorter pulses are not seen."
        )
    if not found.aperture_s:
        doubts.append("the readings are instants: what happens between two of them is not seen.")
    if found.lost is None and found.readings > 1:
        doubts.append("the meter cannot tell whether readings were lost.")
    if found.lost:
        doubts.append(f"{found.lost} readings are missing; {SHARED}")
    return doubts


def _supply(found: MarkerInterval, sheet: DataSheet, conditions: Conditions) -> str:
    """Return a note on the voltage that the meter does not measure."""
    taken = f"the {sheet.name} reads no voltage: the supply was taken to be {found.voltage_v:g} V (--volt)"
    if conditions.supply_error is not None:
        return f"{taken}, within {conditions.supply_error:.2%} under load (--supply-error)."
    return (
        f"{taken}, and assumed to be within {ASSUMED_SUPPLY:.0%} under load: "
        "measure it, and say so with --supply-error."
    )
