"""The tables of FQT: which runs stand where, what they wait for, how they train, resume and go to a board."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from hil.commands import main as cli
from hil.errors import RigError
from hil.training.data import batches, load
from hil.training.data.store import FOLDER_VARIABLE
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.certify import segments, trial_of
from hil.training.experiments.choice import resolved
from hil.training.experiments.curve import EpochRow, read_checkpoint, read_curve, read_run, write_curve, write_run
from hil.training.experiments.fqt import CONFIGURATIONS, SHARES
from hil.training.experiments.fqt_runs import FqtRun
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.paper import paper
from hil.training.experiments.render import as_markdown, as_page
from hil.training.experiments.summary import ExperimentSummary, summarise
from hil.training.experiments.table import PaperTable
from hil.training.experiments.tables import TABLES
from hil.training.experiments.train import Training
from hil.training.methods.fqt import Fqt
from hil.training.networks import NETWORKS, build
from hil.training.reference.methods import reference_of
from hil.training.reference.methods.fqt_passes import FqtPasses
from hil.training.trial.prepare import prepare

from .folders import counted, same

IMAGES = "fashion-mnist-1k"
RUN = FqtRun(
    "vibration@40-12", "last5", "mixed-0.5", 1, 3, 8, "mbednet-reset-vibration-mixed", "mixed",
    (("last_layers", 5), ("lambda_min", 0.5)), eta=0.001,
)  # fmt: skip
TRAINED = [
    name for name in TABLES if name.startswith("fqt-") and (name != "fqt-table4" or "mcunet-5fps-int8" in NETWORKS)
]


@pytest.fixture(autouse=True)
def nothing_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets that come along are there, and no others."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "none"))


def begin(runs: Path, run: FqtRun) -> Path:
    folder = runs / run.name
    folder.mkdir(parents=True)
    write_run(folder, run, load(run.data).sha256)
    return folder


def filled(
    table: PaperTable, folder: Path, accuracy: dict[str, float], macs: dict[str, float] | None = None
) -> ExperimentSummary:
    """Curves whose last accuracy is what `accuracy` says, by row."""
    for run in table.runs:
        curve = [EpochRow(0, 0, None, None, 0.1, accuracy.get(run.variant, 0.5), 0, 0, test_loss=2.3)]
        for epoch in range(1, run.epochs + 1):
            value, products = accuracy.get(run.variant, 0.5), (macs or {}).get(run.variant)
            row = EpochRow(epoch, epoch, 1.0, None, 0.1, value, 0.5, 0, moved=1.0, test_loss=1.0)
            curve.append(replace(row, backward_macs=products))
        (folder / run.name).mkdir(parents=True)
        write_run(folder / run.name, run, "")
        write_curve(folder / run.name, curve)
    return summarise(table, folder, {"time": "then", "commit": None})


@pytest.mark.parametrize("name", TRAINED)
def test_every_run_waits_for_its_search_and_no_test_sample_decides(name: str) -> None:
    table = TABLES[name](ExperimentRequest())
    assert len({run.name for run in table.runs}) == len(table.runs)
    first, second = table.stages
    stems = {search.stem for search in table.searches}
    assert {run.name for run in first} == table.choices and not set(first) & set(table.certified)
    for run in first:
        assert run.eta is not None and run.column.startswith("rate-") and run.seed in (1, 2, 3)
        assert {run.data.split("@")[1] for run in first} <= {"800-200", "1600-400"}
    trained = [run for run in second if run.epochs]
    assert {stem for run in trained for stem in run.searches()} == stems
    assert all(run.eta is None and not run.data.endswith(("-200", "-400")) for run in trained)
    assert {run.seed for run in trained} == {1, 2, 3, 4, 5}, "five runs, as in the paper"
    assert {run.epochs for run in trained} == {50 if name == "fqt-table4" else 20}
    assert {run.batch for run in trained} == {48}
    assert {row for _, _, row in table.cells} | set(table.not_run) == set(table.rows)


def test_transfer_trains_the_last_five_layers_of_reset_networks() -> None:
    table = TABLES["fqt-figure4"](ExperimentRequest())
    assert list(dict.fromkeys(data for data, _ in table.columns)) == ["vibration", IMAGES]
    for configuration in CONFIGURATIONS:
        run = table.cells["vibration", "last5", configuration][0]
        assert isinstance(run, FqtRun)
        assert (run.network, run.configuration) == (f"mbednet-reset-vibration-{configuration}", configuration)
        assert run.settings(0, ()).last_layers == 5 and run.settings(0, ()).lambda_min == 1
    (before,) = table.cells[IMAGES, "last5", "baseline"]
    assert isinstance(before, FqtRun) and (before.network, before.epochs) == ("mbednet-float32", 0)
    assert before not in table.certified
    sizes = {(one.network, one.method): one.parts for one in table.memory}
    ours, floats = (sizes[f"mbednet-reset, {IMAGES}", configuration] for configuration in ("uint8", "float32"))
    assert ours["feature maps"] < floats["feature maps"] / 2 and ours["flash"] < floats["flash"] / 3
    plan = Fqt.on(build("mbednet-reset-uint8", 1), "uint8", last_layers=5).figures.analytic()
    assert ours["feature maps"] + ours["weights and gradients"] == plan["bytes"]


def test_sparse_rows_change_the_share_alone() -> None:
    table = TABLES["fqt-figure6"](ExperimentRequest())
    for configuration in CONFIGURATIONS:
        dense = table.cells["vibration", "last5", f"{configuration}-1"][0]
        for share in SHARES:
            run = table.cells["vibration", "last5", f"{configuration}-{share:g}"][0]
            assert isinstance(run, FqtRun) and run.settings(0, ()).lambda_min == share
            assert replace(run, variant="", given=(), rate_from="") == replace(
                dense, variant="", given=(), rate_from=""
            )
    assert table.all_channels["uint8-0.1"] == "uint8-1" and len(table.all_channels) == 6


def test_columns_are_the_readings_of_equation_8() -> None:
    """They differ in the statistics alone, and each searches its own rate; --columns takes one of them."""
    table = TABLES["fqt-figure8"](ExperimentRequest())
    assert table.columns == ((IMAGES, "last5"), (IMAGES, "last5-accumulated"))
    for row in table.rows:
        one, other = (table.cells[IMAGES, column, row][0] for column in ("last5", "last5-accumulated"))
        assert isinstance(one, FqtRun) and isinstance(other, FqtRun)
        assert (one.settings(0, ()).standardise, other.settings(0, ()).standardise) == ("running", "accumulated")
        changed = {"column": "last5", "given": one.given, "rate_from": one.rate_from}
        assert replace(other, **changed) == one and other.rate_from != one.rate_from
        assert other.given == (*one.given, ("standardise", "accumulated"))
    assert len({search.stem for search in table.searches}) == 6
    for one, name in (("running", "last5"), ("accumulated", "last5-accumulated")):
        single = TABLES["fqt-figure8"](ExperimentRequest(columns=(one,)))
        assert single.columns == ((IMAGES, name),)
        assert ("can be read in two ways" in " ".join(single.differences)) == (one == "accumulated")
    baseline = TABLES["fqt-figure4"](ExperimentRequest(data=(IMAGES,)))
    assert baseline.cells[IMAGES, "last5", "baseline"] == baseline.cells[IMAGES, "last5-accumulated", "baseline"]
    assert len([run for run in baseline.runs if run.variant == "baseline"]) == 1


def test_the_option_of_the_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["experiment", "fqt-figure6", "--columns=int8"]) == 2
    assert "--columns names 'int8': known are: accumulated, running." in capsys.readouterr().err
    assert cli.main(["experiment", "fqt-table4", "--columns=running"]) == 2
    assert "--columns is an option of elasticzo-*, fqt-figure4, fqt-figure6" in capsys.readouterr().err


def test_table_4_has_momentum_and_adam_in_floats_and_momentum_in_int8(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the user has no files: the names of the networks are all that the runs need."""
    names = [f"mcunet-5fps-{one}" for one in ("uint8", "float32", "int8")]
    monkeypatch.setattr("hil.training.experiments.fqt.NETWORKS", names)
    table = TABLES["fqt-table4"](ExperimentRequest(rates=(0.001,), seeds=1))
    assert not table.not_run
    cells = {row: run for (_, _, row), (run,) in table.cells.items()}
    assert {row: (run.network, dict(run.given)) for row, run in cells.items() if isinstance(run, FqtRun)} == {
        "uint8": ("mcunet-5fps-uint8", {"last_layers": 7}),
        "sgd-m-fp32": (
            "mcunet-5fps-float32",
            {"last_layers": 7, "optimizer": "momentum", "standardise": "off", "gradient": "mean"},
        ),
        "adam-fp32": (
            "mcunet-5fps-float32",
            {"last_layers": 7, "optimizer": "adam", "standardise": "off", "gradient": "mean"},
        ),
    }
    for row, qas in (("sgd-m-int8", 0), ("mcutrain", 1)):
        run = cells[row]
        assert isinstance(run, GraphRun) and run.network == "mcunet-5fps-int8"
        settings = run.settings(0, ())
        assert (settings.method, settings.momentum, settings.qas, settings.train) == ("bp", 0.9, qas, "all")
    monkeypatch.setattr("hil.training.experiments.fqt.NETWORKS", names[:2])
    assert set(TABLES["fqt-table4"](ExperimentRequest(rates=(0.001,))).not_run) == {"sgd-m-int8", "mcutrain"}


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_what_an_optimizer_keeps_goes_on_behind_a_cut(tmp_path: Path, optimizer: str) -> None:
    given = (("last_layers", 5), ("optimizer", optimizer), ("standardise", "off"), ("gradient", "mean"))
    network = "mbednet-reset-vibration-float32"
    run = replace(RUN, network=network, configuration="float32", given=given, epochs=2)
    whole, cut = begin(tmp_path / "whole", run), begin(tmp_path / "cut", run)
    rows = list(Training(whole).epochs())
    list(islice(Training(cut).epochs(), 2))
    list(Training(cut).epochs())
    same(whole, cut)
    assert run.has_state and rows[-1].moved > 0


