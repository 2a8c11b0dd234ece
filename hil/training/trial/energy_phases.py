"""Phases of a step in an energy measurement: the board's counts for every window, and their entry in the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hil.energy.capture import Capture
from hil.energy.data_sheet import CurrentRange, DataSheet
from hil.energy.phase_energy import Counted, PhasesUnknown, first_stretches, seconds_of, split, unresolved
from hil.energy.step_energy import EnergyResult
from hil.link.replies import Stepped
from hil.training.trial.second_sources.cycles import STEP_PHASES as LAP_PHASES

if TYPE_CHECKING:
    from hil.training.trial.lockstep import LockStep

MOST_DRAWN = 100  # stretches drawn over the power trace of the report
SMEARED = (
    "where a step is split into phases: the meter sees the chip through the board's capacitors, and what their time "
    "constant carries over the border of two phases is in no interval."
)


def counted_of(trial: LockStep, reply: Stepped, steps: int) -> Counted | None:
    """Return what the board counted in the run of this reply, the last one; None without a counter or a valid count."""
    clock_hz = trial.outcome.clock_hz
    if not trial.checks.counts:
        return None
    ran = trial.checks.run(reply, trial.next_step - 1, steps, trial.checks.timed(False))
    if ran is None:
        return None
    laps = tuple(dict(zip(LAP_PHASES, (cycles / clock_hz for cycles in lap), strict=True)) for lap in ran.laps)
    made, stretches = trial.device.stretches()
    if len(laps) == steps:
        trial.checks.stretches(made, stretches, dict(zip(LAP_PHASES, ran.laps[-1], strict=True)))
    timed = tuple((phase, cycles / clock_hz) for phase, cycles in stretches)
    return Counted((reply.cycles["total"] - reply.cycles["digest"]) / clock_hz, laps, timed, made)


def phases_json(
    captures: Sequence[Capture],
    result: EnergyResult,
    counted: Sequence[Counted | None],
    sheet: DataSheet,
    used: CurrentRange,
) -> dict[str, Any]:
    """Return the entry `phases` of the record: seconds of each, energy of those long enough for the meter, reasons."""
    known = [one for one in counted if one is not None]
    if len(known) < len(captures):
        return {"seconds": {}, "split": {}, "refusals": {}, "refused": "the board has no count of its phases."}
    entry: dict[str, Any] = {"seconds": seconds_of(known), "split": {}, "refusals": {}, "refused": None}
    entry["first_window"] = [list(stretch) for stretch in first_stretches(captures[0], known[0], MOST_DRAWN)]
    try:
        entry["refusals"] = unresolved(known, captures[0])
        if len(entry["refusals"]) < len(entry["seconds"]):
            volts = [window.voltage for window in result.windows]
            volt = float(np.mean(volts)) if np.isfinite(volts).all() else result.task.volt
            phases = split(captures, result.windows, known, sheet, used, volt)
            entry["split"] = {
                name: phase.to_json(result.provenance)
                for name, phase in phases.items()
                if name not in entry["refusals"]
            }
    except PhasesUnknown as error:
        return entry | {"refused": str(error)}
    if entry["refusals"]:
        entry["refused"] = max(entry["refusals"].items(), key=lambda item: -entry["seconds"][item[0]])[1]
    return entry
