"""The tables: which runs stand in which cells, what is said of them, and in which files."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hil.report.page import packed_library
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.certify import Certificate
from hil.training.experiments.curve import EpochRow, read_curve, write_curve
from hil.training.experiments.render import write
from hil.training.experiments.summary import ExperimentSummary, summarise
from hil.training.experiments.table import NONE, PaperTable
from hil.training.experiments.tables import TABLES

from .folders import recorded_curves

FULL = ExperimentRequest(("mnist", "fashion-mnist"), ("int8", "int8star"), seeds=3, epochs=100, batch=256)
SMALL = ExperimentRequest(("fashion-mnist",), ("int8", "int8star"), seeds=3, epochs=10, batch=128)
ROWS = ("full-zo", "cls2", "cls1", "full-bp")
table1, table2 = TABLES["elasticzo-table1"], TABLES["elasticzo-table2"]


def test_table_1_has_the_paper_s_cells() -> None:
    table = table1(FULL)
    assert len(table.paper) == 14 and set(table.paper) <= set(table.cells), "no Full BP for INT8*"
    assert len(table.cells) == 16 and len(table.runs) == 42, (
        "seven rows of two data sets, three seeds; Full BP is one for both columns"
    )
    assert table.cells["mnist", "int8star", "full-bp"] == table.cells["mnist", "int8", "full-bp"]
    assert [run.seed for run in table.cells["mnist", "int8", "cls1"]] == [1, 2, 3]
    assert {run.data for run in table.runs} == {"mnist-50k", "fashion-mnist-50k"}
    assert {run.epochs for run in table.runs} == {100} and not any(
        "epochs" in sentence or "batch of" in sentence for sentence in table.differences
    )


def test_table_2_trains_first_and_turns_then() -> None:
    table = table2(FULL)
    assert len(table.paper) == 20 and set(table.paper) <= set(table.cells), "none of INT8*"
    before, after = table.stages
    assert {run.variant for run in before} == {"full-bp"} and len(before) == 6
    names = {run.name for run in before}
    for run in after:
        assert run.start in names and run.epochs == 50 and run.paper_epochs == 50
        assert run.start.startswith(
            run.data.removeprefix("rotated-").rsplit("-", 1)[0] + "-50k"
        ) and run.start.endswith(f"seed{run.seed}")
    assert len(table.runs) == len({run.name for run in table.runs}), "every run has a folder of its own"


@pytest.mark.parametrize("make", [table1, table2])
def test_what_differs_is_said(make) -> None:
    said = " ".join(make(SMALL).differences)
    assert "10 epochs" in said and "A batch of 128 in the place of 256" in said


ACCURACY = {"full-zo": 0.70, "cls2": 0.80, "cls1": 0.85, "full-bp": 0.90}


def filled(folder: Path, table: PaperTable, **changed: float) -> ExperimentSummary:
    """Curves with known last values: 1 % more a seed."""
    for run in table.runs:
        last = (ACCURACY | changed)[run.variant] + 0.01 * (run.seed - 2)
        rows = [EpochRow(0, 0, None, None, 0.1, 0.1 + 0.01 * run.seed, 0, 0)]
        for epoch in range(1, run.epochs + 1):
            rows.append(
                EpochRow(
                    epoch,
                    5 * epoch,
                    2.0,
                    None if run.variant == "full-bp" else 0.95,
                    last,
                    last * epoch / run.epochs,
                    0.5,
                    0.1,
                )
            )
        (folder / run.name).mkdir(parents=True)
        write_curve(folder / run.name, rows)
    return summarise(table, folder, {"time": "then", "commit": None})


def test_mean_and_spread_by_hand(tmp_path: Path) -> None:
    cell = filled(tmp_path, table1(SMALL)).cell("fashion-mnist", "int8", "cls1")
    assert cell.values == pytest.approx((84, 85, 86)) and cell.mean == pytest.approx(85)
    assert cell.spread == pytest.approx(math.sqrt(((-1) ** 2 + 0 + 1) / 2)), "n - 1 below"
    assert (cell.paper, cell.right_signs, cell.chosen) == (84.66, pytest.approx(0.95), "r_max 15")
    assert (cell.train_s, cell.steps_per_s) == (pytest.approx(5.0), pytest.approx(10.0))


def test_without_fine_tuning_is_the_first_row_of_the_curve(tmp_path: Path) -> None:
    summary = filled(tmp_path, table2(SMALL))
    cell = summary.cell("rotated-fashion-mnist-45", "int8", NONE)
    assert cell.values == pytest.approx((11, 12, 13)) and (cell.paper, cell.train_s, cell.chosen) == (13.77, None, "")


@pytest.mark.parametrize(
    "changed, holds, broken",
    [
        ({}, True, ()),
        ({"cls2": 0.86}, False, ("cls1 85.00 is not above cls2 86.00",)),
        ({"full-bp": 0.85}, False, ("full-bp 85.00 is not above cls1 85.00",)),
        ({"full-zo": 0.95}, False, ("cls2 80.00 is not above full-zo 95.00",)),
    ],
)
def test_the_order(tmp_path: Path, changed: dict, holds: bool, broken: tuple) -> None:
    summary = filled(tmp_path, table1(SMALL), **changed)
    assert [(order.holds, order.broken) for order in summary.orders] == [(holds, broken)] * 2
    write(summary, tmp_path)
    assert ("does not hold" in (tmp_path / "table.md").read_text()) == (not holds)


def test_a_run_that_is_not_complete_stands_in_no_cell(tmp_path: Path) -> None:
    table = table1(SMALL)
    filled(tmp_path, table)
    for run in table.cells["fashion-mnist", "int8", "cls2"]:
        write_curve(tmp_path / run.name, [EpochRow(0, 0, None, None, 0.1, 0.1, 0, 0)])
    summary = summarise(table, tmp_path, {"time": "then", "commit": None})
    assert summary.cell("fashion-mnist", "int8", "cls2").mean is None
    assert [order.holds for order in summary.orders] == [None, True]
    write(summary, tmp_path)
    assert "| ZO-Feat-Cls2 | – (80.33) | 80.00 ± 1.00 (77.93) |" in (tmp_path / "table.md").read_text()


class Page(HTMLParser):
    """Collects the text and checks that tags are closed in their order."""

    VOID = ("meta", "br", "line")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.addresses += [value for name, value in attributes if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())


def test_the_files(tmp_path: Path) -> None:
    table = table1(SMALL)
    summary = filled(tmp_path / "runs", table)
    one = Certificate(
        table.runs[0].name, "d", "int8", "cls1", 1, 3, 60, 20, "stm32h7b3", "virtual", "fail", "a < b & c"
    )
    write(ExperimentSummary(**{**vars(summary), "certificates": (one,)}), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "curves.parquet",
        "index.html",
        "results.csv",
        "results.json",
        "runs",
        "table.md",
        "table.tex",
    ]
    lines = list(csv.DictReader(io.StringIO((tmp_path / "results.csv").read_text())))
    assert [(line["column"], line["row"]) for line in lines] == [
        (column, row) for column in SMALL.columns for row in ROWS
    ]
    assert (lines[0]["seeds"], float(lines[0]["mean"]), lines[0]["paper"], lines[7]["paper"]) == (
        "3",
        pytest.approx(70),
        "73.98",
        "",
    )
    text = (tmp_path / "results.json").read_text()
    facts = json.loads(text)
    assert facts["provenance"]["accuracy"] == "counted" and len(facts["runs"]) == len(table.runs) == 21
    assert {json.dumps(one) for one in (*facts["cells"], *facts["runs"], *facts["certificates"])} <= {
        line.strip(" ,") for line in text.splitlines()
    }, "a line each"
    curves = recorded_curves(tmp_path)
    assert list(curves) == [run.name for run in table.runs]
    assert all(rows == [asdict(row) for row in read_curve(tmp_path / "runs" / name)] for name, rows in curves.items())
    page = Page((tmp_path / "index.html").read_text())
    assert page.open == [] and not page.addresses, "nothing left open, nothing from elsewhere"
    assert "a < b & c" in page.words and "85.00 ± 1.00 (84.66)" in page.words and "holds" in page.words
    markdown = (tmp_path / "table.md").read_text()
    assert "fail: " in markdown and "20 steps from step 60 on stm32h7b3 (virtual): a < b & c" in markdown
    assert len((tmp_path / "index.html").read_text()) - len(packed_library()) < 60_000