def test_full_training_has_all_layers() -> None:
    table = TABLES["fqt-figure7"](ExperimentRequest())
    assert table.columns == ((IMAGES, "all"), (IMAGES, "all-accumulated"))
    run = table.cells[IMAGES, "all", "uint8"][0]
    assert isinstance(run, FqtRun) and len(run.settings(0, ()).trained(build(run.network, 1))) == 4


def printed_in_table_4() -> dict[str, list[float]]:
    """Return the accuracies of each row as the differences say them, the mean last."""
    printed = paper("fqt").experiments["fqt-table4"].differences[0]
    parts = printed.partition("): ")[2].partition(". The mean")[0].split("; ")
    rows = {
        part.partition(" cars ")[0]: [float(one) for one in re.findall(r" ([\d.]+)(?:,|$)", part)] for part in parts
    }
    return rows


def test_the_tables_say_what_the_paper_prints() -> None:
    rows = printed_in_table_4()
    assert rows["FQT, uint8"][-1] == 73.7 and rows["SGD-M, int8"][-1] == 64.9
    for name, (*values, mean) in rows.items():
        assert len(values) == 8 and (mean == pytest.approx(np.mean(values), abs=0.06) or name == "SGD-M, int8")
    said = " ".join(TABLES["fqt-figure6"](ExperimentRequest(images=500, epochs=2, seeds=1)).differences)
    assert "6.64 times faster" in said and "At most 500 training samples" in said
    assert "2 epochs; the paper has 20" in said and "1 seed in the place of five runs" in said
    assert "89.5 %" in " ".join(TABLES["fqt-figure4"](ExperimentRequest()).differences)


