"""One attempt at a trial, from opening the meter and the board to reading the memory watermarks."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

from hil.endpoints import Endpoints
from hil.errors import Blocked, DeviceFault, RigError
from hil.link.failures import Refused
from hil.link.session import Session, fresh_nonce
from hil.link.wire import CURE
from hil.meters.meter import Meter
from hil.meters.open import open_meter
from hil.rig import Taken
from hil.rig.hang_diagnosis import placed
from hil.targets import Target, open_target
from hil.targets.coverage import CoverageReader
from hil.targets.flash_route import AlreadyLoaded
from hil.targets.serial_port import open_serial, path_of
from hil.training.trial.agent_checks import check_agent
from hil.training.trial.callbacks import Watch
from hil.training.trial.device import Device, refused
from hil.training.trial.energy import FED_BY_METER, NOT_SWITCHED, SWITCHED, measure_windows
from hil.training.trial.latency import measure_latency
from hil.training.trial.lockstep import LockStep
from hil.training.trial.outcome import Flashed, Outcome
from hil.training.trial.prepare import SELECTED, Prepared
from hil.training.trial.probe_check import ProbeCheck
from hil.training.trial.second_sources.identity import check_identity
from hil.training.trial.second_sources.unclaimed import UnclaimedRam
from hil.training.trial.selection import select_block
from hil.training.trial.stages import StageLogs
from hil.training.trial.watermarks import ram_use

LOG = logging.getLogger(__name__)
SINCE_GREETING = "RAM that nothing claims is compared from the greeting on, and not from the start of the program."
ENDS_WITHIN_S = 1.0  # a killed stand-in closes its connections before its process has ended


@dataclass
class Attempt:
    """One attempt at a trial on a board that is reserved for it; a second attempt reuses nothing of the first."""

    prepared: Prepared
    taken: Taken
    stages: StageLogs
    watch: Watch
    reflash: bool
    _coverage: CoverageReader | None = field(default=None, init=False)

    def run(self, outcome: Outcome) -> None:
        """Open the meter and the board, flash, train, measure and close.

        Raises:
            RigError: a fault of the rig or the device; if one fault explains another, the one that explains it.
        """
        try:
            with contextlib.ExitStack() as stack:
                with self.stages("connect"):
                    meter = stack.enter_context(self._meter())
                trial = self._with_probe(meter, outcome)
                if trial is not None and meter is not None:
                    self._energy_after_power_cycle(trial, meter)
        except RigError as error:
            chip_fault = self.taken.chip_fault(self.prepared.image)
            if chip_fault:
                raise DeviceFault(chip_fault) from None
            # a dead stand-in explains the error
            self.taken.alive(ENDS_WITHIN_S if isinstance(error, Blocked) else 0.0)
            raise
        finally:
            self._read_coverage(outcome)

    def _read_coverage(self, outcome: Outcome) -> None:
        """Keep what the board executed since it was flashed, however the attempt ended. No verdict depends on it."""
        if self._coverage is None or outcome.flash is None:
            return
        try:
            outcome.executed = self._coverage.read()
        except Blocked as blocked:
            outcome.notes.append(f"no coverage: {blocked.reason}")

    def _meter(self) -> contextlib.AbstractContextManager[Meter | None]:
        """Return the meter if the trial measures energy; it is opened before the board, which it may feed."""
        endpoints = self.taken.endpoints
        if self.prepared.spec.energy is None or endpoints.meter is None:
            return contextlib.nullcontext()
        return open_meter(endpoints.meter, self.prepared.board.supply_v, endpoints.meter_model)

    def _with_probe(self, meter: Meter | None, outcome: Outcome) -> LockStep | None:
        """Flash and train; return the trial if its energy has to be measured after a power cycle."""
        with self.stages("connect"):
            target = open_target(self.prepared.board, self.taken.endpoints, self.taken.probe_process, self.watch.tell)
        self._coverage = target.coverage
        with contextlib.closing(target):
            if target.probe is not None and target.probe.virtual:
                outcome.reality = "virtual"  # even if rig.toml lists it as hardware: its figures are not measured
            with self.stages("flash"):
                unclaimed = UnclaimedRam(self.prepared.image, self.prepared.board, self.prepared.spec.seed)
                programmed = target.flash(self.prepared.image, self.reflash, unclaimed.fill())
                outcome.flash = Flashed(target.route.name, programmed, target.cycles)
                LOG.info("%s", outcome.flash)
            with placed(target, self.prepared.board, self.prepared.image), _refusals():
                return self._train(target, unclaimed, meter, outcome)

    def _train(self, target: Target, unclaimed: UnclaimedRam, meter: Meter | None, outcome: Outcome) -> LockStep | None:
        prepared, later = self.prepared, None
        session = Session(target.port, fresh_nonce(), self.taken.alive, _cure(self.taken.endpoints), self.taken.lost_s)
        outcome.link = session.counters
        with self.stages("greet"):
            device = Device(session, prepared.board, prepared.image, target)
            check_identity(outcome.figures, device.identity, prepared.board, prepared.image)
            outcome.clock_hz = device.clock_hz
            LOG.info("%s", device.identity)
            if target.probe is not None:
                outcome.notes += [] if unclaimed.begin(target.probe, target.filled) else [SINCE_GREETING]
        if prepared.spec.variant == SELECTED:
            with self.stages("select"):
                prepared = select_block(prepared, device, outcome, prepared.spec.selection, self.watch)
                outcome.begin(prepared)
        with self.stages("load"):
            trial = LockStep(prepared, device, _probe_check(prepared, target), outcome, self.watch)
            trial.begin()
        with self.stages("train"):
            trial.train()
        with self.stages("evaluate"):  # before latency and energy, which train the same few batches again
            trial.evaluate()
        if prepared.spec.latency is not None and outcome.difference is None:
            with self.stages("latency"):
                measure_latency(trial, prepared.spec.latency)
        if meter is not None and outcome.difference is None:
            if self.taken.endpoints.power is None:
                self._energy(trial, meter, NOT_SWITCHED)
            elif meter.sheet.feeds:
                self._energy(trial, meter, FED_BY_METER)
            else:
                later = trial
        with self.stages("finish"):
            written = unclaimed.compare(target.probe, outcome.figures)
            outcome.sram = ram_use(trial.finish(), unclaimed.claims, written)
            LOG.info("%s", session.counters)
        if prepared.spec.requests and outcome.difference is None:
            with self.stages("requests"):
                check_agent(trial)
        return later

    def _energy(self, trial: LockStep, meter: Meter, power: str) -> None:
        endpoints, wanted = self.taken.endpoints, self.prepared.spec.energy
        assert wanted is not None  # there is a meter
        with self.stages("energy"):
            measure_windows(
                trial, meter, wanted, endpoints.measuring_point, endpoints.ambient_c, power, endpoints.supply_error
            )

    def _energy_after_power_cycle(self, trial: LockStep, meter: Meter) -> None:
        """Measure energy without a probe, after a power cycle, which clears what debugger and training leave behind."""
        endpoints, board, image = self.taken.endpoints, self.prepared.board, self.prepared.image
        with self.stages("power"):
            LOG.info("%s was switched off and on", self.taken.power_cycle())
        port = open_serial(path_of(endpoints), board.baud)
        # the image is in flash already; a probe would wake the chip's debug logic
        with contextlib.closing(Target(board, endpoints, port, AlreadyLoaded())) as target:
            with placed(target, board, image), _refusals():
                with self.stages("greet"):
                    trial.continue_with(
                        Device(
                            Session(port, fresh_nonce(), self.taken.alive, _cure(endpoints), self.taken.lost_s),
                            board,
                            image,
                        )
                    )
                if trial.outcome.difference is None:
                    self._energy(trial, meter, SWITCHED)
                    with self.stages("finish"):
                        trial.compare_end()
            if trial.outcome.energy is not None and endpoints.probe is not None:
                trial.outcome.energy.meter["probe_detached"] = True


def _cure(endpoints: Endpoints) -> str:
    """Return what to do about a silent board; a stand-in has no cable and no port to check."""
    if endpoints.reality == "hardware":
        return CURE
    where = f"its process {endpoints.process} runs" if endpoints.process is not None else "it runs"
    return f"this is the {endpoints.reality} stand-in, and {where}: look at bench.log in the folder of the trial."


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Turn a refusal of the agent into Blocked or DeviceFault."""
    try:
        yield
    except Refused as refusal:
        raise refused(refusal) from refusal


def _probe_check(prepared: Prepared, target: Target) -> ProbeCheck | None:
    if target.probe is None:
        return None
    method = prepared.method
    sizes = (tensor.size for tensor in method.tensors)
    return ProbeCheck(target.probe, prepared.image, tuple(zip(method.places(prepared.plan), sizes, strict=True)))
