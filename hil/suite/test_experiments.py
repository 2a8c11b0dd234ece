"""Parts of the papers' tables, trained as by `hil experiment`; the board must repeat them bit for bit."""

from pathlib import Path

import pytest

from hil.errors import RigError
from hil.training.data import load
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.certify import Segment, certify, trial_of
from hil.training.experiments.curve import write_run
from hil.training.experiments.float_runs import FloatRun
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.kinds import Run
from hil.training.experiments.qzo_runs import QzoRun
from hil.training.experiments.tables import TABLES
from hil.training.experiments.train import Training
from hil.training.session.plugin import RunTrial
from hil.trial import does_not_fit

ADAPTATION = GraphRun(
    "fashion-mnist-1k+gaussian-noise-5@40", "noise", "adaptive", 1, 2, 10, "lenet5-tflite", "poor-mans-training",
    (("queries", 4),), eta=0.01,
)  # fmt: skip
FP32 = FloatRun("fashion-mnist-1k@96-32", "fp32", "cls1", 1, 2, 32, "lenet5-float32", 100, eta=0.01)
FORWARD = QzoRun(
    "fashion-mnist-1k+fog-5@40", "hard-1", "ff-16w8a", 1, 1, 10, "lenet5-tflite", "16w8a",
    given=(("directions", 3), ("last_layers", 1), ("optimizer", "adamw"), ("eta_min", 1e-5), ("steps", 4)), eta=0.001,
)  # fmt: skip
STEPS = 5  # with the paper's batch of 256; `hil experiment` certifies 20 steps
TABLE = TABLES["elasticzo-table1"](ExperimentRequest(("fashion-mnist",), ("int8", "int8star"), seeds=1, epochs=1))


def repeat_on_board(segment: Segment, board: str, hil_trial: RunTrial, folder: Path) -> None:
    """Repeat a part of a recorded training on the board; skip if the board is too small."""
    reason = does_not_fit(trial_of(segment, board, folder))
    if reason:
        pytest.skip(reason)
    found = certify(segment, board, folder, folder / "certificate", lambda spec, _: hil_trial(spec))
    assert found.verdict == "pass", found.reason


def train_and_repeat(segment: Segment, board: str, hil_trial: RunTrial, folder: Path) -> None:
    """Train the run of a segment on the reference, and repeat the segment on the board."""
    own = folder / segment.run.name
    own.mkdir()
    write_run(own, segment.run, load(segment.run.data).sha256)
    list(Training(own).epochs())
    repeat_on_board(segment, board, hil_trial, folder)


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("run", TABLE.runs, ids=lambda run: f"{run.column}-{run.variant}")
def test_table_1_begins_on_the_board_as_in_the_record(
    hil_board: str, run: Run, hil_trial: RunTrial, tmp_path: Path
) -> None:
    """Train one epoch on the reference; the first steps on the board must give the same digests."""
    try:
        data = load(run.data)
    except RigError as error:
        pytest.skip(str(error))
    folder = tmp_path / run.name
    folder.mkdir()
    write_run(folder, run, data.sha256)
    list(Training(folder).epochs())
    repeat_on_board(Segment(run, epoch=0, steps=STEPS), hil_board, hil_trial, tmp_path)


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("epoch", [0, 1])
def test_an_adaptation_goes_on_on_the_board_as_in_the_record(
    hil_board: str, epoch: int, hil_trial: RunTrial, tmp_path: Path
) -> None:
    """Train two epochs of Poor Man's Training on the reference; the board repeats steps of each from its checkpoint."""
    train_and_repeat(Segment(ADAPTATION, epoch, steps=4), hil_board, hil_trial, tmp_path)


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("epoch", [0, 1])
def test_float32_goes_on_on_the_board_as_in_the_record(
    hil_board: str, epoch: int, hil_trial: RunTrial, tmp_path: Path
) -> None:
    """The same for ElasticZO in FP32."""
    train_and_repeat(Segment(FP32, epoch, steps=2), hil_board, hil_trial, tmp_path)


@pytest.mark.tier("nightly")
def test_forward_gradients_begin_on_the_board_as_in_the_record(
    hil_board: str, hil_trial: RunTrial, tmp_path: Path
) -> None:
    """Train one epoch of QZO-FF on corrupted images on the reference; the board repeats its first steps."""
    train_and_repeat(Segment(FORWARD, epoch=0, steps=4), hil_board, hil_trial, tmp_path)