def test_the_mean_of_table_4_is_not_that_of_its_columns() -> None:
    """The row of SGD-M in int8 has another mean over its eight columns than the paper prints."""
    *values, mean = printed_in_table_4()["SGD-M, int8"]
    assert np.mean(values) == pytest.approx(66.425) and mean == 64.9


def test_points_decide_the_claims(tmp_path: Path) -> None:
    table = TABLES["fqt-figure4"](ExperimentRequest(seeds=2, epochs=2, rates=(0.001,)))
    assert len(table.stages) == 1
    accuracies = {"uint8": 0.885, "mixed": 0.889, "float32": 0.90, "baseline": 0.95}
    summary = filled(table, tmp_path, accuracies)
    broken = "mixed 88.90 is not within 1 of float32 90.00"
    assert [order.broken for order in summary.orders] == [(broken,)] * 4, "two sets, two readings"
    assert all("the rate of uint8 was not searched" in order.doubts for order in summary.orders)
    said = as_markdown(summary)
    assert (
        "| baseline, before the reset | 95.00 | 95.00 | 95.00 | 95.00 |" in said and "| uint8 | 88.50 ± 0.00 |" in said
    )
    assert "| network | method | feature maps | weights and gradients | flash |" in said


def test_the_backward_pass_of_a_whole_training(tmp_path: Path) -> None:
    table = TABLES["fqt-figure6"](ExperimentRequest(seeds=1, epochs=2, rates=(0.001,)))
    summary = filled(table, tmp_path, {}, {"mixed-1": 1000.0, "mixed-0.5": 600.0, "mixed-0.1": 200.0})
    said = as_markdown(summary)
    assert "- mixed, lambda_min 0.1, vibration the last five layers: 200 of 1,000, 5.00 times fewer" in said
    assert "- mixed, lambda_min 0.5, mean over the data sets, the last five layers: 1.67 times fewer" in said
    assert "mean over the data sets, the last five layers, accumulated: 1.67 times fewer" in said
    page = as_page(summary)
    assert "<h2>Sparse backward passes</h2>" in page and "<li>mixed, lambda_min 0.1, mean" in page


