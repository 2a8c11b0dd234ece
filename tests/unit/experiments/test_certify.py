"""Certification against a board that is the reference itself: it passes, and does not pass when a single weight is wrong."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hil.errors import Blocked
from hil.images import Image
from hil.link.pending_request import RequestTime
from hil.link.replies import Loaded, Planned, Stepped
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.certify import Segment, certify, segments
from hil.training.experiments.curve import checkpoint_path, read_checkpoint, read_run, write_checkpoint
from hil.training.experiments.exponents import SEGMENT, ExponentRun
from hil.training.experiments.tables import TABLES
from hil.training.experiments.train import Training
from hil.training.graph.file import decode
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.methods.plan import MethodPlan
from hil.training.methods.settings import FORMATS, sent
from hil.training.reference.methods import MethodReference
from hil.training.reference.methods.elasticzo_int8 import ElasticZoInt8Reference
from hil.training.trial.batch import Batch
from hil.training.trial.lockstep import LockStep
from hil.training.trial.lockstep_outcome import PHASES, LockStepOutcome
from hil.training.trial.outcome import Outcome
from hil.training.trial.prepare import prepare
from hil.training.trial.stages import Watch
from hil.trial import TrialSpec


def settings_in(configuration: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of the settings in the fields of `configure`, by name."""
    table = sent(ElasticZoSettings.table)
    kinds = "".join(FORMATS[setting.type] for setting in table.values())
    numbers = struct.unpack(f"<{kinds}", bytes([configuration["method"]]) + configuration["settings"])
    return dict(zip(table, numbers, strict=True))


class FakeBoard:
    """The board's side of a trial, played by the reference; `spoil` may change its weights behind the load."""

    def __init__(self, spec: TrialSpec, spoil: int | None = None) -> None:
        self.prepared, self.spoil = prepare(spec), spoil
        self.learner: MethodReference | None = None
        self.step_deadline_s, self.took = 1.0, RequestTime(0.0, 0.0, 0)
        self.identity, self.clock_hz = (
            SimpleNamespace(counter="none"),
            self.prepared.board.clock_hz,
        )  # it counts no cycles
        self.held: list[tuple[np.ndarray, np.ndarray]] = []

    def take_network(self, image: Image, blob: bytes) -> Loaded:
        self.network = decode(blob)
        self.tensors = len(self.network.trained)
        return Loaded(self.tensors, 9)

    def configure(self, configuration: dict[str, Any]) -> Planned:
        first_step = settings_in(configuration)["first_step"]
        settings = self.prepared.settings_at(first_step)
        if self.learner is None:
            self.learner = ElasticZoInt8Reference(self.network, settings)
            if self.spoil is not None:
                self.learner.weights[2].reshape(-1)[self.spoil] ^= 1
        self.learner.configure(settings, first_step)
        return Planned(self.prepared.plan.total, self.prepared.plan.total, self.tensors)

    def begin(self, plan: MethodPlan, configuration: dict[str, Any]) -> Planned:
        assert not plan.beside_file()
        return self.configure(configuration)

    def digests(self) -> tuple[int, ...]:
        return self.learner.digests()

    def fill(self, batch: Batch) -> None:
        self.held.append((batch.images, batch.labels))

    def part(self, step: int, number: int, first: int, count: int) -> int:
        if number:
            self.held.pop()  # the second pass brings the same samples again
        return first + count

    def step(self, step: int, count: int) -> Stepped:
        images, labels = (np.concatenate(arrays) for arrays in zip(*self.held, strict=True))
        self.held = []
        assert len(images) == count
        outcome = self.learner.step(images, labels)
        return Stepped(
            step, outcome.loss_plus, outcome.loss_minus, dict.fromkeys(PHASES, 1), outcome.digests, outcome.sign
        )

    def stretches(self) -> tuple[int, list[tuple[str, int]]]:
        return 0, []

    def profile(self, layers: int) -> None:
        return


