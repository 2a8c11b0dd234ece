"""Run one trial: plan, take, flash, greet, load, evaluate, train in lock-step, measure, judge."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hil import boards
from hil.boards import Board, Image
from hil.data import DataSet, batches
from hil.data import load as load_data
from hil.errors import Blocked, DeviceFault, RigError
from hil.link.session import Refused, Session
from hil.measure.sram import Watermarks, through_probe
from hil.network import build
from hil.network.blob import encode
from hil.network.graph import Network
from hil.network.plan import Plan, plan
from hil.network.settings import Settings
from hil.reference.methods import method
from hil.rig import Bench, Taken, take
from hil.targets import open_target
from hil.trial.device import Device, fresh_nonce, refused
from hil.trial.locate import WrongStep, locate
from hil.trial.lockstep import Difference, differing_tensors, differing_terms
from hil.trial.outcome import Outcome, StepRow
from hil.trial.spec import TrialSpec
from hil.trial.witness import Witness

PHASES = ("perturb", "forward", "backward", "update", "digest", "total")


@dataclass
class Prepared:
    """All that is known of a trial before any board is touched."""

    spec: TrialSpec
    board: Board
    image: Image
    network: Network
    blob: bytes
    data: DataSet
    settings: Settings
    plan: Plan

    @property
    def network_sha256(self) -> str:
        """SHA-256 of the network file that both sides start from."""
        return hashlib.sha256(self.blob).hexdigest()


def prepare(spec: TrialSpec, elf: Path | None = None) -> Prepared:
    """Look everything up and check that it fits.

    Raises:
        RigError: an unknown name, a setting out of range, missing data.
        Blocked: the plan does not fit the board's arena; nothing has been flashed.
    """
    board = boards.load(spec.board)
    image = boards.image_of(spec.board, elf)
    network = build(spec.network, spec.seed)
    method(spec.method)
    settings = Settings.of_variant(
        spec.variant, tensors=len(network.trained), batch=spec.batch, seed=spec.seed, **spec.settings
    )
    planned = plan(network, settings.batch, settings.partition)
    arena = image.symbols["__arena_end"] - image.symbols["__arena_start"]
    if planned.total > arena:
        raise Blocked(
            "plan",
            f"{spec.network} by {spec.variant} at batch {spec.batch} needs {planned.total:,} bytes, {spec.board} has an arena of {arena:,}: "
            "choose a smaller batch or a variant that trains less by back-propagation.",
        )
    return Prepared(spec, board, image, network, encode(network), load_data(spec.data), settings, planned)


def run_trial(
    spec: TrialSpec,
    bench: Bench,
    reality: str,
    folder: Path,
    elf: Path | None = None,
    inject: tuple[str, ...] = (),
    progress: Callable[[StepRow], None] = lambda row: None,
) -> Outcome:
    """Run one trial to its verdict; faults of the rig and of the device end in the outcome, not in an exception.

    Args:
        spec: what to run.
        bench: what rig.toml says.
        reality: `auto` or one reality.
        folder: takes the logs.
        elf: the user's own firmware in the place of the prebuilt image.
        inject: faults for the virtual bench.
        progress: called after every step.

    Raises:
        RigError: the request itself is wrong (unknown name, setting out of range); nothing was started.
    """
    started = time.monotonic()
    outcome = Outcome(spec)
    try:
        prepared = prepare(spec, elf)
        outcome.begin(prepared)
        with take(prepared.board, bench, reality, prepared.image, folder / "bench.log", inject) as taken:
            outcome.reality = taken.endpoints.reality
            try:
                _on_board(prepared, taken, outcome, progress)
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


def _on_board(prepared: Prepared, taken: Taken, outcome: Outcome, progress: Callable[[StepRow], None]) -> None:
    target = open_target(prepared.board, taken.endpoints)
    try:
        outcome.programmed = target.flash(prepared.image)
        session = Session(target.port, fresh_nonce(), taken.alive)
        outcome.link = session.counters
        try:
            device = Device(session, prepared.board, prepared.image)
            outcome.clock_hz = device.clock_hz
            witness = None
            if target.probe is not None:
                offsets = tuple(layer.weight_offset for layer in prepared.network.trained)
                witness = Witness(target.probe, prepared.image, prepared.network, offsets)
            LockStep(prepared, device, witness, outcome, progress).run()
        except Refused as refusal:
            raise refused(refusal) from refusal
    finally:
        target.close()


class LockStep:
    """The body of a trial: the same batches to the board and to the reference, compared after every step."""

    def __init__(
        self,
        prepared: Prepared,
        device: Device,
        witness: Witness | None,
        outcome: Outcome,
        progress: Callable[[StepRow], None],
    ) -> None:
        self.p, self.device, self.witness, self.outcome, self.progress = prepared, device, witness, outcome, progress
        self.reference = method(prepared.spec.method)(prepared.network, prepared.settings)

    def run(self) -> None:
        """Load, compare the start, evaluate, train, evaluate, read the watermarks."""
        self.device.load(self.p.blob)
        agent_plan = self.device.configure(self.p.settings)
        if agent_plan["arena_planned"] != self.p.plan.total:
            raise DeviceFault(
                f"the agent plans {agent_plan['arena_planned']:,} bytes of arena where docs/memory.md gives {self.p.plan.total:,}."
            )
        self._compare_digests(-1, self.device.digests())
        if self.outcome.difference is None and self.p.spec.evaluate:
            self.outcome.accuracy_before, _ = self._evaluate()
        if self.outcome.difference is None:
            self._train()
        if self.outcome.difference is None and self.p.spec.evaluate:
            self.outcome.accuracy_after, self.outcome.reference_after = self._evaluate()
        self._watermarks()

    def _train(self) -> None:
        order = batches(self.p.data, self.p.spec.batch, self.p.spec.seed)
        with ThreadPoolExecutor(max_workers=1) as worker:
            for step in range(self.p.spec.steps):
                chosen = next(order)
                images, labels = self.p.data.train_images[chosen], self.p.data.train_labels[chosen]
                before = [weights.copy() for weights in self.reference.weights]
                pending = worker.submit(self.reference.step, images, labels)
                self.device.samples(images, labels)
                reply = self.device.step(step, len(chosen))
                outcome = pending.result()
                row = StepRow.of(step, reply, outcome)
                self.outcome.steps.append(row)
                self.outcome.final_digests = reply["digests"]
                if differing_tensors(reply["digests"], outcome.digests) or differing_terms(reply, outcome):
                    wrong = WrongStep(step, before, images, labels, reply, outcome)
                    self.outcome.difference = locate(self.device, self.reference, self.p, wrong)
                    return
                if self.witness is not None and (step + 1) % self.p.spec.probe_every == 0:
                    self._ask_witness(step, outcome.digests)
                self.progress(row)
                if self.outcome.difference is not None:
                    return

    def _ask_witness(self, step: int, digests: tuple[int, ...]) -> None:
        assert self.witness is not None
        wrong = self.witness.check(step, digests)
        self.outcome.probe_checks, self.outcome.probe_agreed = len(self.witness.steps), self.witness.agreed
        if wrong:
            name = self.p.network.trained[wrong[0]].name
            self.outcome.difference = Difference(
                step, name, None, "other bytes in memory", "its weights", "weight (read through the probe)"
            )

    def _compare_digests(self, step: int, board: tuple[int, ...]) -> None:
        wrong = differing_tensors(board, self.reference.digests())
        if wrong:
            layer = self.p.network.trained[wrong[0]]
            self.outcome.difference = Difference(
                step,
                layer.name,
                None,
                f"digest {board[wrong[0]]:08X}",
                f"digest {self.reference.digests()[wrong[0]]:08X}",
                "weight",
            )

    def _evaluate(self) -> tuple[float, float]:
        """Classify the test images on both sides, in chunks of one batch; return both accuracies."""
        n, size = min(self.p.spec.evaluate, len(self.p.data.test_images)), self.p.spec.batch
        right = reference_right = 0
        for start in range(0, n, size):
            images, labels = (
                self.p.data.test_images[start : min(start + size, n)],
                self.p.data.test_labels[start : min(start + size, n)],
            )
            self.device.samples(images, labels)
            reply = self.device.infer(len(images))
            predictions, correct, digest = self.reference.evaluate_chunk(images, labels)
            right, reference_right = right + reply["correct"], reference_right + correct
            ours = np.frombuffer(reply["predictions"], np.uint8)
            if reply["logits_digest"] != digest or not np.array_equal(ours, predictions) or reply["correct"] != correct:
                self.outcome.difference = Difference(
                    len(self.outcome.steps) - 1,
                    "logits",
                    None,
                    f"digest {reply['logits_digest']:08X}",
                    f"digest {digest:08X}",
                    f"evaluation of test images {start}..{start + len(images) - 1}:",
                )
                break
        self.outcome.evaluated = n
        return right / n, reference_right / n

    def _watermarks(self) -> None:
        said = self.device.memory()
        self.outcome.sram = Watermarks(said["static_bytes"], said["arena_peak"], said["stack_peak"])
        if self.witness is not None:
            self.outcome.sram_probe = through_probe(self.witness.probe.read, self.p.image)