def test_figure_8_has_the_curves_of_losses(tmp_path: Path) -> None:
    table = TABLES["fqt-figure8"](ExperimentRequest(seeds=1, epochs=2, rates=(0.001,)))
    page = as_page(filled(table, tmp_path, {}))
    assert f"{IMAGES} the last five layers, test loss in nats (figure 8)" in page


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_a_run_is_what_the_reference_does_by_hand_and_goes_on_behind_a_cut(tmp_path: Path, configuration: str) -> None:
    network = f"mbednet-reset-vibration-{configuration}"
    run = replace(RUN, network=network, configuration=configuration)
    whole, cut = begin(tmp_path / "whole", run), begin(tmp_path / "cut", run)
    rows = list(Training(whole).epochs())
    list(islice(Training(cut).epochs(), 2))
    list(Training(cut).epochs())
    same(whole, cut)
    assert [row.step for row in rows] == [0, 5, 10, 15] and rows[-1].moved > 0
    method = Fqt.on(build(network, 1), configuration, last_layers=5, lambda_min=0.5, eta=0.001, batch=8)
    learner, data = reference_of(method), load(run.data)
    products = []
    for chosen in islice(batches(data, 8, 1), 15):
        outcome = learner.step(data.train_images[chosen], data.train_labels[chosen])
        work = learner.last_work()
        assert work is not None
        products.append(work.macs / 8 - method.network.macs)
    assert tuple(read_checkpoint(whole / "epoch-003.npz").digests[-1]) == outcome.digests
    passes = FqtPasses(learner.graph, learner._backward)  # type: ignore[attr-defined]
    losses = passes.losses(passes.values(data.test_images), data.test_labels.astype(np.intp))
    assert rows[-1].test_loss == pytest.approx(losses.mean(), rel=1e-5)
    assert rows[-1].backward_macs == pytest.approx(np.mean(products[10:]))
    dense = Fqt.on(build(network, 1), configuration, last_layers=5, batch=8)
    assert rows[-1].backward_macs < dense.figures.step_macs() / 8 - dense.network.macs
    assert read_run(whole)[0] == run


