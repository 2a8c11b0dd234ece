"""Run one trial: prepare, take, flash, greet, train in lock-step, measure, judge."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from hil.errors import Blocked, DeviceFault, RigError
from hil.link.session import Refused, Session, fresh_nonce
from hil.meters.meter import Meter
from hil.meters.open import open_meter
from hil.rig import Rig, Taken
from hil.targets import Target, open_target
from hil.trial.device import Device, refused
from hil.trial.energy import measure_windows
from hil.trial.lockstep import LockStep
from hil.trial.outcome import Flashed, Outcome, StepRow
from hil.trial.prepare import Prepared, prepare
from hil.trial.spec import TrialSpec
from hil.trial.witness import Witness


def run_trial(
    spec: TrialSpec,
    rig: Rig,
    folder: Path,
    elf: Path | None = None,
    inject: tuple[str, ...] = (),
    progress: Callable[[StepRow], None] = lambda row: None,
    reflash: bool = False,
    tell: Callable[[str], None] = lambda sentence: None,
) -> Outcome:
    """Run one trial to its verdict; faults of the rig and of the device end in the outcome, not in an exception.

    Args:
        spec: what to run.
        rig: gives the board.
        folder: takes the logs.
        elf: the user's own firmware in the place of the prebuilt image.
        inject: faults for the virtual bench.
        progress: called after every step.
        reflash: program the board even when it holds the image.
        tell: takes a sentence for the person at the bench (a button to be pressed).

    Raises:
        RigError: the request itself is wrong (unknown name, setting out of range); nothing was started.
    """
    started = time.monotonic()
    outcome = Outcome(spec)
    try:
        prepared = prepare(spec, elf)
        outcome.begin(prepared)
        with rig.take(prepared.board, prepared.image, folder / "bench.log", inject) as taken:
            outcome.reality = taken.endpoints.reality
            try:
                with _target(prepared, taken, tell) as (target, meter):
                    if target.probe is not None and target.probe.virtual:
                        outcome.reality = "virtual"  # also where rig.toml names it as if it were attached: no figure of it is silicon's
                    outcome.flash = _flash(target, prepared, reflash)
                    _train(prepared, taken, target, meter, outcome, progress)
            except RigError:
                chip_fault = taken.chip_fault()
                if chip_fault:
                    raise DeviceFault(chip_fault) from None
                taken.alive()  # a stand-in that died is the better reason
                raise
    except Blocked as blocked:
        outcome.block(blocked)
    except DeviceFault as fault:
        outcome.fail(str(fault))
    outcome.wall_s = time.monotonic() - started
    outcome.judge()
    return outcome


@contextlib.contextmanager
def _target(prepared: Prepared, taken: Taken, tell: Callable[[str], None]) -> Iterator[tuple[Target, Meter | None]]:
    with _meter(prepared, taken) as meter:  # first of all: it feeds the board
        target = open_target(prepared.board, taken.endpoints, taken.probe_process, tell)
        try:
            yield target, meter
        finally:
            target.close()


def _flash(target: Target, prepared: Prepared, reflash: bool) -> Flashed:
    programmed = target.flash(prepared.image, reflash)
    return Flashed(target.route.name, programmed, target.cycles)


def _train(
    prepared: Prepared,
    taken: Taken,
    target: Target,
    meter: Meter | None,
    outcome: Outcome,
    progress: Callable[[StepRow], None],
) -> None:
    session = Session(target.port, fresh_nonce(), taken.alive)
    outcome.link = session.counters
    try:
        device = Device(session, prepared.board, prepared.image)
        outcome.clock_hz = device.clock_hz
        trial = LockStep(prepared, device, _witness(prepared, target), outcome, progress)
        trial.begin()
        trial.train()
        trial.evaluate()  # before the energy windows, whose steps train the same few batches again and again
        if meter is not None and prepared.spec.energy is not None and outcome.difference is None:
            measure_windows(trial, meter, prepared.spec.energy, taken.endpoints.measuring_point)
        trial.finish()
    except Refused as refusal:
        raise refused(refusal) from refusal


@contextlib.contextmanager
def _meter(prepared: Prepared, taken: Taken) -> Iterator[Meter | None]:
    """Open the meter where the trial wants one and there is one."""
    address = taken.endpoints.meter
    if prepared.spec.energy is None or address is None:
        yield None
        return
    with open_meter(address, prepared.board.supply_v, taken.endpoints.meter_model) as meter:
        yield meter


def _witness(prepared: Prepared, target: Target) -> Witness | None:
    if target.probe is None:
        return None
    offsets = tuple(layer.weight_offset for layer in prepared.network.trained)
    return Witness(target.probe, prepared.image, prepared.network, offsets)
