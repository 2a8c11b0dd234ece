"""Run one trial: prepare, take, flash, greet, train in lock-step, measure, judge."""

from __future__ import annotations

import contextlib
import logging
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from threadpoolctl import threadpool_limits

from hil.errors import NO_MEMORY, Blocked, DeviceFault, RigError
from hil.link.failures import Refused, Silent
from hil.link.replies import OddReply
from hil.link.session import Session, fresh_nonce
from hil.meters.meter import Meter
from hil.meters.open import open_meter
from hil.rig import Rig, Taken
from hil.targets import Target, open_target
from hil.targets.probe import ChipUnreachable
from hil.targets.route import AlreadyLoaded
from hil.targets.serial_port import open_serial, path_of
from hil.trial.confirm.identity import check_identity
from hil.trial.device import Device, refused
from hil.trial.energy import FED_BY_METER, NOT_SWITCHED, SWITCHED, measure_windows
from hil.trial.latency import measure_latency
from hil.trial.lockstep import LockStep
from hil.trial.outcome import Flashed, Outcome
from hil.trial.prepare import SELECTED, Prepared, prepare
from hil.trial.selection import select_block
from hil.trial.silence import Hang, placed
from hil.trial.spec import TrialSpec
from hil.trial.stages import StageLogs
from hil.trial.watch import Watch
from hil.trial.witness import Witness

LOG = logging.getLogger(__name__)
NOBODY = Watch()
TRACEBACK = "traceback.txt"  # in the trial's folder, of an error that nobody has foreseen
ENDS_WITHIN_S = 1.0  # a process that is killed lets its connections go before it can be waited for
NO_THREAD = "can't start new thread"  # RuntimeError of threading.Thread.start where the system gives none
CURED_BY_POWER = ("bench", "connect", "identify", "link")  # stages: nothing was found, connected to or heard


def run_trial(
    spec: TrialSpec,
    rig: Rig,
    folder: Path,
    elf: Path | None = None,
    inject: tuple[str, ...] = (),
    reflash: bool = False,
    watch: Watch = NOBODY,
    again: bool = True,
) -> Outcome:
    """Run one trial to its verdict; faults of the rig and of the device end in the outcome, not in an exception.

    Args:
        spec: what to run.
        rig: gives the board.
        folder: takes the logs: `log/STAGE.log`, `bench.log`, what a stand-in says, and `traceback.txt` of an error that nobody has foreseen.
        elf: the user's own firmware in the place of the prebuilt image.
        inject: faults for the virtual bench.
        reflash: program the board even when it holds the image.
        watch: is called as the trial goes on.
        again: whether the trial begins once more after a power cycle; else it is blocked at `power`, and whoever called goes on.

    Raises:
        RigError: the request itself is wrong (unknown name, setting out of range); nothing was started.
        KeyboardInterrupt: Ctrl-C; the outcome says so, and `watch` has it.
    """
    started = time.monotonic()
    outcome = Outcome(spec)
    stages = StageLogs(folder, watch.stage)
    blocked = _prepare(outcome, elf, stages, folder)
    try:
        if blocked is not None:
            raise blocked
        watch.begun(outcome)
        with contextlib.ExitStack() as stack:
            stack.enter_context(threadpool_limits(1, "blas"))  # the reference's products are small: its threads would wait for each other
            prepared = outcome.prepared
            assert prepared is not None
            with stages("bench"):
                taken = stack.enter_context(rig.take(prepared.board, prepared.image, folder / "bench.log", inject))
                LOG.info("%s", taken.endpoints)
            outcome.reality = taken.endpoints.reality
            trial = _Attempt(prepared, taken, stages, watch, reflash)
            try:
                trial.run(outcome)
            except RigError as error:
                if taken.endpoints.power is None or not _power_may_help(error):
                    raise
                with stages("power"):
                    outcome = _after_power_cycle(outcome, taken, error, watch.tell, again)
                trial.run(outcome)
    except Blocked as error:
        outcome.block(error)
    except OddReply as odd:
        outcome.figures.refuse(odd.figure, str(odd))
        outcome.fail(str(odd))
    except DeviceFault as fault:
        outcome.fail(str(fault))
    except Exception as error:
        outcome.block(_unforeseen(error, stages.current, folder))
    except BaseException as error:
        done = f"{len(outcome.steps):,} of {spec.steps:,} steps were compared"
        outcome.interrupt(f"{type(error).__name__} in stage {stages.current!r}: {done} before.")
        raise
    finally:
        outcome.wall_s = time.monotonic() - started
        outcome.notes += [stages.trouble] if stages.trouble else []
        try:
            outcome.judge()
        except Exception as error:
            outcome.block(_unforeseen(error, "judge", folder))
        watch.ended(outcome)
    return outcome