def test_a_network_that_is_not_trained_has_one_row(tmp_path: Path) -> None:
    run = replace(RUN, epochs=0, network="mbednet-vibration-float32", configuration="float32", given=())
    (row,) = Training(begin(tmp_path, run)).epochs()
    assert row.test_accuracy > 0.9 and not run.on_board


def test_a_rate_that_is_too_large_ends_the_run(tmp_path: Path) -> None:
    folder = begin(tmp_path, replace(RUN, eta=16.0, given=(("last_layers", 5),)))
    rows = list(Training(folder).epochs())
    assert "choose a smaller eta" in rows[-1].failed and rows[-1].epoch <= 3
    assert not list(Training(folder).epochs()) and read_curve(folder) == rows


def test_the_board_repeats_the_beginning(tmp_path: Path) -> None:
    folder = begin(tmp_path, RUN)
    list(Training(folder).epochs())
    (segment,) = segments([RUN], tmp_path)
    spec = trial_of(segment, "stm32h7b3", tmp_path)
    assert (spec.network, spec.method, spec.variant, spec.first_step) == (RUN.network, "fqt", "mixed", 0)
    assert spec.checkpoint is None and segment.steps == 5
    assert prepare(spec).method.settings == RUN.settings(0, ())
    stateless = replace(RUN, given=(("last_layers", 5), ("standardise", "batch")))
    assert RUN.has_state and not stateless.has_state, "its segments may begin at a checkpoint"


def test_the_rate_of_a_run_is_searched(tmp_path: Path) -> None:
    run = replace(RUN, eta=None, rate_from=f"{RUN.data}-rate-last5-mixed-0.5-eta")
    for eta, accuracy in ((1e-4, 0.4), (1e-3, 0.6), (1e-2, 0.5)):
        tried = replace(RUN, column="rate-last5", eta=eta, tag=f"eta{eta:g}")
        rows = [EpochRow(n, n, 1.0, None, 0.1, accuracy, 0, 0, moved=1.0) for n in range(4)]
        write_curve(begin(tmp_path, tried), counted(rows))
    assert resolved(run, tmp_path) == RUN and resolved(run, tmp_path).chosen() == "eta 0.001"


def test_table_4_needs_the_files_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for configuration in ("int8", *CONFIGURATIONS):
        monkeypatch.delitem(NETWORKS, f"mcunet-5fps-{configuration}", raising=False)
    with pytest.raises(RigError, match="mcunet-5fps, whose files are yours: set TRAINRIG_TINY_TRAINING"):
        TABLES["fqt-table4"](ExperimentRequest())


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["fqt-figure7", "--data=vibration"], "--data names vibration, which this experiment does not have"),
        (["fqt-figure4", "--images=50"], "a batch of 48 is larger than the 40 training samples of vibration"),
        (["fqt-figure5", "--seeds=2"], "--seeds is no option of fqt-figure5, which trains nothing"),
        (["fqt-figure9", "--images=9"], "--images is no option of fqt-figure9, which trains nothing"),
        (["fqt-figure8", "--steps=9"], "--steps is an option of fqt-figure4"),
    ],
)
def test_what_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["experiment", *arguments]) == 2
    assert said in capsys.readouterr().err
