"""The tables of QZO-FF: which runs stand where, what they wait for, and how they train and resume."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from hil.commands import main as cli
from hil.errors import RigError
from hil.training.data import load
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.certify import segments, trial_of
from hil.training.experiments.choice import resolved
from hil.training.experiments.curve import EpochRow, read_curve, read_run, write_curve, write_run
from hil.training.experiments.qzo_runs import QzoRun
from hil.training.experiments.render import as_markdown, as_page
from hil.training.experiments.summary import ExperimentSummary, summarise
from hil.training.experiments.table import PaperTable
from hil.training.experiments.tables import TABLES
from hil.training.experiments.train import TaskTraining, Training
from hil.training.trial.prepare import prepare

from .folders import by_slices, counted, untimed

OWN = QzoRun(
    "fashion-mnist-1k+fog-5@20-10", "easy-1", "ff-16w8a", 1, 3, 10, "lenet5-tflite", "16w8a",
    given=(("directions", 1), ("last_layers", 1), ("optimizer", "adamw"), ("eta_min", 1e-5), ("steps", 6)), eta=0.01,
)  # fmt: skip
TASKS = replace(
    OWN, data="fashion-mnist-1k", head="protonet", tasks=2, batch=25, epochs=2,
    given=(("directions", 1), ("last_layers", 1)), eta=0.003,
)  # fmt: skip


def begin(runs: Path, run: QzoRun) -> Path:
    folder = runs / run.name
    folder.mkdir(parents=True)
    write_run(folder, run, load(run.data).sha256)
    return folder


def filled(table: PaperTable, folder: Path, rows: dict[str, float]) -> ExperimentSummary:
    """Curves whose last accuracy is what `rows` says, by row; 0.5 where it says nothing."""
    for run in table.runs:
        value = rows.get(run.variant, 0.5)
        curve = [EpochRow(0, 0, None, None, 0.1, 0.3, 0, 0)]
        curve += [EpochRow(epoch, epoch, 1.0, None, 0.1, value, 0.5, 0) for epoch in range(1, run.epochs + 1)]
        (folder / run.name).mkdir(parents=True)
        write_run(folder / run.name, run, "")
        write_curve(folder / run.name, curve)
    return summarise(table, folder, {"time": "then", "commit": None})


@pytest.mark.parametrize("network", ["lenet5-tflite", "resnet-tiny"])
@pytest.mark.parametrize("name", [name for name in TABLES if name.startswith("qzo-")])
def test_every_run_waits_for_its_search_and_no_test_image_decides(name: str, network: str) -> None:
    table = TABLES[name](ExperimentRequest(network=network))
    assert len({run.name for run in table.runs}) == len(table.runs)
    stems = {search.stem for search in table.searches}
    first, second = table.stages
    assert {run.name for run in first} == table.choices
    for run in first:
        assert isinstance(run, QzoRun) and run.eta is not None and run.column.startswith("rate")
        assert run.split == "val" if run.tasks else run.data.endswith("@800-200")
    for run in second:
        assert isinstance(run, QzoRun) and run.eta is None and run.rate_from in stems
        assert not run.tasks or run.split == "test"
    assert {search.stem for search in table.searches} == {run.rate_from for run in second}
    assert {row for _, _, row in table.cells} | set(table.not_run) == set(table.rows)
    assert set(table.not_run) == ({"8w8a"} if (name, network) == ("qzo-ablation", "resnet-tiny") else set())
    assert all(run.system == "16w8a" and run.head == "own" for run in table.certified)
    assert bool(table.certified) == (name == "qzo-ood")


def test_the_paper_s_cells() -> None:
    few = TABLES["qzo-few-shot"](ExperimentRequest(network="resnet-tiny"))
    assert few.paper["resnet-tiny", "protonet", "ff-probe-16w8a"] == 95.86
    ood = TABLES["qzo-ood"](ExperimentRequest())
    assert ood.paper["lenet5-tflite, 3 trained layers", "hard", "bp"] == 74.76
    assert set(ood.paper) == set(ood.cells)
    assert len(ood.cells["lenet5-tflite, 1 trained layer", "easy", "ff"]) == 4 * 3, "four corruptions, three seeds"


def test_the_ablation_changes_one_thing_at_a_time() -> None:
    table = TABLES["qzo-ablation"](ExperimentRequest())
    settings = {row: table.cells["mnist", "probe", row][0] for row in table.rows}
    base = dict(settings["16w8a"].given)
    differ = {row: set(dict(run.given).items()) - set(base.items()) for row, run in settings.items()}
    assert differ["16w8a-m10"] == {("directions", 10)} and differ["sharpness"] == {("rho", 1e-2)}
    assert differ["16w8a-paper-epsilon"] == differ["8w8a"] == {("epsilon", 1e-3)}
    assert differ["binomial"] == {("distribution", "binomial")} and not differ["8w8a-large-epsilon"] | differ["ff"]
    assert {dict(run.given)["last_layers"] for run in settings.values()} == {1}
    assert base["warmup"] * 5 == base["steps"] == 100 * 20


def test_memory_of_forward_gradients_is_below_that_of_back_propagation() -> None:
    rows = TABLES["qzo-ablation"](ExperimentRequest()).memory
    for network in ("lenet5", "resnet-tiny"):
        scratch = {row.method: row.parts["scratch"] for row in rows if row.network == network}
        assert scratch["FF, all layers, 16w8a"] < scratch["BP, all layers, int8"] < scratch["BP, all layers, float32"]
        assert scratch["FF, all layers, 16w8a"] < scratch["BP, last layer, float32"]


def test_the_page_has_the_memory_and_the_order(tmp_path: Path) -> None:
    table = TABLES["qzo-ablation"](ExperimentRequest(seeds=1, epochs=1, rates=(0.01,)))
    assert len(table.stages) == 1 and not table.searches
    accuracies = {"bp": 0.9, "ff-m10": 0.88, "ff": 0.87, "ff-m1": 0.8, "16w8a-m10": 0.88, "16w8a": 0.86}
    summary = filled(table, tmp_path, accuracies | {"16w8a-m1": 0.8, "8w8a": 0.3, "plain": 0.8, "plain-both": 0.81})
    assert [order.holds for order in summary.orders] == [True]
    said = as_markdown(summary)
    assert "Memory by plan in bytes" in said and "| lenet5 | FF, all layers, 16w8a | 216,444 | 6,684 |" in said
    assert "| no training | 30.00 |" in said and "A single rate, which was not searched for." in said
    assert "<h2>Memory</h2>" in as_page(summary) and len(summary.to_json()["memory"]) == len(table.memory)


def test_normalised_steps_are_plain_beside_a_row_that_differs_in_them_alone() -> None:
    table = TABLES["qzo-ablation"](ExperimentRequest(seeds=1, epochs=1, rates=(0.01,)))
    rows = {run.variant: run.settings(0, ()) for run in table.runs}
    assert rows["plain-normalised"] == replace(rows["plain"], normalise=1) and rows["plain"].optimizer == "plain"
    assert rows["plain-both"] == replace(rows["plain"], normalise=1, rho=0.01)
    assert rows["16w8a"] == replace(rows["plain"], optimizer="adamw"), "the same schedule"


@pytest.mark.parametrize("name", ["qzo-few-shot", "qzo-ood", "qzo-ablation"])
def test_no_row_has_a_setting_without_effect(name: str) -> None:
    for run in TABLES[name](ExperimentRequest(seeds=1, epochs=1, rates=(0.01,))).runs:
        run.settings(0, ()).check_effects(dict(run.given), {})


def test_every_task_has_its_steps(tmp_path: Path) -> None:
    table = TABLES["qzo-few-shot"](ExperimentRequest(seeds=1, epochs=2, tasks=3, rates=(0.01,)))
    cell = filled(table, tmp_path, {}).cell("lenet5-tflite", "protonet", "bp-full")
    assert cell is not None and cell.train_s == 1.0 and cell.steps_per_s == 2 * 3


def test_a_run_with_moments_resumes_with_the_same_bits(tmp_path: Path) -> None:
    for system, more in (("16w8a", (("guide", 100), ("sparse", "top"))), ("bp", ()), ("fp32", ())):
        run = replace(OWN, system=system, given=(*OWN.given, *more))
        whole, broken = begin(tmp_path / system / "a", run), begin(tmp_path / system / "b", run)
        list(Training(whole).epochs())
        list(islice(Training(broken).epochs(), 2))
        assert len(read_curve(broken)) == 2
        assert by_slices(broken) == [1, 1]
        assert untimed(whole) == untimed(broken)
        assert [path.name for path in sorted(broken.glob("state-*"))] == ["state-003.npz"]
        assert [path.name for path in sorted(whole.glob("state-*"))] == ["state-003.npz"]
    (broken / "state-003.npz").unlink()
    with pytest.raises(RigError, match="state-003.npz"):
        list(Training(broken).epochs())


def test_tasks_resume_with_the_same_bits(tmp_path: Path) -> None:
    whole, broken = begin(tmp_path / "a", TASKS), begin(tmp_path / "b", TASKS)
    rows = list(TaskTraining(whole).epochs())
    list(islice(TaskTraining(broken).epochs(), 2))
    assert by_slices(broken) == [1], "a worker knows that it has tasks"
    assert untimed(whole) == untimed(broken) and len(rows) == 3
    assert [path.name for path in sorted(whole.iterdir())] == [path.name for path in sorted(broken.iterdir())]
    assert [row.test_accuracy for row in rows] == pytest.approx([row.right / row.of for row in rows])
    assert rows[0].test_accuracy > 0.4 and 0 < rows[-1].moved <= 1
    assert len(list(whole.glob("epoch-*"))) == 1, "only the last checkpoint is kept"


def test_the_rate_of_a_run_is_searched(tmp_path: Path) -> None:
    run = replace(OWN, eta=None, rate_from=f"{OWN.data}-rate-ff-16w8a-eta")
    for eta, accuracy in ((1e-3, 0.4), (1e-2, 0.6), (1e-1, 0.5)):
        tried = replace(OWN, column="rate", eta=eta, tag=f"eta{eta:g}")
        folder = begin(tmp_path, tried)
        write_curve(folder, counted([EpochRow(n, n, 1.0, None, 0.1, accuracy, 0, 0, moved=1.0) for n in range(4)]))
    assert resolved(run, tmp_path) == replace(OWN, eta=1e-2)
    assert resolved(run, tmp_path).chosen() == "eta 0.01"
    assert read_run(begin(tmp_path, run))[0] == run


def test_the_board_repeats_the_beginning_only(tmp_path: Path) -> None:
    folder = begin(tmp_path, OWN)
    list(Training(folder).epochs())
    (segment,) = segments([OWN], tmp_path)
    spec = trial_of(segment, "stm32h7b3", tmp_path)
    assert (spec.network, spec.method, spec.first_step, spec.checkpoint) == ("lenet5-w16a8", "qzo-ff", 0, None)
    assert prepare(spec).method.settings == OWN.settings(0, ())


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["qzo-ood", "--tasks=3"], "--tasks is an option of qzo-few-shot, not of qzo-ood"),
        (
            ["qzo-few-shot", "--images=3"],
            "--images is an option of pmt-*, qzo-ood, qzo-ablation, quzo-*, fqt-*, not of qzo-few-shot",
        ),
        (["qzo-few-shot", "--batch=3"], "--batch is given for qzo-few-shot"),
        (["qzo-few-shot", "--data=furniture-clouds"], "--data names furniture-clouds, which only the column fp32"),
        (["qzo-ood", "--batch=900"], "a batch of 900 is larger than the 800 training images"),
        (["qzo-ood", "--images=5"], "--images is 5: give at least 10"),
    ],
)
def test_what_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["experiment", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_only_pre_trained_networks() -> None:
    with pytest.raises(RigError, match="mcunet-48 has no pre-trained weights"):
        TABLES["qzo-ood"](ExperimentRequest(network="mcunet-48"))