def on_fake(spec: TrialSpec, folder: Path, spoil: int | None = None) -> Outcome:
    board = FakeBoard(spec, spoil)
    found = LockStepOutcome(board.prepared, "fake", board.clock_hz)
    outcome = Outcome(spec, reality="fake", compared=found, figures=found.figures)
    trial = LockStep(found, board, None, Watch())
    trial.begin()
    trial.train()
    outcome.judge()
    return outcome


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of three epochs of 20 steps, with a change of settings inside the second."""
    from hil.training.data import load
    from hil.training.experiments.curve import write_run

    run = ExponentRun("fashion-mnist-1k", "int8star", "cls1", 1, 3, batch=50, r_max=15)
    folder = tmp_path_factory.mktemp("runs") / run.name
    folder.mkdir()
    write_run(folder, run, load(run.data).sha256)
    list(Training(folder).epochs())
    assert any(20 < step < 40 for step, _ in run.schedule(60))
    return folder


@pytest.mark.parametrize("epoch", [0, 1, 2])
def test_every_epoch_passes(trained: Path, tmp_path: Path, epoch: int) -> None:
    one = certify(Segment(read_run(trained)[0], epoch, 20), "stm32h7b3", trained.parent, tmp_path / "log", on_fake)
    assert (one.verdict, one.steps, one.first_step, one.reality, one.reason) == ("pass", 20, 20 * epoch, "fake", "")
    segment = Segment(read_run(trained)[0], epoch, 20)
    assert one.repeats(segment, "stm32h7b3", trained.parent) and not one.repeats(segment, "rp2040", trained.parent)
    assert not replace(one, digest=None).repeats(segment, "stm32h7b3", trained.parent), "an old one knows no weights"
    assert not replace(one, digest=one.digest ^ 1).repeats(segment, "stm32h7b3", trained.parent), "other weights"


@pytest.mark.parametrize("epoch", [0, 2])
@pytest.mark.parametrize("weight", [0, 5000])
def test_one_bit_of_one_weight_on_the_board_fails(trained: Path, tmp_path: Path, epoch: int, weight: int) -> None:
    def spoiled(spec: TrialSpec, folder: Path) -> Outcome:
        return on_fake(spec, folder, spoil=weight)

    one = certify(Segment(read_run(trained)[0], epoch, 20), "stm32h7b3", trained.parent, tmp_path / "log", spoiled)
    assert one.verdict == "fail" and "fc1" in one.reason


def test_a_record_that_another_reference_made_fails(trained: Path, tmp_path: Path) -> None:
    """Board and reference agree with each other, but not with what the experiment noted."""
    runs = tmp_path / "runs"
    other = runs / trained.name
    other.mkdir(parents=True)
    for file in trained.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    kept = read_checkpoint(checkpoint_path(other, 2))
    digests = kept.digests.copy()
    digests[-1, 4] ^= 1
    write_checkpoint(checkpoint_path(other, 2), kept.weights, kept.step, digests)
    one = certify(Segment(read_run(other)[0], 1, 20), "stm32h7b3", runs, tmp_path / "log", on_fake)
    assert one.verdict == "fail" and "weights after step 39 differ from those of the experiment" in one.reason
    assert certify(Segment(read_run(other)[0], 1, 19), "stm32h7b3", runs, tmp_path / "log", on_fake).verdict == "pass"


def test_what_the_rig_cannot_tell_is_blocked(trained: Path, tmp_path: Path) -> None:
    def unplugged(spec: TrialSpec, folder: Path) -> Outcome:
        outcome = Outcome(spec)
        outcome.block(Blocked("bench", "the board is gone."))
        return outcome

    one = certify(Segment(read_run(trained)[0], 1, 20), "stm32h7b3", trained.parent, tmp_path / "log", unplugged)
    assert (one.verdict, one.reason, one.steps, one.reality) == ("blocked", "the board is gone.", 0, None)


def test_which_segments(tmp_path: Path) -> None:
    asked = ExperimentRequest(("fashion-mnist",), ("int8", "int8star"), seeds=3, epochs=10, batch=50)
    runs = [replace(run, data="fashion-mnist-1k") for run in TABLES["elasticzo-table1"](asked).runs]
    chosen = list(segments(runs, tmp_path))
    rows = {(run.data, run.column, run.variant) for run in runs}
    assert len(rows) == 7 and len(chosen) == 14
    assert [(one.epoch, one.run.seed) for one in chosen[::2]] == [(0, 1)] * 7, "the beginning of every row"
    assert all(1 <= one.epoch < 10 and one.steps == SEGMENT for one in chosen[1::2]), "and a place in its middle"
    assert len({(one.epoch, one.run.seed) for one in chosen[1::2]}) > 3, "drawn, not fixed"
    assert chosen == list(segments(runs, tmp_path)), "and drawn the same every time"
    large = [replace(run, batch=256) for run in runs]
    assert {one.steps for one in segments(large, tmp_path)} == {3}, "1,000 images have three batches of 256"
    assert large[0].longest_segment() == 5, "no more samples than a stand-in trains in about half a minute"
    short = [replace(run, epochs=1, batch=200) for run in runs]
    assert {(one.epoch, one.steps) for one in segments(short, tmp_path)} == {(0, 5)}, "a segment ends with its epoch"
