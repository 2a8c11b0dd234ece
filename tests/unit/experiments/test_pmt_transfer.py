"""Tables 10 and 11 of Poor Man's Training: new classes, what is trained of them, and which images decide."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hil.commands import main as cli
from hil.errors import RigError
from hil.training.data import load
from hil.training.data.store import FOLDER_VARIABLE
from hil.training.experiments import adaptation
from hil.training.experiments.adaptation import Adaptation, new_task
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.certify import segments, trial_of
from hil.training.experiments.curve import read_curve, write_run
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.paper import paper
from hil.training.experiments.pmt import FP32, TASKS
from hil.training.experiments.qzo_runs import QzoRun
from hil.training.experiments.tables import TABLES
from hil.training.experiments.train import Training
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.networks import NETWORKS, build
from hil.training.trial.prepare import prepare

PAIR = "fashion-mnist-1k@classes-0-6"
TURNED = "rotated-fashion-mnist-1k-45"


@pytest.fixture(autouse=True)
def nothing_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "none"))


def small(network: str = "lenet5-tflite", data: str = TURNED, **others) -> ExperimentRequest:
    given = {"seeds": 2, "epochs": 2, "batch": 20, "images": 100, "queries": 2, "rates": (0.01, 0.1)}
    return ExperimentRequest((data,), network=network, **given | others)


def task(request: ExperimentRequest) -> Adaptation:
    return new_task(request.of(paper("pmt").experiments["pmt-table10"]))


def trained(graph: Graph, run: GraphRun) -> list[str]:
    settings = run.settings(0, ())
    return [graph.layers[index].name for index in settings.trained(graph)]


@pytest.mark.parametrize("name", TASKS)
def test_no_test_image_decides_and_every_row_waits_for_its_search(name: str) -> None:
    table = TABLES[name](small(data=f"{TURNED}@classes-0-6"))
    assert len({run.name for run in table.runs}) == len(table.runs)
    assert all("@80-20" in run.data for run in table.runs if run.name in table.choices)
    assert all(run.data.endswith("@100") for run in table.certified)
    ready: set[str] = set()
    for stage in table.stages:
        for run in stage:
            assert all(any(name.startswith(stem) for name in ready) for stem in run.searches())
        ready |= {run.name for run in stage}
    assert {row for _, _, row in table.cells} | set(table.not_run) == set(table.rows)
    values = {row: value for (_, _, row), value in table.paper.items()}
    assert len(values) == 4 and values["pmt"] == {"pmt-table10": 66.1, "pmt-table11": 86.16}[name]
    assert {run.name for run in table.runs} - table.choices - {run.name for run in table.certified} == {
        run.name for run in table.runs if run.variant == FP32 and run.name not in table.choices
    }


def test_sparse_training_trains_the_new_head_too() -> None:
    """With two classes both methods train the pointwise layers of block 3 and the head, as table 11 says."""
    request = small("mcunet-48", PAIR, seeds=1, rates=(0.01,))
    its = task(request)
    assert its.network == "mcunet-48@2-classes" and its.set_of("") == f"{PAIR}@100@48x48x3"
    table, graph = TABLES["pmt-table11"](request), build(its.network, 1)
    of = {row: table.cells[its.network, "two-classes", row][0] for row in table.rows}
    assert all(isinstance(of[row], GraphRun) for row in ("mcutrain", "pmt", "pmt-all", "cls-only"))
    layers = {row: trained(graph, of[row]) for row in ("mcutrain", "pmt", "pmt-all", "cls-only")}  # type: ignore[arg-type]
    block3 = [layer.name for layer in graph.layers if layer.op is Op.POINTWISE and layer.block == 3]
    assert layers["mcutrain"] == layers["pmt"] == [*block3, "fc1"] and len(block3) == 2
    assert layers["cls-only"] == ["fc1"]
    assert layers["pmt-all"] == [layer.name for layer in graph.layers if layer.op is Op.POINTWISE] + ["fc1"]
    floats = of[FP32]
    assert isinstance(floats, QzoRun) and floats.network_for(load(floats.data)).classes == 2
    memory = {row.method: row.parts for row in table.memory}
    assert memory["cls-only"]["arena"] < memory["pmt, blocks 100"]["arena"] < memory["mcutrain"]["arena"]
    assert memory["pmt, blocks 100"]["equation"] < memory["pmt-all"]["equation"] < memory["bp-int8"]["equation"]


def test_the_blocks_of_table_10_are_tried_with_the_head() -> None:
    table = TABLES["pmt-table10"](small("mcunet-48", "fashion-mnist-1k", rates=(0.01,), seeds=1))
    graph = build("mcunet-48@10-classes", 1)
    tests = [run for run in table.runs if run.name in table.choices]
    assert len(tests) == 4 and all(isinstance(run, GraphRun) and "fc1" in trained(graph, run) for run in tests)
    assert len({tuple(trained(graph, run)) for run in tests if isinstance(run, GraphRun)}) == 4


def test_own_images_are_read_at_the_size_of_the_network(tmp_path: Path) -> None:
    for name, level in (("bright", 200), ("dark", 50), ("grey", 120)):
        (tmp_path / "mine" / name).mkdir(parents=True)
        for number in range(12):
            pixels = np.full((20 + number, 30, 3), level + number, np.uint8)
            Image.fromarray(pixels).save(tmp_path / "mine" / name / f"{number}.png")
    request = small("mcunet-48", str(tmp_path / "mine"), batch=4, images=16)
    its = task(request)
    assert its.network == "mcunet-48@3-classes"
    assert load(its.set_of("")).train_images.shape == (16, 48, 48, 3)
    assert load(its.held_out("")).test_images.shape == (3, 48, 48, 3)
    table = TABLES["pmt-figure11"](request)
    names = (
        {run.name for run in table.runs} | {column for _, column in table.columns} | {*table.differences, table.title}
    )
    assert not [name for name in names if str(tmp_path) in name], "no folder is published"


def test_a_large_set_is_tested_on_training_images_that_no_run_trains_on(monkeypatch: pytest.MonkeyPatch) -> None:
    request = small(images=300)
    its = task(request)
    assert its.set_of("") == f"{TURNED}@300" and not its.tested
    monkeypatch.setattr(adaptation, "MOST_TEST", 400)
    its = task(request)
    assert its.set_of("") == f"{TURNED}@300-400" and its.held_out("") == f"{TURNED}@240-60"
    said = TABLES["pmt-table10"](request).differences
    assert "Tested on the 400 training images after those that are used; no run trains on them." in said
    assert task(small(images=1000)).set_of("") == f"{TURNED}@1000", "none remain"


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        RigError, match="a task of two classes, and rotated-fashion-mnist-1k-45 has 10: add @classes-A-B"
    ):
        TABLES["pmt-table11"](small())
    with pytest.raises(RigError, match="a batch of 90 is larger than the 80 training images that remain"):
        TABLES["pmt-table10"](small(batch=90))
    monkeypatch.delitem(NETWORKS, "mcunet-in1-128", raising=False)
    with pytest.raises(RigError, match="the default network mcunet-in1-128 is read from your files: set TRAINRIG_TINY"):
        task(ExperimentRequest((PAIR,)))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["pmt-table10", "--network=lenet5-tflite", "--corruptions=fog"], "--corruptions is given for pmt-table10"),
        (["pmt-table7", f"--data={PAIR}"], "--data is an option of"),
        (["pmt-table7", "--network=mcunet-48"], "mcunet-48 was not trained on Fashion-MNIST"),
        (["fqt-figure4", "--data=fashion"], "--data names 'fashion': did you mean fashion-mnist"),
    ],
)
def test_wrong_options(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["experiment", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_a_run_trains_and_can_go_to_a_board(tmp_path: Path) -> None:
    """An epoch of MCUTrain and of BP in floats, with a head for two classes; the trial of the first has the network."""
    request = small("mcunet-48", PAIR, epochs=1, images=10, batch=4, seeds=1, rates=(0.01,))
    table = TABLES["pmt-table11"](request)
    for row in ("mcutrain", FP32):
        (run,) = table.cells[task(request).network, "two-classes", row]
        run = replace(
            run, data=task(request).held_out(""), given=(*run.given, ("steps", 4)) if row == FP32 else run.given
        )
        folder = tmp_path / run.name
        folder.mkdir()
        write_run(folder, run, load(run.data).sha256)
        assert [one.epoch for one in Training(folder).epochs()] == [0, 1]
        assert read_curve(folder)[-1].moved > 0
        if row == "mcutrain":
            (segment,) = segments([run], tmp_path)
            spec = trial_of(segment, "mps2-an500", tmp_path)
            assert (spec.network, prepare(spec).method.network.classes) == ("mcunet-48@2-classes", 2)
