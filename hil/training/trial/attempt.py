"""One attempt at a trial, from opening the meter and the board to reading the memory watermarks."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass

from hil.dut import CoreProbe, Dut
from hil.errors import Blocked
from hil.meters.meter import Meter
from hil.training.trial.agent_checks import check_agent
from hil.training.trial.callbacks import Watch
from hil.training.trial.device import Device, refusals
from hil.training.trial.energy import FED_BY_METER, NOT_SWITCHED, SWITCHED, measure_windows
from hil.training.trial.latency import measure_latency
from hil.training.trial.lockstep import LockStep
from hil.training.trial.outcome import Flashed, Outcome
from hil.training.trial.prepare import SELECTED, Prepared
from hil.training.trial.probe_check import ProbeCheck
from hil.training.trial.second_sources.identity import check_identity
from hil.training.trial.second_sources.unclaimed import check_unclaimed
from hil.training.trial.selection import select_block
from hil.training.trial.stages import StageLogs
from hil.training.trial.watermarks import ram_use

LOG = logging.getLogger(__name__)
SINCE_GREETING = "RAM that nothing claims is compared from the greeting on, and not from the start of the program."


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
                    meter = stack.enter_context(self._meter())
                stack.callback(self.dut.release)  # before a meter that feeds the board is closed
                with self.dut.explained(), refusals(self.prepared.plan.total):
                    trial = self._with_probe(meter, outcome)
                    if trial is not None and meter is not None:
                        self._energy_after_power_cycle(trial, meter)
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

    def _meter(self) -> contextlib.AbstractContextManager[Meter | None]:
        """Return the meter if the trial measures energy; it is opened before the board, which it may feed."""
        if self.prepared.spec.energy is None or not self.dut.has_meter:
            return contextlib.nullcontext()
        return self.dut.open_meter()

    def _with_probe(self, meter: Meter | None, outcome: Outcome) -> LockStep | None:
        """Flash and train; return the trial if its energy has to be measured after a power cycle."""
        dut = self.dut
        with self.stages("connect"):
            dut.connect()
        outcome.reality = dut.reality
        with self.stages("flash"):
            dut.unclaimed_ram.fill(self.prepared.spec.seed)
            programmed = dut.flash(always=self.reflash)
            outcome.flash = Flashed(dut.record.route, programmed, dut.record.flash_cycles)
            LOG.info("%s", outcome.flash)
        # the GDB stub of an emulator is no second source
        return self._train(dut.probe if dut.endpoints.probe is not None else None, meter, outcome)

    def _train(self, probe: CoreProbe | None, meter: Meter | None, outcome: Outcome) -> LockStep | None:
        prepared, later, unclaimed = self.prepared, None, self.dut.unclaimed_ram
        with self.stages("greet"):
            try:
                session = self.dut.agent
            finally:
                outcome.link = self.dut.record.link
            device = Device(session, prepared.board, prepared.image)
            check_identity(outcome.figures, device.identity, prepared.board, prepared.image)
            outcome.clock_hz = device.clock_hz
            LOG.info("%s", device.identity)
            if probe is not None:
                outcome.notes += [] if unclaimed.begin() else [SINCE_GREETING]
        if prepared.spec.variant == SELECTED:
            with self.stages("select"):
                prepared = select_block(prepared, device, outcome, prepared.spec.selection, self.watch)
                outcome.begin(prepared)
        with self.stages("load"):
            trial = LockStep(prepared, device, _probe_check(prepared, probe), outcome, self.watch)
            trial.begin()
        with self.stages("train"):
            trial.train()
        with self.stages("evaluate"):  # before latency and energy, which train the same few batches again
            trial.evaluate()
        if prepared.spec.latency is not None and outcome.difference is None:
            with self.stages("latency"):
                measure_latency(trial, prepared.spec.latency)
        if meter is not None and outcome.difference is None:
            if self.dut.endpoints.power is None:
                self._energy(trial, meter, NOT_SWITCHED)
            elif meter.sheet.feeds:
                self._energy(trial, meter, FED_BY_METER)
            else:
                later = trial
        with self.stages("finish"):
            written = check_unclaimed(outcome.figures, unclaimed if probe is not None else None)
            outcome.sram = ram_use(trial.finish(), unclaimed.claims, written)
            LOG.info("%s", session.counters)
        if prepared.spec.requests and outcome.difference is None:
            with self.stages("requests"):
                check_agent(trial)
        return later

    def _energy(self, trial: LockStep, meter: Meter, power: str) -> None:
        ends, wanted = self.dut.endpoints, self.prepared.spec.energy
        assert wanted is not None  # there is a meter
        with self.stages("energy"):
            measure_windows(trial, meter, wanted, ends.measuring_point, ends.ambient_c, power, ends.supply_error)

    def _energy_after_power_cycle(self, trial: LockStep, meter: Meter) -> None:
        """Measure energy without a probe, after a power cycle, which clears what debugger and training leave behind.

        The image is in flash already; a probe would wake the chip's debug logic.
        """
        with self.stages("power"):
            LOG.info("%s was switched off and on", self.dut.power.cycle())
        with self.stages("greet"):
            trial.continue_with(Device(self.dut.agent, self.prepared.board, self.prepared.image))
        if trial.outcome.difference is None:
            self._energy(trial, meter, SWITCHED)
            with self.stages("finish"):
                trial.compare_end()
        if trial.outcome.energy is not None and self.dut.endpoints.probe is not None:
            trial.outcome.energy.meter["probe_detached"] = True


def _probe_check(prepared: Prepared, probe: CoreProbe | None) -> ProbeCheck | None:
    if probe is None:
        return None
    method = prepared.method
    sizes = (tensor.size for tensor in method.tensors)
    return ProbeCheck(probe, prepared.image, tuple(zip(method.places(prepared.plan), sizes, strict=True)))
