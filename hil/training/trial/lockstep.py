"""Lock-step training: board and reference train the same batches and are compared after every step."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hil.errors import DeviceFault
from hil.link.failures import Refused
from hil.link.replies import Planned, most_predictions
from hil.record.trial_record import NOTHING_MOVED
from hil.threads import ThreadPool
from hil.training.data import batches
from hil.training.reference.methods import StepOutcome, reference_of
from hil.training.trial.batch import Batch
from hil.training.trial.board_step import BoardSteps
from hil.training.trial.device import Device
from hil.training.trial.difference import BoardDifference, ProbeCheck, differing_tensors, first_digest, first_weight
from hil.training.trial.least_rate import least_rate
from hil.training.trial.locate_difference import WrongStep, locate
from hil.training.trial.lockstep_outcome import AccuracyPoint, LockStepOutcome, StepRow
from hil.training.trial.sample_gradients import GradientMaps
from hil.training.trial.second_sources.checks import Checks
from hil.training.trial.second_sources.figures import HOST
from hil.training.trial.second_sources.last_layer import check_alone
from hil.training.trial.second_sources.layer_stops import check_layers
from hil.training.trial.stages import Watch
from hil.training.trial.step_failure import both
from hil.training.trial.watermarks import Watermarks, through_probe

# multiply-accumulates per second of a Cortex-M0+ (16 cycles each), or of an emulator on a busy computer
SLOWEST_MACS_S = 6e6


class LockStep:
    """Board and reference in one trial; without a probe, `probe_check` is None."""

    def __init__(self, outcome: LockStepOutcome, device: Device, probe_check: ProbeCheck | None, watch: Watch) -> None:
        self.p = prepared = outcome.prepared
        self.device, self.probe_check, self.outcome, self.watch = device, probe_check, outcome, watch
        device.step_deadline_s = max(device.step_deadline_s, prepared.method.figures.step_macs() / SLOWEST_MACS_S)
        probe = probe_check.probe if probe_check is not None else None
        self.checks = Checks(prepared, device, probe, outcome.figures, silicon=outcome.reality == "hardware")
        self.next_step = prepared.spec.first_step
        self._first: tuple[int, ...] = ()  # digests before the first step
        self.settings = prepared.settings_at(self.next_step)
        self.reference = reference_of(prepared.method)
        self.reference.configure(self.settings, self.next_step)
        outcome.gradients = GradientMaps.of(self.reference)
        self.order = batches(prepared.data, prepared.spec.batch, prepared.spec.seed)
        for _ in range(self.next_step):
            next(self.order)

    def begin(self) -> None:
        """Load the network, configure, compare the initial weights, evaluate."""
        self.device.take_network(self.p.image, self.p.blob)
        if not self.p.method.plan.chosen:
            self._check_tensors()
        agent_plan = self.device.begin(self.p.method.plan, self._configuration(self.settings))
        self._check_tensors()
        if agent_plan.arena_planned != self.p.plan.total:
            raise DeviceFault(
                f"the agent plans {agent_plan.arena_planned:,} bytes of arena, but docs/memory.md gives "
                f"{self.p.plan.total:,}."
            )
        self._first = self.reference.digests()
        self._compare_start(self.device.digests())
        if self.outcome.difference is None and self.p.spec.evaluate:
            before = self._evaluate()
            self.outcome.before = before._replace(reference=before.board)

    def _check_tensors(self) -> None:
        found, held = self.device.tensors, len(self.p.method.plan.tensors)
        if found != held:
            raise DeviceFault(f"the firmware finds {found} tensors to train, but the network file has {held}.")

    def train(self) -> None:
        """Train the steps of the trial until one differs."""
        with ThreadPool(max_workers=1) as worker:
            for _ in range(self.p.spec.steps):
                if self.outcome.difference is not None:
                    return
                self._follow_schedule()
                self._step(worker)
                self._evaluate_meanwhile()

    def _evaluate_meanwhile(self) -> None:
        """Evaluate during training if an evaluation is due; the last step is evaluated by `evaluate`."""
        spec, done = self.p.spec, len(self.outcome.steps)
        due = spec.evaluate and spec.evaluate_every and self.next_step % spec.evaluate_every == 0 and done < spec.steps
        if due and self.outcome.difference is None:
            self.outcome.evaluations.append(self._evaluate())

    def evaluate(self) -> None:
        """Evaluate the trained weights; of a network that was given by path, keep them."""
        if self.outcome.difference is None and self.outcome.steps and self.p.source is not None:
            self.outcome.trained = self.p.method.plan.file(self.reference.weights)
        if self.outcome.difference is None and self.p.spec.evaluate:
            self.outcome.after = self._evaluate()

    def finish(self) -> Watermarks:
        """Compare the weights, keep what the reference remarks; in a trial with latency, check the cycles of layers.

        The probe reads the stack's watermark before and after the agent reports it.

        Returns:
            The watermarks; for each the larger one of agent and probe.
        """
        self.compare_end()
        self.outcome.notes += [*self.reference.remarks(), *self._still()]
        memory = self.checks.memory
        before = memory.stack_before()
        reported = self.device.memory()
        if self.probe_check is not None:
            self.outcome.sram_probe = through_probe(self.probe_check.probe.read, self.p.image)
        marks = memory.compare(
            reported,
            before,
            self.outcome.sram_probe,
            stepped=bool(self.outcome.steps) and self.outcome.difference is None,
        )
        if self.p.spec.latency is not None and self.outcome.profile is not None and self.outcome.difference is None:
            check_layers(self)
            check_alone(self.outcome.figures, self.device, self.p, self.outcome.profile)
        if self.outcome.figures.wrong:
            # a board that has reset meanwhile refuses: then its supply is at fault, not its firmware
            self.device.memory()
        return marks

    def _still(self) -> list[str]:
        """Return the warning of a trial whose steps changed no trained number; none if one did."""
        if self.outcome.difference is not None or not self.outcome.steps or self.reference.digests() != self._first:
            return []
        count = f"{len(self.outcome.steps)} step{'s' if len(self.outcome.steps) > 1 else ''}"
        said = f"{NOTHING_MOVED}after {count} every trained number is what it was before: give"
        if "eta" not in self.settings.table:
            return [f"{said} more steps."]
        first = self.p.spec.first_step
        found = least_rate(replace(self.p.method, settings=self.p.settings_at(first)), self.p.data, first)
        moves = "" if found is None else f"; from {found:g} on a weight moves in the first step that trains"
        return [f"{said} a larger learning rate (`hil tune` finds one{moves})."]

    def compare_end(self) -> None:
        """Compare the digests of all trained tensors once more: a bit may flip after the last step or window."""
        if self.outcome.difference is not None or not self.outcome.steps:
            return
        step, ours, theirs = self.next_step - 1, self.device.digests(), self.reference.digests()
        found = first_digest(step, self.p.method.plan.tensors, ours, theirs)
        if found is None:
            return
        index = differing_tensors(ours, theirs)[0]
        with contextlib.suppress(Refused):  # a firmware that does not send its weights: the digest is known
            board = self.device.tensor(index, self.p.method.plan.tensors[index].size)
            found = first_weight(step, found.layer, board, self.reference.weights[index])
        self.outcome.difference = replace(found, what=f"at the end of the trial, {found.what}")

    def without_probe(self) -> None:
        """Go on without the probe, which could not connect again: it checks nothing more."""
        self.probe_check = None
        self.checks.without_probe()

    def continue_with(self, device: Device) -> None:
        """Continue with the same board after a restart: load the current weights and compare them."""
        self.device, self.probe_check = device, None
        self.checks = Checks(self.p, device, None, self.outcome.figures, silicon=self.outcome.reality == "hardware")
        if self.p.method.plan.chosen:
            self.device.take_network(self.p.image, self.p.blob)
        device.send_weights(self.p.method.plan, self.reference.weights, self._configuration(self.settings))
        self.reference.configure(self.settings, self.next_step)
        self._compare_start(device.digests())

    def next_batch(self) -> Batch:
        """Return the next batch."""
        chosen = next(self.order)
        return Batch(self.p.data.train_images[chosen], self.p.data.train_labels[chosen], chosen)

    def configure(self, settings: Any) -> Planned:
        """Send the settings of the next step; return the agent's memory plan."""
        return self.device.configure(self._configuration(settings))

    def _configuration(self, settings: Any) -> dict[str, Any]:
        return self.p.method.request.configuration(settings, self.p.slots, self.next_step)

    def _follow_schedule(self) -> None:
        """Send the settings if the schedule changes them; on both sides all other state stays."""
        settings = self.p.settings_at(self.next_step)
        if settings != self.settings:
            self.configure(settings)
            self.reference.follow(settings)
            self.settings = settings

    def _step(self, worker: ThreadPool) -> None:
        step, self.next_step = self.next_step, self.next_step + 1
        batch = self.next_batch()
        images, labels, _ = batch
        if self.outcome.gradients is not None and len(self.outcome.steps) in (0, self.p.spec.steps - 1):
            self.outcome.gradients.take(step, images, labels)
        before = [weights.copy() for weights in self.reference.weights]
        pending: Future[StepOutcome] = worker.submit(self.reference.step, images, labels)
        timed = self.checks.timed(wanted=len(self.outcome.steps) % self.p.spec.probe_every == 0)
        steps = BoardSteps(self.device, self.p.method.request, self.p.slots, self._counted)
        reply, outcome = both(partial(steps.train, step, batch, timed), pending, step, self.p.method.plan.layers)
        self.checks.step(reply, step, timed)
        row = StepRow.of(step, reply, outcome)
        self.outcome.steps.append(row)
        self.outcome.final_digests = reply.digests
        if not row.match:
            wrong = WrongStep(step, self.settings, before, images, labels, reply, outcome)
            self.outcome.difference = locate(self.device, self.reference, self.p, wrong)
        elif self.probe_check is not None and len(self.outcome.steps) % self.p.spec.probe_every == 0:
            self._check_through_probe(self.probe_check, step, outcome.digests)
        if len(self.outcome.steps) == 1 and self.outcome.difference is None:
            self.outcome.work = self.device.work() if self.p.method.figures.bookings() is None else None
            self.outcome.profile = self.checks.first_step(
                reply,
                self.device.profile(len(self.p.method.plan.layers)),
                self.outcome.work,
                self.reference.last_work(),
            )
            self.checks.memory.after_step(step)
        elif len(self.outcome.steps) == self.p.spec.steps and self.outcome.difference is None:
            self._check_last_work(step)
        self.watch.step(row)
        if self.outcome.difference is None:
            self.watch.agreed(self)

    def _check_last_work(self, step: int) -> None:
        """Compare the work of the last step where the data decide it; the first one may only have ranked."""
        by_data = self.reference.last_work()
        if by_data is not None and self.p.method.figures.bookings() is None:
            self.checks.work(self.device.work(), by_data, f" in step {step}")

    def _counted(self, done: int, sent: int, where: str) -> None:
        self.outcome.figures.equal("done", done, sent, HOST, " samples", where)

    def _check_through_probe(self, probed: ProbeCheck, step: int, digests: tuple[int, ...]) -> None:
        wrong = differing_tensors(probed.digests(), digests)
        self.outcome.probed.append(not wrong)
        if wrong:
            name = self.p.method.plan.tensors[wrong[0]].name
            self.outcome.difference = BoardDifference(
                step, name, None, "other bytes in memory", "its weights", "weight (read through the probe)"
            )

    def _compare_start(self, board: tuple[int, ...]) -> None:
        """Compare the loaded weights before the next step (step -1 before training)."""
        found = first_digest(self.next_step - 1, self.p.method.plan.tensors, board, self.reference.digests())
        self.outcome.difference = found or self.outcome.difference

    def _evaluate(self) -> AccuracyPoint:
        """Classify the test images on both sides."""
        classes = self.p.method.network.classes
        n, size = self.p.spec.evaluate, min(self.p.slots, most_predictions(classes))
        right = reference_right = 0
        for start in range(0, n, size):
            part = slice(start, min(start + size, n))
            self.watch.part(start, n)
            images, labels = self.p.data.test_images[part], self.p.data.test_labels[part]
            self.device.samples(images, labels)
            reply = self.device.infer(len(images), classes)
            predictions, correct, digest = self.reference.evaluate_chunk(images, labels)
            right, reference_right = right + reply.correct, reference_right + correct
            ours = np.array(reply.predictions)
            where = f" of test images {part.start}..{part.stop - 1}"
            self.outcome.figures.equal(
                "correct", reply.correct, int(np.sum(ours == labels[: len(ours)])), HOST, where=where
            )
            if reply.logits_digest != digest or not np.array_equal(ours, predictions):
                what = f"evaluation of test images {part.start}..{part.stop - 1}:"
                board, reference = f"digest {reply.logits_digest:08X}", f"digest {digest:08X}"
                self.outcome.difference = BoardDifference(self.next_step - 1, "logits", None, board, reference, what)
                break
        return AccuracyPoint(self.next_step, right / n, reference_right / n)
