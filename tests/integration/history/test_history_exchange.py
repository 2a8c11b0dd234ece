"""`hil export` and `hil import`: what another bench did is here too, and nothing that it says is more than data."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hil.errors import RigError
from hil.history.address import Address, address_of
from hil.history.export import export
from hil.history.filters import EVERYTHING, Filter
from hil.history.folders import Count, index_run
from hil.history.importing import import_runs
from hil.history.queries import History
from hil.history.store import Store
from hil.history.table import COLUMNS, NUMBERS
from hil.record import quantities
from tests.history_records import energy_record, record, run_folder
from tests.integration.verify.forging import Forged

HOSTILE = "=cmd|' /C calc'!A0<script>"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """The folder of another bench, with two runs and a history."""
    root = tmp_path / "other"
    run_folder(root, energy_record(), record(0, reason=HOSTILE, verdict="blocked", stage="link"), bench="lab 2")
    run_folder(root, record(15, board="rp2040"), record(16, folder="t2"))
    with Store(address_of(None, root)) as store:
        for path in sorted(root.glob("2*")):
            index_run(store, path, Count())
    return root


def exported(address: Address, out: Path, chosen: Filter = EVERYTHING, kind: str = "parquet") -> list[dict]:
    with History.open(address) as history:
        export(history, chosen, out, kind)
    if kind == "csv":
        with out.open(newline="") as file:
            return list(csv.DictReader(file))
    return pq.read_table(out).to_pylist()


def test_what_was_exported_and_imported_is_exported_again(other: Path, address: Address, tmp_path: Path) -> None:
    first = exported(address_of(None, other), tmp_path / "a.parquet")
    with Store(address) as store:
        count = import_runs(store, tmp_path / "a.parquet", "elsewhere")
        assert (count.runs, count.trials, count.written, count.problems) == (2, 4, 4, [])
        assert import_runs(store, tmp_path / "a.parquet", "elsewhere").written == 0, "twice is once"
    again = exported(address, tmp_path / "b.parquet")
    assert {row["bench"] for row in again} == {"lab 2", "elsewhere"}, "a run that names no bench gets the given one"
    assert [row | {"bench": ""} for row in again] == [row | {"bench": ""} for row in first]
    expected = len(quantities(energy_record())) + sum(len(quantities(record(number))) for number in (0, 15, 16))
    assert len(first) == expected
    with History.open(address) as history:
        assert {run.path for run in history.runs} == {None} and all(run.imported for run in history.runs)


def test_folders_of_runs_are_imported(other: Path, address: Address) -> None:
    with Store(address) as store:
        count = import_runs(store, other, "elsewhere")
        assert (count.runs, count.written, count.problems) == (2, 4, [])
        assert import_runs(store, next(other.glob("2*")), "elsewhere").written == 0
    with History.open(address) as history:
        assert {run.bench for run in history.runs} == {"lab 2", "elsewhere"}


def test_a_run_of_this_history_is_not_changed_by_an_import(other: Path, address: Address, tmp_path: Path) -> None:
    exported(address_of(None, other), tmp_path / "a.parquet")
    rows = pq.read_table(tmp_path / "a.parquet").to_pylist()
    forged = [row | {"verdict": "fail", "content": "0" * 32, "value": 1.0, "state": "interrupted"} for row in rows]
    write_table(forged, tmp_path / "forged.parquet")
    with Store(address) as store:
        for path in other.glob("2*"):
            index_run(store, path, Count())
        before = exported(address, tmp_path / "before.parquet")
        count = import_runs(store, tmp_path / "forged.parquet", "x")
        assert len(count.problems) == 2 and "is a run of this history already" in count.problems[0]
        copy = tmp_path / "stranger/run"
        shutil.copytree(next(other.glob("2*")), copy)
        forged = Forged(copy)
        forged.results["trials"][0]["wall_s"] = 1.0
        forged.write(everywhere=True, seal=True)
        count = import_runs(store, copy.parent, "x")
        assert count.runs == 0 and "is a run of this history already" in count.problems[0]
    assert exported(address, tmp_path / "after.parquet") == before


def test_a_filter_chooses_what_is_exported(other: Path, tmp_path: Path) -> None:
    address = address_of(None, other)
    rows = exported(address, tmp_path / "a.parquet", Filter(board=("rp2040",)))
    assert {row["board"] for row in rows} == {"rp2040"} and len(rows) == len(quantities(record(15)))
    with pytest.raises(RigError, match="has no run of this choice"):
        exported(address, tmp_path / "none.parquet", Filter(board=("none",)))
    assert not (tmp_path / "none.parquet").exists()


def test_a_spreadsheet_executes_no_cell_of_the_csv(other: Path, tmp_path: Path) -> None:
    rows = exported(address_of(None, other), tmp_path / "a.csv", kind="csv")
    assert {row["reason"] for row in rows} == {"", f"'{HOSTILE}"}
    words = [value for row in rows for name, value in row.items() if name not in NUMBERS]
    assert not [word for word in words if word.startswith(("=", "+", "-", "@"))]
    found = {row["quantity"]: float(row["value"]) for row in rows if row["test"] == energy_record().test}
    assert found == {name: float(each.value) for name, each in quantities(energy_record()).items()}


def test_the_path_of_no_folder_is_exported(other: Path, tmp_path: Path) -> None:
    exported(address_of(None, other), tmp_path / "a.csv", kind="csv")
    assert str(tmp_path) not in (tmp_path / "a.csv").read_text()


def write_table(rows: list[dict], out: Path) -> None:
    types = {name: pa.float64() if name in NUMBERS else pa.dictionary(pa.int32(), pa.string()) for name in COLUMNS}
    schema = pa.schema(list(types.items()))
    pq.write_table(pa.table({name: [row.get(name) for row in rows] for name in COLUMNS}, schema=schema), out)


WRONG = {
    "verdict": "won", "run": "../../outside", "trial": "/etc", "run_uid": "", "provenance": "guessed", "state": None, "whole": "maybe",
    "board": None, "unit": None, "settings": None, "exit_code": "many", "test_verdict": "great",
}  # fmt: skip


def test_a_table_with_wrong_fields_is_one_sentence_and_writes_nothing(other: Path, tmp_path: Path) -> None:
    exported(address_of(None, other), tmp_path / "a.parquet")
    rows = pq.read_table(tmp_path / "a.parquet").to_pylist()
    with Store(address_of(None, tmp_path)) as store:
        for name, value in WRONG.items():
            write_table([row | {name: value} for row in rows], tmp_path / "wrong.parquet")
            with pytest.raises(RigError, match="is damaged|is no plain name") as raised:
                import_runs(store, tmp_path / "wrong.parquet", "x")
            assert "\n" not in str(raised.value), name
        pq.write_table(pa.table({"a": [1.0]}), tmp_path / "columns.parquet")
        (tmp_path / "bytes.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-100])
        for file in ("columns.parquet", "bytes.parquet", "missing.parquet"):
            with pytest.raises(RigError):
                import_runs(store, tmp_path / file, "x")
    with History.open(address_of(None, tmp_path)) as history:
        assert history.runs == []


def test_no_link_leads_out_of_a_folder_that_is_imported(other: Path, tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    runs = sorted(other.glob("2*"))
    (stranger / "run").symlink_to(runs[0])
    (stranger / "file").mkdir()
    (stranger / "file/results.json").symlink_to(runs[0] / "results.json")
    fields = json.loads((runs[0] / "results.json").read_text())
    fields["trials"][0]["folder"] = fields["tests"][0]["trials"][0] = "../other"
    (stranger / "up").mkdir()
    (stranger / "up/results.json").write_text(json.dumps(fields))
    with Store(address_of(None, tmp_path)) as store:
        count = import_runs(store, stranger, "x")
    assert count.written == 0 and count.runs == 0
    assert len(count.problems) == 2 and any("no plain name" in sentence for sentence in count.problems)


def test_a_run_with_figures_that_cannot_be_computed_is_not_imported(other: Path, tmp_path: Path) -> None:
    (path,) = [path for path in other.glob("2*") if "rp2040" in (path / "results.json").read_text()]
    forged = Forged(path)
    forged.results["trials"][0]["accuracy"] |= {"after": 5.0, "n": 3}  # the root of a negative number
    forged.write(seal=True)
    with Store(address_of(None, tmp_path)) as store:
        count = import_runs(store, path, "x")
    (problem,) = count.problems
    assert (count.runs, count.written) == (0, 0)
    assert problem.startswith(f"{path.name} was not imported: ") and problem.endswith("run the trials again.")
