"""The committed records of experiments: whole, and repeated by the code as it is."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from hil.errors import RigError
from hil.training.data import load
from hil.training.data.store import data_folder
from hil.training.experiments.curve import RUN_FILE, read_curve, read_run, write_run
from hil.training.experiments.paper import paper
from hil.training.experiments.slices import keep, request, train_slice
from hil.training.networks import TREES
from hil.training.networks.tree import is_folder_named

from .folders import recorded_curves

ROOT = Path(__file__).parents[3]
RECORDS = sorted((ROOT / "fixtures" / "experiments").glob("*/results.json"))
LOSSES = ("pmt-figure7", "pmt-figure10", "pmt-figure11")  # whose cells are training losses
# First epochs that take more than five seconds of one core, or data that are fetched; all others take five together.
SLOW = ("elasticzo-*", "fqt-*", "*-mcunet", "*-paper-size", "pmt-table1[01]")


def record(path: Path) -> dict[str, Any]:
    """Return results.json with the curves beside it; a run that has not begun has no rows."""
    results = json.loads(path.read_text(encoding="utf-8"))
    return results | {"curves": {run["name"]: [] for run in results["runs"]} | recorded_curves(path.parent)}


@pytest.fixture(params=RECORDS, ids=lambda path: path.parent.name)
def results(request: pytest.FixtureRequest) -> dict[str, Any]:
    return record(request.param)


def test_the_cells_are_the_means_of_the_curves(results: dict[str, Any]) -> None:
    """Recomputed from the last epochs; every run is trained to its end, and every row but the first has its digest."""
    assert all(len(results["curves"][run["name"]]) == run["epochs"] + 1 for run in results["runs"])
    for rows in results["curves"].values():
        assert [row["epoch"] for row in rows] == list(range(len(rows)))
        assert all(row["digest"] is not None for row in rows[1:])
    by_cell: dict[tuple[Any, ...], list[float]] = {}  # the cells of qzo-ood are means over several data sets
    for run in results["runs"]:
        last = results["curves"][run["name"]][-1]
        value = last["loss"] if results["experiment"] in LOSSES else 100 * last["test_accuracy"]
        whole = results["experiment"] == "qzo-ood" and not run["tag"]
        key = (run["column"], run["variant"], run["seed"]) if whole else (run["name"],)
        for place, one in enumerate(last["cosines"] if results["experiment"] == "pmt-figure8" else [value]):
            by_cell.setdefault((*key, place), []).append(one)
    values = [fmean(each) for each in by_cell.values()]
    for cell in results["cells"]:
        if cell["row"] != "none":
            assert all(any(abs(value - one) < 1e-9 for one in values) for value in cell["values"])
        assert cell["mean"] is None or cell["mean"] == pytest.approx(fmean(cell["values"]))
        assert cell["spread"] is None or cell["spread"] == pytest.approx(stdev(cell["values"]))


def test_a_search_has_counts_and_few_images_claim_nothing(results: dict[str, Any]) -> None:
    for search in results.get("searches", ()):
        for rate in search["rates"]:
            assert rate["mean"] == pytest.approx(fmean(rate["right"]) / rate["of"])
            assert search["images"] == rate["of"] * search["seeds"] and len(rate["right"]) == search["seeds"]
    if any(search["images"] < 500 for search in results.get("searches", ())):
        assert all(any("fewer than 500" in one for one in order["doubts"]) for order in results["orders"])


def test_nothing_of_a_machine_is_in_a_record(results: dict[str, Any]) -> None:
    assert set(results["facts"]["host"]) == {"system", "machine", "cpus"}
    assert not re.search(r'"/(?!/)', json.dumps(results)), "no absolute path"


def begun(path: Path, runs: Path) -> Path:
    """Return a folder with the first run of a record, before training; skip where its data or its network are missing."""
    fields = {name: value for name, value in record(path)["runs"][0].items() if name != "name"}
    (runs / RUN_FILE).write_text(json.dumps({"run": fields, "data_sha256": ""}))
    run = read_run(runs)[0]
    if (tree := TREES.get(fields.get("network", "").partition("@")[0])) and not is_folder_named():
        pytest.skip(f"the files of {tree} are not here")
    try:
        digest = load(run.data).sha256
    except RigError as error:
        if f"is not in {data_folder()}" not in str(error):
            raise
        pytest.skip(str(error))
    folder = runs / run.name
    folder.mkdir()
    write_run(folder, run, digest)
    return folder


def tier_of(name: str) -> str:
    return "nightly" if any(fnmatchcase(name, slow) for slow in SLOW) else "quick"


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.tier(tier_of(path.parent.name)), id=path.parent.name) for path in RECORDS],
)
def test_a_run_repeats(path: Path, tmp_path: Path) -> None:
    """The first epoch of the first run, bit for bit, as a worker trains it."""
    folder = begun(path, tmp_path)
    for _ in range(2):
        keep(folder, train_slice(*request(folder), 0.0))
    for found, kept in zip(read_curve(folder), record(path)["curves"][folder.name][:2], strict=True):
        for name in ("step", "digest", "loss", "train_accuracy", "test_accuracy"):
            assert getattr(found, name) == kept[name], f"{name} of epoch {found.epoch}"


def test_r_max_is_the_best_of_the_record() -> None:
    cells = record(ROOT / "fixtures" / "experiments" / "elasticzo-r-max" / "results.json")["cells"]
    found: dict[tuple[str, str, str], dict[int, float]] = {}
    for cell in cells:
        title, scale = cell["column"].split(", r_max ")
        column = {"INT8": "int8", "INT8*": "int8star"}[title]
        found.setdefault((cell["data"], column, cell["row"]), {})[int(scale)] = cell["mean"]
        assert len(cell["values"]) >= 2
    declared = paper("elasticzo").values["r_max"]
    searched = {(data, column): rows for data, columns in declared.items() for column, rows in columns.items()}
    chosen = {(*place, row): scale for place, rows in searched.items() for row, scale in rows.items()}
    assert {place: max(scales, key=lambda scale: scales[scale]) for place, scales in found.items()} == chosen
    assert all(min(scales) < chosen[place] < max(scales) for place, scales in found.items()), "inside the grid"
