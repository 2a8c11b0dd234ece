"""The FP32 columns of ElasticZO: schedule, searches, pre-training with Adam, and what stands in the tables."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import load
from hil.training.experiments.adam import BETA1, BETA2, RATE, SMALL, AdamPreTraining
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.charts import charts
from hil.training.experiments.choice import resolved
from hil.training.experiments.curve import EpochRow, checkpoint_path, read_curve, read_run, write_curve, write_run
from hil.training.experiments.float_runs import ADAM, FloatRun
from hil.training.experiments.summary import summarise
from hil.training.experiments.table import NONE
from hil.training.experiments.tables import TABLES
from hil.training.experiments.train import Training, mean_loss
from hil.training.networks import build
from hil.training.reference.methods.elasticzo_fp32 import ElasticZoFp32Reference
from hil.training.trial.prepare import prepare
from hil.trial import TrialSpec

from .folders import counted

DATA = ("mnist", "fashion-mnist", "furniture-clouds")
FULL = ExperimentRequest(DATA, ("fp32", "int8", "int8star"), seeds=3)
ONLY = ExperimentRequest(("fashion-mnist",), ("fp32",), seeds=2, rates=(0.01,))
ROWS = ("full-zo", "cls2", "cls1", "full-bp")
table1, table2 = TABLES["elasticzo-table1"], TABLES["elasticzo-table2"]
SMALL_DATA = "fashion-mnist-1k@96-32"
RUN = FloatRun(SMALL_DATA, "fp32", "cls1", 1, 2, 32, "lenet5-float32", 100, eta=0.01)
PRE = replace(RUN, column=ADAM, variant="full-bp", epochs=1, eta=None)


def test_table_1_has_the_columns_of_the_paper() -> None:
    table = table1(FULL)
    assert len(table.paper) == 26 and set(table.paper) <= set(table.cells)
    assert table.paper["furniture-clouds", "fp32", "cls1"] == 73.5
    assert [column for data, column in table.columns if data == "mnist"] == ["fp32", "int8", "int8star"]
    assert ("furniture-clouds", "int8") not in table.columns
    searched, trained = table.stages
    assert len(table.searches) == 12 and all(set(search.first_runs()) <= set(searched) for search in table.searches)
    lenet = table.cells["mnist", "fp32", "cls1"][2]
    assert (lenet.data, lenet.seed, lenet.epochs, lenet.batch, lenet.network) == (
        "mnist-50k",
        3,
        100,
        32,
        "lenet5-float32",
    )
    cloud = table.cells["furniture-clouds", "fp32", "full-bp"][0]
    assert (cloud.data, cloud.epochs, cloud.paper_epochs, cloud.network) == (
        "furniture-clouds", 200, 200, "pointnet-float32",
    )  # fmt: skip
    assert {run.data for run in table.searches[0].first_runs()} == {"mnist@50000-10000"}, "no run trains on these"
    assert lenet in trained and lenet in table.certified and table.searches[0].first_runs()[0] not in table.certified
    assert any("stands in for ModelNet40" in one for one in table.differences)


def test_a_search_on_images_is_the_beginning_of_the_run() -> None:
    """With all marks of the schedule in a twentieth of the epochs, a rate that diverges in the run looked best."""
    table, steps = table1(FULL), 1562
    for search in table.searches:
        found = search.runs(0.01)[0]
        run = replace(table.cells[found.data.partition("@")[0], "fp32", found.variant][0], eta=0.01, rate_from=())
        assert found.epochs == (20 if found.network == "lenet5-float32" else 200)
        of_run = [mark for mark in run.schedule(steps * run.epochs) if mark[0] < steps * found.epochs]
        assert list(found.schedule(steps * found.epochs)) == of_run and of_run


def test_table_2_pre_trains_searches_and_tunes() -> None:
    table = table2(FULL)
    assert len(table.paper) == 40 and set(table.paper) <= set(table.cells)
    assert not any("clouds" in data for data, _ in table.columns)
    before, searched, _ = table.stages
    adam = {run.name: run for run in before if run.column == ADAM}
    assert len(adam) == 6 and {run.epochs for run in adam.values()} == {1}
    assert not set(adam.values()) & set(table.certified), "no board trains with Adam"
    for row in (NONE, *ROWS):
        for run in table.cells["rotated-mnist-45", "fp32", row]:
            assert run.epochs == 50 and run.start == f"mnist-50k-adam-full-bp-seed{run.seed}"
    search = next(one for one in table.searches if one.base.data == "rotated-mnist-45@824-200")
    assert [run.start for run in search.runs(0.01)] == [f"mnist-50k-adam-full-bp-seed{seed}" for seed in (1, 2)]
    assert set(search.first_runs()) <= set(searched)
    assert len(table.runs) == len({run.name for run in table.runs})


def test_a_single_rate_is_not_searched() -> None:
    table = table1(ONLY)
    assert not table.searches and {run.eta for run in table.runs} == {0.01} and len(table.runs) == 8
    assert not any("r_max" in one for one in table.differences), "nothing is said of INT8"


def test_the_rate_falls_every_ten_epochs() -> None:
    run = replace(RUN, epochs=100, eta=0.05)
    found = run.schedule(300)
    assert [step for step, _ in found] == [30 * part for part in range(1, 10)]
    expected = 0.05
    for step, change in found:
        expected *= 0.8
        assert change == {"eta": expected} and run.settings(step, found).eta == expected
    assert run.settings(29, found).eta == 0.05
    assert len(replace(run, epochs=2).schedule(4)) == 4, "of marks on one step the last one counts"
    assert len(replace(run, paper_epochs=50).schedule(300)) == 4


def test_adam_by_hand() -> None:
    """Two steps in binary64 from the gradients of the reference: equal within the rounding of binary32."""
    data, network = load(SMALL_DATA), build("lenet5-float32", 1)
    adam = AdamPreTraining(network, 32, 1)
    plain = ElasticZoFp32Reference(network, adam.settings)
    means = [np.zeros(tensor.shape) for tensor in plain.weights]
    squares = [np.zeros(tensor.shape) for tensor in plain.weights]
    for step in (1, 2):
        images, labels = data.train_images[:32], data.train_labels[:32]
        plain._tensors = [tensor.copy() for tensor in adam.weights]
        expected = []
        for place, total in enumerate(plain.gradients(images, labels)):
            g = total.astype(np.float64) / 32
            means[place] = BETA1 * means[place] + (1 - BETA1) * g
            squares[place] = BETA2 * squares[place] + (1 - BETA2) * g * g
            size = np.sqrt(squares[place] / (1 - BETA2**step)) + SMALL
            expected.append(plain.weights[place] - RATE * (means[place] / (1 - BETA1**step)) / size)
        adam.step(images, labels)
        for ours, theirs in zip(adam.weights, expected, strict=True):
            assert ours.dtype == np.float32
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-6)


def begun(folder: Path, run: FloatRun) -> Path:
    (folder / run.name).mkdir(parents=True)
    write_run(folder / run.name, run, load(run.data).sha256)
    return folder / run.name


def test_a_run_starts_from_the_pre_trained_weights_and_continues(tmp_path: Path) -> None:
    before = begun(tmp_path, PRE)
    assert read_run(before)[0] == PRE
    rows = list(Training(before).epochs())
    assert rows[1].loss < 2.5 and rows[1].test_loss is not None and rows[1].moved > 0.5
    weights = checkpoint_path(before, 1)
    spec = TrialSpec("stm32h7b3", "cls1", "lenet5-float32", "elasticzo-fp32", checkpoint=weights, evaluate=0, steps=1)
    with np.load(weights) as stored:
        np.testing.assert_array_equal(prepare(spec).method.plan.arrays[0][1], stored["w0"])
        first = stored["w0"]
    tuned = begun(tmp_path, replace(RUN, start=PRE.name))
    whole = list(Training(tuned).epochs())
    with np.load(checkpoint_path(tuned, 0)) as start:
        np.testing.assert_array_equal(start["w0"], first)
    write_curve(tuned, whole[:2])
    again = list(Training(tuned).epochs())
    assert [row.digest for row in again] == [whole[2].digest], "interrupted and continued: the same bits"


def test_pre_training_keeps_its_moments(tmp_path: Path) -> None:
    run = replace(PRE, epochs=2)
    folder = begun(tmp_path, run)
    whole = list(Training(folder).epochs())
    write_curve(folder, whole[:2])
    with pytest.raises(RigError, match="state-001.npz"):
        list(Training(folder).epochs())
    broken = begun(tmp_path / "again", run)
    list(islice(Training(broken).epochs(), 2))
    assert [row.digest for row in Training(broken).epochs()] == [whole[2].digest]
    assert not replace(RUN, start=PRE.name).has_state, "the runs that start from it have no moments"


def test_the_rate_of_the_search_is_used(tmp_path: Path) -> None:
    table = table1(ExperimentRequest(("fashion-mnist",), ("fp32",), seeds=1, epochs=2))
    search = next(one for one in table.searches if one.base.variant == "cls1")
    for run in search.first_runs():
        (tmp_path / run.name).mkdir()
        write_run(tmp_path / run.name, run, "0" * 64)
        accuracy = 0.8 if run.eta == 0.001 else 0.5
        rows = [EpochRow(0, 0, None, None, 0.1, 0.1, 0, 0), EpochRow(1, 5, 1.0, None, 0.5, accuracy, 1, 1, moved=1.0)]
        write_curve(tmp_path / run.name, counted(rows))
    assert not search.more_runs(tmp_path), "the best rate is inside the grid"
    run = table.cells["fashion-mnist", "fp32", "cls1"][0]
    assert run.eta is None and resolved(run, tmp_path).eta == 0.001 and resolved(run, tmp_path).chosen() == "eta 0.001"


def test_the_page_has_the_loss_curves(tmp_path: Path) -> None:
    table = table1(replace(ONLY, epochs=2))
    for run in table.runs:
        (tmp_path / run.name).mkdir()
        rows = [
            EpochRow(epoch, epoch, 2.0 / epoch if epoch else None, None, 0.1, 0.1, 0, 0, test_loss=2.5 - epoch)
            for epoch in range(3)
        ]
        write_curve(tmp_path / run.name, rows)
    captions = [caption for caption, _ in charts(summarise(table, tmp_path, {}))]
    assert captions == ["fashion-mnist FP32"] + [
        f"fashion-mnist FP32, {what} loss in nats (figure 2)" for what in ("training", "test")
    ]
    write_curve(
        tmp_path / table.runs[0].name,
        [replace(row, test_loss=None) for row in read_curve(tmp_path / table.runs[0].name)],
    )
    lines = charts(summarise(table, tmp_path, {}))
    assert len(lines) == 3 and "Full ZO" not in lines[2][1], "an old record without test losses has no line"


def test_the_mean_loss_by_hand() -> None:
    logits, exponents = np.array([[1, 3], [0, 0]], np.int8), np.array([-1, 5])
    expected = (np.log(np.exp(0.5) + np.exp(1.5)) - 0.5 + np.log(2)) / 2
    assert mean_loss(logits, exponents, np.array([0, 1], np.uint8)) == pytest.approx(expected)
