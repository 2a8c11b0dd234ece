"""One attempt at a trial, from opening the meter and the board to reading the memory watermarks."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass

from hil.dut import CoreProbe, Dut
from hil.errors import Blocked
from hil.meters.meter import Meter
from hil.training.trial.agent_checks import check_agent
from hil.training.trial.device import Device, refusals
from hil.training.trial.difference import ProbeCheck
from hil.training.trial.energy import FED_BY_METER, NOT_SWITCHED, SWITCHED, measure_windows
from hil.training.trial.fitting import SELECTED
from hil.training.trial.kept import KeptSamples, check_kept
from hil.training.trial.latency import measure_latency
from hil.training.trial.lockstep import LockStep
from hil.training.trial.lockstep_outcome import LockStepOutcome
from hil.training.trial.outcome import Flashed, Outcome
from hil.training.trial.prepare import Prepared
from hil.training.trial.second_sources.figures import check_identity
from hil.training.trial.second_sources.memory import check_unclaimed
from hil.training.trial.selection import select_block
from hil.training.trial.spec import EnergyWindows
from hil.training.trial.stages import StageLogs, Watch
from hil.training.trial.watermarks import ram_use

LOG = logging.getLogger(__name__)
SHORT_FRAMES = (
    "the line damages frames of more than 64 bytes: shorter ones were sent, which takes longer; `hil doctor` may "
    "know why (docs/boards.md, nrf52840)."
)
SINCE_GREETING = "RAM that nothing claims is compared from the greeting on, and not from the start of the program."


@dataclass(frozen=True)
class _Metered:
    """A meter, and the windows that the trial asks of it."""

    meter: Meter
    wanted: EnergyWindows


@dataclass
class Attempt:
    """One attempt at a trial on a board that is reserved for it; a second attempt reuses nothing of the first."""

    prepared: Prepared
    dut: Dut
    stages: StageLogs
    watch: Watch
    reflash: bool

    def run(self, outcome: Outcome) -> None:
        """Open the meter and the board, flash, train, measure and close.

        Raises:
            RigError: a fault of the rig or the device; if one fault explains another, the one that explains it.
        """
        try:
            with contextlib.ExitStack() as stack:
                with self.stages("connect"), self.dut.explained():
                    metered = stack.enter_context(self._metered())
                stack.callback(self.dut.release)  # before a meter that feeds the board is closed
                with self.dut.explained(), refusals(self.prepared.plan.total):
                    trial = self._with_probe(metered, outcome)
                    if trial is not None and metered is not None:
                        self._energy_after_power_cycle(trial, metered)
        finally:
            self._read_coverage(outcome)

    def _read_coverage(self, outcome: Outcome) -> None:
        """Keep what the board executed since it was flashed, however the attempt ended. No verdict depends on it."""
        if outcome.flash is None:
            return
        try:
            outcome.executed = self.dut.executed()
        except Blocked as blocked:
            outcome.notes.append(f"no coverage: {blocked.reason}")

    @contextlib.contextmanager
    def _metered(self) -> Iterator[_Metered | None]:
        """Yield the meter if the trial measures energy; it is opened before the board, which it may feed."""
        wanted = self.prepared.spec.energy
        if wanted is None or not self.dut.has_meter:
            yield None
            return
        with self.dut.open_meter() as meter:
            yield _Metered(meter, wanted)

    def _with_probe(self, metered: _Metered | None, outcome: Outcome) -> LockStep | None:
        """Flash and train; return the trial if its energy has to be measured after a power cycle."""
        dut = self.dut
        with self.stages("connect"):
            dut.connect()
        outcome.reality = dut.reality  # a probe that is virtual says so
        with self.stages("flash"):
            dut.unclaimed_ram.fill(self.prepared.spec.seed)
            programmed = dut.flash(always=self.reflash)
            outcome.flash = Flashed(dut.record.route, programmed, dut.record.flash_cycles)
            LOG.info("%s", outcome.flash)
        # the GDB stub of an emulator is no second source
        return self._train(dut.probe if dut.endpoints.probe is not None else None, metered, outcome)

    def _train(self, probe: CoreProbe | None, metered: _Metered | None, outcome: Outcome) -> LockStep | None:
        spec, later, unclaimed = self.prepared.spec, None, self.dut.unclaimed_ram
        with self.stages("greet"):
            try:
                session = self.dut.agent
            finally:
                outcome.link = self.dut.record.link
            outcome.notes += self.dut.record.warnings
            device = Device(session, self.prepared.board, self.prepared.image)
            outcome.notes += [SHORT_FRAMES] if device.short_frames else []
            check_identity(outcome.figures, device.identity, self.prepared.board, self.prepared.image)
            found = LockStepOutcome(self.prepared, self.dut.reality, device.clock_hz, outcome.figures, outcome.notes)
            outcome.compared = found
            LOG.info("%s", device.identity)
            if probe is not None:
                outcome.notes += [] if unclaimed.begin() else [SINCE_GREETING]
        if self.prepared.kept is not None:
            with self.stages("keep"):
                self._keep(device, self.prepared.kept)
        if spec.variant == SELECTED:
            with self.stages("select"):
                found.prepared = select_block(found, device, spec.selection, self.watch)
        with self.stages("load"):
            trial = LockStep(found, device, _probe_check(found.prepared, probe), self.watch)
            trial.begin()
        with self.stages("train"):
            trial.train()
        with self.stages("evaluate"):  # before latency and energy, which train the same few batches again
            trial.evaluate()
        if spec.latency is not None and found.difference is None:
            with self.stages("latency"):
                measure_latency(trial, spec.latency)
        if metered is not None and found.difference is None:
            if self.dut.endpoints.power is None:
                self._energy(trial, metered, NOT_SWITCHED)
            elif metered.meter.sheet.feeds:
                self._energy(trial, metered, FED_BY_METER)
            else:
                later = trial
        with self.stages("finish"):
            written = check_unclaimed(outcome.figures, unclaimed if trial.probe_check is not None else None)
            found.sram = ram_use(trial.finish(), unclaimed.claims, written)
            LOG.info("%s", session.counters)
        if spec.requests and found.difference is None:
            with self.stages("requests"):
                check_agent(trial)
        return later

    def _keep(self, device: Device, kept: KeptSamples) -> None:
        """Give the board its training samples, and check what it has."""
        check_kept(self.prepared.board.name, kept, device.keep(kept))
        LOG.info("%d samples are kept in %s, %d bytes", kept.count, kept.place, len(kept.data))

    def _energy(self, trial: LockStep, metered: _Metered, power: str) -> None:
        ends = self.dut.endpoints
        with self.stages("energy"):
            measure_windows(
                trial, metered.meter, metered.wanted, ends.measuring_point, ends.ambient_c, power, ends.supply_error
            )

    def _energy_after_power_cycle(self, trial: LockStep, metered: _Metered) -> None:
        """Measure energy without a probe, after a power cycle, which clears what debugger and training leave behind.

        The image is in flash already; a probe would wake the chip's debug logic.
        """
        with self.stages("power"):
            LOG.info("%s was switched off and on", self.dut.power.cycle())
        with self.stages("greet"):
            device = Device(self.dut.agent, self.prepared.board, self.prepared.image)
            if self.prepared.kept is not None:
                self._keep(device, self.prepared.kept)
            trial.continue_with(device)
        if trial.outcome.difference is None:
            self._energy(trial, metered, SWITCHED)
            with self.stages("finish"):
                trial.compare_end()
        if trial.outcome.energy is not None and self.dut.endpoints.probe is not None:
            trial.outcome.energy.meter["probe_detached"] = True


def _probe_check(prepared: Prepared, probe: CoreProbe | None) -> ProbeCheck | None:
    if probe is None:
        return None
    method = prepared.method
    sizes = (tensor.size for tensor in method.plan.tensors)
    return ProbeCheck(probe, prepared.image, tuple(zip(method.plan.places(prepared.plan), sizes, strict=True)))
