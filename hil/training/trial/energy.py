"""Energy in a trial: windows of autonomous steps between two edges of the marker, and the conditions around them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from hil.dut import KEPT_POWER
from hil.energy.capture import Capture
from hil.energy.conditions import Conditions
from hil.errors import Blocked
from hil.meters.meter import Meter, refuse_two_times
from hil.training.trial.energy_windows import Windows
from hil.training.trial.second_sources.sleep import asleep_by_meter, check_sleep
from hil.training.trial.spec import EnergyWindows

if TYPE_CHECKING:
    from hil.training.trial.lockstep import LockStep

NOT_SWITCHED = "no: rig.toml names nothing that feeds the board"
NOT_BACK = (
    "the probe could not connect to the board again after its energy was measured, so that it has checked nothing of "
    "the end of this trial"
)
SWITCHED = "yes: off and on before the first window, by what rig.toml names"
FED_BY_METER = "no: the meter feeds the board, and stays on"


def measure_windows(
    trial: LockStep, meter: Meter, wanted: EnergyWindows, point: str | None = None, ambient_c: float | None = None,
    power: str = NOT_SWITCHED,
    supply_error: float | None = None,
) -> None:  # fmt: skip
    """Measure the windows and store result, power trace and step times in the outcome.

    Args:
        trial: after its compared steps.
        meter: wired to the board.
        wanted: number and length of the windows, and rules.
        point: where the meter is in the board's supply.
        ambient_c: temperature of the room in degrees Celsius, if known.
        power: whether the board was power-cycled before, as a sentence.
        supply_error: error limit of the supply as a share of its voltage, if declared.

    Raises:
        Blocked: the meter failed, it would date events in virtual time by the host's clock, too many windows were
            spoiled, or the batch is larger than the slots.
        DeviceFault: the board does not sleep when requested.
    """
    if trial.p.slots < trial.p.settings.batch:
        raise Blocked(
            "energy", "a streamed batch cannot be trained while the line is silent: choose one that the board holds."
        )
    refuse_two_times(meter, trial.outcome.reality, "energy")
    check_sleep(trial)
    trial.outcome.figures.raise_if_wrong()  # windows depend on the sleeps around them
    with _probe_away(trial) as detached:
        windows = Windows(trial, meter, wanted, Conditions(supply_error, ambient_c))
        windows.warm_up()
        result = windows.measure() if trial.outcome.difference is None else None
        if result is None:
            return
    asleep_by_meter(trial.outcome.figures, result)
    about = {
        "supply_v": trial.p.board.supply_v,
        "measuring_point": point or _usual_point(meter),
        "probe_detached": detached,
        "power_cycled": power,
    }
    result.meter |= about
    result.temperature = _temperature(ambient_c, windows.captures)
    result.flags += [KEPT_POWER] if detached is False else []
    trial.outcome.energy, trial.outcome.power = result, windows.captures


def _temperature(ambient_c: float | None, captures: list[Capture]) -> dict[str, Any]:
    """Return the known temperatures; empty if there are none. No port of the firmware reads its chip's sensor."""
    seen = [capture.temperature_c for capture in captures if capture.temperature_c is not None]
    known = {"ambient_c": ambient_c, "meter_c": float(np.mean(seen)) if seen else None}
    return known if any(value is not None for value in known.values()) else {}


@contextlib.contextmanager
def _probe_away(trial: LockStep) -> Iterator[bool | None]:
    """Detach the probe, because the chip's debug logic consumes power.

    Yields:
        Whether the debug port has given up its power; None without a probe.
    """
    probe = trial.probe_check.probe if trial.probe_check is not None else None
    if probe is None:
        yield None
        return
    off = probe.detach()
    try:
        yield off
    except BaseException:
        with contextlib.suppress(Blocked):  # what has happened is the reason, and the probe may help to explain it
            probe.attach()
        raise
    try:
        probe.attach(trial.device.digests)  # a board that sleeps cannot be connected to
    except Blocked as blocked:  # the windows are good all the same
        trial.without_probe()
        trial.outcome.notes.append(f"{NOT_BACK} ({blocked.reason.rstrip('.')}).")


def _usual_point(meter: Meter) -> str:
    return (
        "the board's supply, which the meter feeds"
        if meter.sheet.feeds
        else "not told: write measuring_point into rig.toml"
    )
