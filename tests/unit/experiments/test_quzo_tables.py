"""The table of QuZO: which runs stand where, what they wait for, and how they train."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from hil.errors import RigError
from hil.training.data import load
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.curve import read_run, write_run
from hil.training.experiments.quzo_runs import QuzoRun
from hil.training.experiments.render import as_markdown
from hil.training.experiments.summary import summarise
from hil.training.experiments.table import PaperTable
from hil.training.experiments.tables import TABLES
from hil.training.experiments.train import Training
from hil.training.trial.prepare import prepare

from .folders import by_slices, untimed

NAME = "quzo-8w8a"
OWN = QuzoRun(
    "fashion-mnist-1k+contrast-5@20-10", "8w8a", "quzo", 1, 3, 10, "lenet5-8w8a", "quzo",
    given=(("epsilon", 0.01), ("directions", 2), ("last_layers", 1)), eta=0.003,
)  # fmt: skip


def table(**request: object) -> PaperTable:
    return TABLES[NAME](ExperimentRequest(**request))  # type: ignore[arg-type]


def begin(folder: Path, run: QuzoRun) -> Path:
    folder.mkdir(parents=True)
    write_run(folder, run, load(run.data).sha256)
    return folder


@pytest.mark.parametrize(
    ("network", "columns"), [("lenet5-tflite", {"8w8a", "16w8a", "int8"}), ("resnet-tiny", {"16w8a", "int8"})]
)
def test_every_run_waits_for_its_search_and_no_test_image_decides(network: str, columns: set[str]) -> None:
    found = table(network=network)
    stems = {search.stem for search in found.searches}
    first, second = found.stages
    assert {run.name for run in first} == found.choices
    for run in first:
        assert isinstance(run, QuzoRun) and run.eta is not None and run.data.endswith("@800-200")
    for run in second:
        assert isinstance(run, QuzoRun) and run.eta is None and run.rate_from in stems
    assert {column for _, column, _ in found.cells} == columns
    rows = {column: {row for _, its, row in found.cells if its == column} for column in columns}
    assert rows.pop("int8") == {"none", "quzo", "quzo-m2"}, "QZO-FF trains no tflite8"
    assert all(its == set(found.rows) for its in rows.values())
    assert len(found.cells[network, "16w8a", "quzo"]) == 2 * 3, "two corruptions, three seeds"


def test_rows_differ_in_method_epsilon_and_directions_alone() -> None:
    runs = {
        row: table().cells["lenet5-tflite", "8w8a", row][0] for row in ("ff-paper-epsilon", "ff", "quzo", "quzo-m2")
    }
    given = {row: dict(run.given) for row, run in runs.items()}
    assert given["ff"] == given["quzo"]
    assert given["quzo-m2"] == given["quzo"] | {"directions": 2}
    assert given["ff-paper-epsilon"] == given["ff"] | {"epsilon": 0.001}


def test_a_network_that_is_not_compared_is_named() -> None:
    with pytest.raises(RigError, match="mcunet-128 is not compared: known are: lenet5-tflite, resnet-tiny"):
        table(network="mcunet-128")


def test_runs_resume_with_the_same_bits(tmp_path: Path) -> None:
    whole, broken = begin(tmp_path / "a", OWN), begin(tmp_path / "b", OWN)
    list(Training(whole).epochs())
    list(islice(Training(broken).epochs(), 2))
    assert by_slices(broken) == [1, 1]
    assert untimed(whole) == untimed(broken)
    assert read_run(whole)[0] == OWN


def test_a_board_can_repeat_a_run() -> None:
    prepared = prepare(OWN.trial("stm32h7b3"))
    assert prepared.method.settings == OWN.settings(0, ()) and OWN.longest_segment() >= 1


def test_the_page_says_what_differs(tmp_path: Path) -> None:
    found = table(seeds=1, epochs=1, rates=(0.003,), corruptions=("contrast",), images=20, batch=10)
    assert len(found.stages) == 1 and not found.searches
    for run in found.runs:
        list(Training(begin(tmp_path / run.name, run)).epochs())  # type: ignore[arg-type]
    said = as_markdown(summarise(found, tmp_path, {"time": "then", "commit": None}))
    assert "only the estimate of the gradient differs" in said and "QuZO, m = 2" in said