def _prepare(outcome: Outcome, elf: Path | None, stages: StageLogs, folder: Path) -> Blocked | None:
    """Look everything up; return why the board cannot run it, or this computer cannot read what it needs.

    Raises:
        RigError: the request is wrong.
    """
    try:
        with stages("plan"):
            outcome.begin(prepare(outcome.spec, elf))
    except Blocked as blocked:
        return blocked
    except RigError:
        raise
    except Exception as error:
        return _unforeseen(error, stages.current, folder)
    return None


def _unforeseen(error: Exception, stage: str, folder: Path) -> Blocked:
    """Return a sentence on what nobody has foreseen, and leave its traceback in the folder; a mistake in what the rig was given says itself what it is."""
    if isinstance(error, RigError):
        return Blocked(stage, str(error))
    if isinstance(error, OSError) and error.strerror:
        where = f": {Path(error.filename).name}" if isinstance(error.filename, str) else ""
        return Blocked(stage, f"{error.strerror}{where}: see to this computer's disk and devices.")
    if isinstance(error, MemoryError) or str(error) == NO_THREAD:
        return Blocked(stage, NO_MEMORY)
    kept = f"report it with {TRACEBACK}"
    try:
        (folder / TRACEBACK).write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    except OSError as trouble:
        kept = f"report it; its traceback could not be written ({trouble.strerror})"
    return Blocked(stage, f"{type(error).__name__}: {error or 'without a word'}: this is a defect of the rig, {kept}.")


def _power_may_help(error: RigError) -> bool:
    """Whether a board that was off for a moment may do better: one that hangs, is silent, or cannot be reached."""
    if isinstance(error, (Hang, Silent, ChipUnreachable)):
        return True
    return isinstance(error, Blocked) and error.stage in CURED_BY_POWER


def _after_power_cycle(outcome: Outcome, taken: Taken, error: RigError, tell: Callable[[str], None], again: bool) -> Outcome:
    """Switch the board off and on and return the outcome of a new beginning, which says so.

    Raises:
        Blocked: the power could not be switched; or it was, and this trial is not to begin `again`.
    """
    reason = error.reason if isinstance(error, Blocked) else str(error)
    try:
        switched = taken.power_cycle()
    except Blocked as blocked:
        raise Blocked("power", f"{reason} Its power could not be switched: {blocked.reason}") from error
    if not again:
        raise Blocked("power", f"{switched} was switched off and on, because {reason}") from error
    note = f"the trial began again after {switched} was switched off and on, because {reason}"
    tell(note)
    return outcome.again(note)


