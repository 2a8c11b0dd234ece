"""A schedule keeps what a method has beside its weights, on a board that is the reference itself (docs/link.md)."""

from __future__ import annotations

import struct
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hil.images import Image
from hil.link.pending_request import RequestTime
from hil.link.replies import CountedWork, Loaded, Planned, Stepped
from hil.training.data import batches
from hil.training.methods.plan import MethodPlan
from hil.training.methods.settings import FORMATS, sent
from hil.training.reference.methods import MethodReference, reference_of
from hil.training.trial.batch import Batch
from hil.training.trial.device import Device
from hil.training.trial.lockstep import LockStep
from hil.training.trial.lockstep_outcome import PHASES, LockStepOutcome
from hil.training.trial.prepare import Prepared, prepare
from hil.training.trial.stages import Watch
from hil.trial import TrialSpec

STEPS = 7
SCHEDULE = ((3, {"eta": 0.002}), (5, {"eta": 0.001}))
MCUTRAIN = TrialSpec(
    "stm32h7b3", "block3", "lenet5-tflite", "mcutrain", batch=4, steps=STEPS, evaluate=0, schedule=SCHEDULE,
    settings={"eta": 0.01, "train": "all", "blocks": 8},
)  # fmt: skip
TINYTRAIN = replace(
    MCUTRAIN, variant="budget", method="tinytrain", settings={"eta": 0.01, "blocks": 12, "work_budget": 256}
)
FQT = replace(
    MCUTRAIN, variant="uint8", network="fqt-cnn-uint8", method="fqt",
    settings={"eta": 0.001, "last_layers": 2, "optimizer": "adam", "standardise": "accumulated"},
)  # fmt: skip


class FakeBoard:
    """The board's side of a trial. Its `configure` follows the schedule by the rule of docs/link.md."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.table = sent(prepared.method.kind.table)
        self.learner: MethodReference = reference_of(prepared.method)
        self.step_deadline_s, self.took = 1.0, RequestTime(0.0, 0.0, 0)
        self.identity, self.clock_hz = SimpleNamespace(counter="none"), prepared.board.clock_hz
        self.tensors = len(prepared.method.plan.tensors)
        self.before: dict[str, Any] = {}
        self.written, self.next_step, self.followed = False, 0, list[int]()

    def take_network(self, image: Image, blob: bytes) -> Loaded:
        return Loaded(self.tensors, 9)

    def configure(self, configuration: dict[str, Any]) -> Planned:
        kinds = "".join(FORMATS[setting.type] for setting in self.table.values())
        numbers = struct.unpack(f"<{kinds}", bytes([configuration["method"]]) + configuration["settings"])
        given = dict(zip(self.table, numbers, strict=True))
        first_step = given.pop("first_step")
        kept = {name: value for name, value in given.items() if not self.table[name].scheduled}
        settings = self.prepared.settings_at(first_step)
        if kept == self.before and first_step == self.next_step and not self.written:
            self.learner.follow(settings)
            self.followed.append(first_step)
        else:
            self.learner.configure(settings, first_step)
        self.before, self.written, self.next_step = kept, False, first_step
        return Planned(self.prepared.plan.total, self.prepared.plan.total, self.tensors)

    begin, _write_all = Device.begin, Device._write_all

    def write(self, tensor: int, data: bytes) -> None:
        assert data == self.learner.weights[tensor].tobytes()
        self.written = True

    def send_weights(self, plan: MethodPlan, arrays: list[np.ndarray], configuration: dict[str, Any]) -> None:
        self.learner = reference_of(self.prepared.method.given(arrays))
        Device.send_weights(self, plan, arrays, configuration)  # type: ignore[arg-type]

    def digests(self) -> tuple[int, ...]:
        return self.learner.digests()

    def fill(self, batch: Batch) -> None:
        self.held = batch

    def step(self, step: int, count: int) -> Stepped:
        assert step == self.next_step and count == len(self.held.images)
        self.next_step, self.written = self.next_step + 1, False
        its = self.learner.step(self.held.images, self.held.labels)
        return Stepped(step, its.loss_plus, its.loss_minus, dict.fromkeys(PHASES, 1), its.digests, its.sign)

    def stretches(self) -> tuple[int, list[tuple[str, int]]]:
        return 0, []

    def profile(self, layers: int) -> None:
        return

    def work(self) -> CountedWork:
        found = self.learner.last_work() or self.prepared.method.figures.work()
        assert found is not None
        return CountedWork(found.macs, found.layer_runs, 1)


def begun(spec: TrialSpec) -> tuple[LockStep, FakeBoard]:
    board = FakeBoard(prepare(spec))
    trial = LockStep(LockStepOutcome(board.prepared, "fake", board.clock_hz), board, None, Watch())  # type: ignore[arg-type]
    trial.begin()
    return trial, board


@pytest.mark.parametrize("spec", [MCUTRAIN, TINYTRAIN, FQT], ids=lambda spec: spec.method)
def test_both_sides_follow_the_schedule(spec: TrialSpec) -> None:
    """Not as a reference that begins anew at every change: from the first change on, or the second, it differs."""
    trial, board = begun(spec)
    trial.train()
    assert trial.outcome.difference is None and len(trial.outcome.steps) == STEPS
    assert board.followed == [3, 5] and trial.reference.state().keys() == board.learner.state().keys()
    anew, order = reference_of(trial.p.method), batches(trial.p.data, spec.batch, spec.seed)
    for step in range(STEPS):
        if step in (3, 5):
            anew.configure(trial.p.settings_at(step), step)
        chosen = next(order)
        digests = anew.step(trial.p.data.train_images[chosen], trial.p.data.train_labels[chosen]).digests
    assert digests != trial.outcome.final_digests


@pytest.mark.parametrize("spec", [MCUTRAIN, FQT], ids=lambda spec: spec.method)
def test_a_board_that_comes_back_begins_anew_and_then_follows(spec: TrialSpec) -> None:
    """Its weights are written after its settings; both sides keep what has come about since then."""
    trial, _ = begun(replace(spec, steps=4))
    trial.train()
    board = FakeBoard(trial.p)
    trial.continue_with(board)  # type: ignore[arg-type]
    trial.train()
    assert trial.outcome.difference is None and trial.next_step == 8
    assert board.followed == [5]
