"""Energy windows in a trial: autonomous steps between two edges of the marker, each window checked bit for bit at its end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from hil.errors import Blocked
from hil.measure.energy import energy_of_windows
from hil.measure.window import WindowTrace
from hil.quantity import Provenance
from hil.targets.meter import Meter
from hil.trial.difference import Difference, differing_tensors
from hil.trial.spec import EnergyWindows

if TYPE_CHECKING:
    from hil.trial.lockstep import LockStep

MOST_RANGES = 4  # windows that may be lost while the range is found
READ_DEADLINE_S = 20.0
SILENCE = 5.0  # times the expected length of a window, before the agent is asked whether it still lives
ASSUMED = (
    "the board behind this meter is a stand-in: its currents are assumed (idle of the RP2040: FQT paper, table II), "
    "the energy says nothing about silicon."
)


def measure_windows(trial: LockStep, meter: Meter, wanted: EnergyWindows) -> None:
    """Run the windows and leave result, power trace and step times in the outcome.

    Raises:
        Blocked: the meter failed, or the batch is larger than the board's slots.
    """
    outcome, prepared = trial.outcome, trial.p
    if prepared.slots < prepared.settings.batch:
        raise Blocked(
            "energy", "a batch that streams cannot be trained without talking: choose one that the board holds."
        )
    traces: list[WindowTrace] = []
    for _ in range(wanted.windows + MOST_RANGES):
        trace = _one_window(trial, meter, wanted)
        if outcome.difference is not None:
            return
        traces = [*traces, trace] if trace is not None else []  # a new range: begin again
        if len(traces) == wanted.windows:
            break
    if len(traces) < wanted.windows:
        raise Blocked(
            "energy", f"only {len(traces)} of {wanted.windows} windows were within a range of the meter: run again."
        )
    hardware = outcome.reality == "hardware"
    word = Provenance.MEASURED if hardware else Provenance.MODELLED
    about = {
        "name": meter.sheet.name,
        "identity": meter.identity,
        "range": meter.used.amperes,
        "aperture_s": traces[0].aperture_s,
        "data_sheet": meter.sheet.key,
    }
    idle_s = wanted.idle_ms / 1000
    outcome.energy = energy_of_windows(traces, wanted.steps, idle_s, meter.sheet, meter.used, about, word.value)
    outcome.energy.assumptions += [] if hardware else [ASSUMED]
    outcome.power = [trace.table(number) for number, trace in enumerate(traces)]
    outcome.laps_s = [sum(lap) / outcome.clock_hz for lap in trial.device.laps()] if outcome.clock_hz else []


def _one_window(trial: LockStep, meter: Meter, wanted: EnergyWindows) -> WindowTrace | None:
    """Train the steps of one window on board and reference; return what the meter saw."""
    images, labels = trial.next_batch()
    first, trial.next_step = trial.next_step, trial.next_step + wanted.steps
    with ThreadPoolExecutor(max_workers=1) as worker:
        pending = worker.submit(lambda: [trial.reference.step(images, labels) for _ in range(wanted.steps)])
        trial.device.samples(images, labels)
        meter.arm(wanted.idle_ms / 1000)
        reply = trial.device.run(first, wanted.steps, len(images), wanted.idle_ms, _silence(trial, wanted))
        trace = meter.read(READ_DEADLINE_S)
        outcome = pending.result()[-1]
    _compare(trial, reply, outcome.digests, wanted.steps)
    return trace


def _silence(trial: LockStep, wanted: EnergyWindows) -> float:
    """Return how long the line must stay silent: the board's own time of a step, by wall clock at least a few seconds."""
    if not trial.outcome.steps or not trial.outcome.clock_hz:
        return SILENCE
    step_s = np.mean([row.cycles["total"] for row in trial.outcome.steps]) / trial.outcome.clock_hz
    return SILENCE + float(SILENCE * wanted.steps * step_s) + 2 * wanted.idle_ms / 1000


def _compare(trial: LockStep, reply: dict[str, Any], reference: tuple[int, ...], steps: int) -> None:
    wrong = differing_tensors(reply["digests"], reference)
    trial.outcome.final_digests = reply["digests"]
    trial.outcome.autonomous += steps
    if wrong:
        ours, theirs = f"digest {reply['digests'][wrong[0]]:08X}", f"digest {reference[wrong[0]]:08X}"
        name = trial.p.network.trained[wrong[0]].name
        what = f"after {steps} autonomous steps, weight"
        trial.outcome.difference = Difference(trial.next_step - 1, name, None, ours, theirs, what)