@dataclass
class _Attempt:
    """One way from the closed bench to the watermarks; a second one begins with nothing of the first."""

    prepared: Prepared
    taken: Taken
    stages: StageLogs
    watch: Watch
    reflash: bool

    def run(self, outcome: Outcome) -> None:
        """Open, flash, train, measure, close.

        Raises:
            RigError: a fault of the rig or the device; of two the one that explains the other.
        """
        try:
            with self._meter() as meter:
                trial = self._from_the_flash(meter, outcome)
                if trial is not None and meter is not None:
                    self._from_cold(trial, meter)
        except RigError as error:
            chip_fault = self.taken.chip_fault(self.prepared.image)
            if chip_fault:
                raise DeviceFault(chip_fault) from None
            self.taken.alive(ENDS_WITHIN_S if isinstance(error, Blocked) else 0.0)  # a stand-in that died is the better reason
            raise

    def _from_the_flash(self, meter: Meter | None, outcome: Outcome) -> LockStep | None:
        """Flash and train; return the trial where its energy is still to be measured, on a board that was off before."""
        with self._target() as target:
            if target.probe is not None and target.probe.virtual:
                outcome.reality = "virtual"  # also where rig.toml names it as if it were attached: no figure of it is silicon's
            with self.stages("flash"):
                programmed = target.flash(self.prepared.image, self.reflash)
                outcome.flash = Flashed(target.route.name, programmed, target.cycles)
                LOG.info("%s", outcome.flash)
            with placed(target, self.prepared.board, self.prepared.image):
                return self._train(target, meter, outcome)

    @contextlib.contextmanager
    def _meter(self) -> Iterator[Meter | None]:
        """Open the meter first of all, for it may feed the board."""
        with contextlib.ExitStack() as stack:
            with self.stages("connect"):
                meter = stack.enter_context(_meter(self.prepared, self.taken))
            yield meter

    @contextlib.contextmanager
    def _target(self) -> Iterator[Target]:
        with self.stages("connect"):
            target = open_target(self.prepared.board, self.taken.endpoints, self.taken.probe_process, self.watch.tell)
        try:
            yield target
        finally:
            target.close()

    def _train(self, target: Target, meter: Meter | None, outcome: Outcome) -> LockStep | None:
        prepared, later = self.prepared, None
        session = Session(target.port, fresh_nonce(), self.taken.alive)
        outcome.link = session.counters
        with _refusals():
            with self.stages("greet"):
                device = Device(session, prepared.board, prepared.image)
                check_identity(outcome.figures, device.identity, prepared.board, prepared.image)
                outcome.clock_hz = device.clock_hz
                LOG.info("%s", device.identity)
            if prepared.spec.variant == SELECTED:
                with self.stages("select"):
                    prepared = select_block(prepared, device, outcome, prepared.spec.selection, self.watch)
                    outcome.begin(prepared)
            with self.stages("load"):
                trial = LockStep(prepared, device, _witness(prepared, target), outcome, self.watch)
                trial.begin()
            with self.stages("train"):
                trial.train()
            with self.stages("evaluate"):  # before latency and energy, whose steps train the same few batches again and again
                trial.evaluate()
            if prepared.spec.latency is not None and outcome.difference is None:
                with self.stages("latency"):
                    measure_latency(trial, prepared.spec.latency)
            if meter is not None and outcome.difference is None:
                if self.taken.endpoints.power is not None and not meter.sheet.feeds:
                    later = trial
                else:
                    self._energy(trial, meter, FED_BY_METER if self.taken.endpoints.power is not None else NOT_SWITCHED)
            with self.stages("finish"):
                trial.finish()
                LOG.info("%s", session.counters)
        return later

    def _energy(self, trial: LockStep, meter: Meter, power: str) -> None:
        endpoints, wanted = self.taken.endpoints, self.prepared.spec.energy
        assert wanted is not None  # there is a meter
        with self.stages("energy"):
            measure_windows(trial, meter, wanted, endpoints.measuring_point, endpoints.ambient_c, power, endpoints.supply_error)

    def _from_cold(self, trial: LockStep, meter: Meter) -> None:
        """Switch the board off and on, which ends what a debugger and the training left behind in the chip, and measure its energy without a probe."""
        endpoints, board = self.taken.endpoints, self.prepared.board
        with self.stages("power"):
            LOG.info("%s was switched off and on", self.taken.power_cycle())
        port = open_serial(path_of(endpoints), board.baud)
        target = Target(board, endpoints, port, AlreadyLoaded())  # its flash has the image; a probe would wake the chip's debug logic
        try:
            with placed(target, board, self.prepared.image), _refusals():
                with self.stages("greet"):
                    trial.go_on_with(Device(Session(port, fresh_nonce(), self.taken.alive), board, self.prepared.image))
                if trial.outcome.difference is None:
                    self._energy(trial, meter, SWITCHED)
            if trial.outcome.energy is not None and endpoints.probe is not None:
                trial.outcome.energy.meter["probe_detached"] = True
        finally:
            target.close()


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Say of what the agent refuses whose fault it is."""
    try:
        yield
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
    subject = prepared.subject
    sizes = (tensor.size for tensor in subject.tensors)
    return Witness(target.probe, prepared.image, tuple(zip(subject.places(prepared.plan), sizes, strict=True)))
