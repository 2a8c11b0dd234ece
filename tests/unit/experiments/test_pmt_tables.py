"""The tables of Poor Man's Training: which runs stand where, what they wait for, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from hil.errors import RigError
from hil.training.experiments.adaptation import WITHOUT_QAS
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.curve import EpochRow, write_curve, write_run
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.paper import paper
from hil.training.experiments.pmt import FP32, TASKS
from hil.training.experiments.qzo_runs import QzoRun
from hil.training.experiments.render import as_markdown, as_page
from hil.training.experiments.summary import ExperimentSummary, summarise
from hil.training.experiments.table import PaperTable
from hil.training.experiments.tables import TABLES

from .folders import counted

PMT_TABLES = [name for name in TABLES if name.startswith("pmt-")]
SMALL = ExperimentRequest(
    network="lenet5-tflite", seeds=2, epochs=2, batch=20, images=100, queries=10, rates=(0.01, 0.1)
)


def filled(table: PaperTable, folder: Path, rows: dict[str, float]) -> ExperimentSummary:
    """Curves whose last accuracy and loss are what `rows` says, by row; 0.5 where it says nothing."""
    for run in table.runs:
        value = rows.get(run.variant, 0.5)
        alike = [value] * 5 if run.compares else None
        curve = [EpochRow(0, 0, None, None, 0.1, 0.3, 0, 0)]
        curve += [EpochRow(epoch, epoch, value, None, 0.1, value, 0.5, 0, alike) for epoch in range(1, run.epochs + 1)]
        (folder / run.name).mkdir(parents=True)
        write_run(folder / run.name, run, "")
        write_curve(folder / run.name, counted(curve))
    return summarise(table, folder, {"time": "then", "commit": None})


@pytest.mark.parametrize("network", ["lenet5-tflite", "resnet-tiny"])
@pytest.mark.parametrize("name", [name for name in PMT_TABLES if name not in TASKS])
def test_every_run_waits_for_those_that_it_chooses_among(name: str, network: str) -> None:
    table = TABLES[name](ExperimentRequest(network=network))
    assert len({run.name for run in table.runs}) == len(table.runs), "every run has a folder of its own"
    ready: set[str] = set()
    for stage in table.stages:
        for run in stage:
            assert isinstance(run, GraphRun | QzoRun)
            blocks = run.blocks_from if isinstance(run, GraphRun) else ()
            assert {*blocks} <= ready
            assert all(any(name.startswith(stem) for name in ready) for stem in run.searches())
            assert len(run.searches()) in (0, 1, len(blocks))
            assert run.eta is not None or run.searches()
        ready |= {run.name for run in stage}
    assert {name for name in table.choices if "-rate-" in name} == {
        run.name for s in table.searches for run in s.first_runs()
    }
    told = {run.name for runs in table.cells.values() for run in runs}
    assert {run.name for run in table.certified} == {name for name in told if f"-{FP32}-" not in name}
    assert all("@800-200" in run.data for run in table.runs if run.name in table.choices), "no test image decides"
    assert all(run.data.endswith("@1000") for run in table.certified)
    assert {row for _, _, row in table.cells} | set(table.not_run) == set(table.rows)


def test_every_corruption_has_its_searches() -> None:
    table = TABLES["pmt-figure7"](replace(SMALL, corruptions=("fog", "snow")))
    stems = {stem for run in table.certified for stem in run.rate_from}
    assert stems == {search.stem for search in table.searches} and len(stems) == 2 * len(table.rows)


def test_the_paper_s_cells() -> None:
    table4 = TABLES["pmt-table4"](ExperimentRequest())
    assert len(table4.paper) == 4 * 5 and set(table4.paper) <= set(table4.cells)
    assert len(table4.cells["resnet-tiny", "noise", "block2"]) == 4 * 3, "four corruptions, three seeds"
    table7 = TABLES["pmt-table7"](ExperimentRequest())
    assert [column for _, column in table7.columns] == list(paper("pmt").experiments["pmt-table7"].published["*"])
    assert table7.paper["resnet-tiny", "zoom-blur", "bp-int8"] == 55.57 and len(table7.paper) == 12 * 5


@pytest.mark.parametrize("name", ["pmt-figure7", "pmt-figure10", "pmt-table7"])
def test_a_search_may_have_fewer_epochs(name: str) -> None:
    usual, shorter = TABLES[name](SMALL), TABLES[name](replace(SMALL, search_epochs=1))
    searches = {run.name for search in shorter.searches for run in search.first_runs()}
    tests = {run.name for stage in shorter.stages for run in stage} & shorter.choices - searches  # of blocks
    assert searches and all(run.epochs == (1 if run.name in searches | tests else 2) for run in shorter.runs)
    assert shorter.certified == usual.certified, "the runs of the table stay the same"
    steps = {run.name: dict(run.given)["steps"] for run in shorter.runs if isinstance(run, QzoRun)}
    assert all(count == (5 if name in searches else 10) for name, count in steps.items())
    said = [" ".join(table.differences) for table in (usual, shorter)]
    assert ["trained for 1 epoch with all seeds" in text for text in said] == [False, True]


def test_rates_without_qas_are_larger() -> None:
    table = TABLES["pmt-figure7"](SMALL)
    rates = {run.variant: set() for run in table.stages[0]}
    for run in table.stages[0]:
        rates[run.variant].add(run.eta)
    assert rates["gns+qas"] == rates["model-node"] == {0.01, 0.1}
    assert rates["gns"] == {0.01 * WITHOUT_QAS, 0.1 * WITHOUT_QAS}
    least = 20 * 10 / (20 * 10 + 4704 - 1)  # conv1 has the most nodes
    assert rates["qas"] == {float(f"{rate * least:.2g}") for rate in (0.01, 0.1)}
    assert rates["neither"] == {float(f"{rate * WITHOUT_QAS * least:.2g}") for rate in (0.01, 0.1)}
    alone = TABLES["pmt-figure7"](ExperimentRequest(network="lenet5-tflite", rates=(0.02,)))
    assert len(alone.stages) == 1 and {0.02, 0.02 * WITHOUT_QAS} < {run.eta for run in alone.runs}


def test_forward_passes_are_equal() -> None:
    figure = TABLES["pmt-figure7"](SMALL)
    passes = {row: figure.cells["lenet5-tflite", column, row][0].forwards() for _, column, row in figure.cells}
    assert {passes[row] for row in figure.rows[4:]} == {50} and passes["gns+qas"] == 50
    for name in ("pmt-figure9", "pmt-table5"):
        table = TABLES[name](SMALL)
        assert len({run.budget for run in table.certified}) == 1


@pytest.mark.parametrize("better, holds", [(0.2, True), (0.6, False)])
def test_of_losses_the_lower_is_better(tmp_path: Path, better: float, holds: bool) -> None:
    table = TABLES["pmt-figure7"](SMALL)
    values = {"gns+qas": better, "layer-adaptive": 0.2, "layer-weight": 0.3, "layer-node": 0.4}
    summary = filled(table, tmp_path, values)
    assert [order.holds for order in summary.orders] == [holds, True]
    cell = summary.cell("lenet5-tflite", "gaussian-noise-scaling", "gns+qas")
    assert cell is not None and cell.mean == pytest.approx(better) and cell.chosen == "eta 0.01"
    said = as_markdown(summary)
    assert "Training loss (nats" in said and ("gns+qas 0.60 is not below qas 0.50" in said) != holds
    assert "the paper's value in brackets" not in said and as_page(summary).count('data-plot="') == 2


def test_the_mean_of_a_family_and_the_block_that_is_chosen(tmp_path: Path) -> None:
    table = TABLES["pmt-table4"](SMALL)
    summary = filled(table, tmp_path, {"block2": 0.8, "adaptive": 0.9})
    cell = summary.cell("lenet5-tflite", "blur", "adaptive")
    assert cell is not None and (len(cell.values), cell.mean, cell.paper) == (2, pytest.approx(90), 80.91)
    assert cell.chosen == "eta 0.01, blocks 2", "block 2 was best on the held-out images"
    untuned = summary.cell("lenet5-tflite", "blur", "none")
    assert untuned is not None and (untuned.mean, untuned.chosen) == (pytest.approx(30), "")
    assert [order.holds for order in summary.orders] == [True] * 4


def test_cosines_by_layer(tmp_path: Path) -> None:
    table = TABLES["pmt-figure8"](SMALL)
    counts = [row for row in table.rows if row.startswith("Q=")]
    rising = {row: 0.1 * place for place, row in enumerate(counts, 1)}
    summary = filled(table, tmp_path, {**rising, "layer-weight": 0.6, "layer-node": 0.7})
    assert [order.column for order in summary.orders] == ["conv1", "conv2", "fc1", "fc2", "fc3"]
    assert all(order.holds for order in summary.orders)
    assert [a < b for a, b in pairwise(int(row[2:]) for row in counts)] == [True] * (len(counts) - 1)
    page = as_page(summary)
    assert page.count('data-plot="') == 1 and '"conv2"' in page


def test_table_7_has_back_propagation_in_floats(tmp_path: Path) -> None:
    table = TABLES["pmt-table7"](
        ExperimentRequest(network="lenet5-tflite", seeds=1, corruptions=("fog",), rates=(0.01,))
    )
    said = as_markdown(filled(table, tmp_path, {"pmt": 0.7, FP32: 0.8}))
    assert "| BP, FP32, all layers | 80.00 (82.67) |" in said
    (run,) = table.cells["lenet5-tflite", "fog", FP32]
    assert isinstance(run, QzoRun) and (run.system, run.backbone, run.eta) == ("bp", "lenet5-tflite", 0.01)
    settings = run.settings(0, ())
    assert (settings.optimizer, settings.last_layers, settings.train_bias) == ("plain", 64, 1)
    assert settings.steps == 50 * 10, "the cosine ends with the run"
    searched = TABLES["pmt-table7"](replace(SMALL, corruptions=("fog", "snow")))
    assert len([search for search in searched.searches if search.base.variant == FP32]) == 1, "one for all columns"
    assert "| Poor Man's Training | 70.00 (78.33) |" in said and "| no adaptation | 30.00 (73.00) |" in said


ENDING = ", and none trains: choose more steps than that."


def test_tinytrain_has_a_row_that_the_paper_lacks_and_steps_that_train() -> None:
    table = TABLES["pmt-table7"](ExperimentRequest(network="lenet5-tflite"))
    assert table.rows.index("tinytrain") == table.rows.index("mcutrain") + 1
    assert not [row for _, _, row in table.paper if row == "tinytrain"]
    assert {run.method for run in table.cells["lenet5-tflite", "fog", "tinytrain"]} == {"tinytrain"}
    for batch, epochs, searched, runs in (
        (40, 1, 0, True), (41, 1, 0, False), (41, 2, 0, True), (41, 2, 1, False), (80, 9, 2, True),
    ):  # fmt: skip
        request = replace(SMALL, images=80, batch=batch, epochs=epochs, search_epochs=searched)
        small = TABLES["pmt-table7"](request)
        assert any(run.variant == "tinytrain" for run in small.runs) == runs
        said = {} if runs else {"tinytrain": f"all 1 steps rank with ranking = 1{ENDING}"}
        assert small.not_run == said


def test_figures_10_and_11_have_the_rows_of_figure_7_in_several_tasks() -> None:
    ten, eleven, seven = (TABLES[f"pmt-figure{number}"](SMALL) for number in (10, 11, 7))
    assert [column for _, column in ten.columns] == ["gaussian-noise", "motion-blur", "fog", "contrast"]
    assert [column for _, column in eleven.columns] == [column for _, column in ten.columns]
    assert (*ten.rows[:4], *eleven.rows) == seven.rows and ten.rows[4:] == ("bp-int8-qas", FP32)
    ours, theirs = (
        {row: table.cells["lenet5-tflite", f"gaussian-noise{end}", row][0].settings(0, ()) for row in rows}
        for table, rows, end in ((seven, seven.rows[:4], "-scaling"), (ten, ten.rows[:4], ""))
    )
    assert ours == theirs
    bp = ten.cells["lenet5-tflite", "fog", "bp-int8-qas"][0]
    assert isinstance(bp, GraphRun) and (bp.method, dict(bp.given)["blocks"]) == ("int8-bp", 15)
    assert set(ten.claims) | set(eleven.claims) == set(seven.claims)


def test_what_is_refused() -> None:
    with pytest.raises(RigError, match="mcunet-48 was not trained on Fashion-MNIST: choose resnet-tiny or lenet5"):
        TABLES["pmt-table4"](ExperimentRequest(network="mcunet-48"))
    with pytest.raises(
        RigError, match="a batch of 100 is larger than the 80 training images that remain while something is chosen"
    ):
        TABLES["pmt-table4"](ExperimentRequest(images=80))
    with pytest.raises(RigError, match="--queries is 200: a step has 127 at most"):
        TABLES["pmt-table4"](ExperimentRequest(queries=200))
