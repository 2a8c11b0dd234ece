"""Files of a record whose form is edited: columns of results.csv, and names in its JSON files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable

import pytest

from hil.errors import RigError
from hil.record import RunWriter, read_run
from hil.record.checks.copies import check_csv
from hil.record.run_reader import read_recorded
from hil.record.sums import SUMS

Rows = list[list[str]]


def second_verdict(rows: Rows) -> Rows:
    """A column `verdict` before the right one: readers by name take one of the two."""
    return [["verdict", *rows[0]]] + [["pass", *row] for row in rows[1:]]


COLUMNS: dict[str, tuple[Callable[[Rows], Rows], str]] = {
    "renamed": (lambda rows: [[name.replace("final_digest", "x") for name in rows[0]], *rows[1:]], "the column final_digest is missing"),
    "renamed, the new name": (lambda rows: [[name.replace("final_digest", "x") for name in rows[0]], *rows[1:]], "the column 'x' is 'there', but results.json has missing"),
    "dropped": (lambda rows: [row[1:] for row in rows], "the column test is missing"),
    "added": (lambda rows: [[*rows[0], "mean"]] + [[*row, "1"] for row in rows[1:]], "the column 'mean' is 'there'"),
    "twice": (second_verdict, "the number of columns verdict is 2"),
    "a byte order mark": (lambda rows: [["\ufeff" + rows[0][0], *rows[0][1:]], *rows[1:]], "the column test is missing"),
    "a cell too many": (lambda rows: [*rows[:-1], [*rows[-1], "7"]], "the number of cells in row"),
    "a cell too few": (lambda rows: [*rows[:-1], rows[-1][:-1]], "the number of cells in row"),
    "no header": (lambda rows: rows[1:], "the column test is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_a_wrong_column_of_results_csv_is_named(name: str, recorded: RunWriter) -> None:
    edit, said = COLUMNS[name]
    path = recorded.folder / "results.csv"
    assert not list(check_csv(read_recorded(recorded.folder)))
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(edit(rows))
    found = [one.sentence for one in check_csv(read_recorded(recorded.folder))]
    assert any(said in sentence for sentence in found), found


@pytest.mark.parametrize("name", ["results.json", "trial.json"])
def test_a_name_twice_in_one_object_is_refused(name: str, recorded: RunWriter) -> None:
    path = next(path for path in sorted(recorded.folder.rglob(name)) if '"verdict": "fail"' in path.read_text())
    text = path.read_text()
    path.write_text(text.replace('"verdict": "fail"', '"verdict": "pass", "verdict": "fail"', 1))
    (recorded.folder / SUMS).unlink()
    with pytest.raises(RigError, match=r"an object in it has the name 'verdict' twice"):
        read_run(recorded.folder)


FACTS = {
    "uid with a slash": ("uid", "../" + "0" * 29), "uid of capitals": ("uid", "A" * 32), "short uid": ("uid", "0" * 31),
    "uid with a line feed": ("uid", "0" * 32 + "\n"), "time in words": ("time", "yesterday"),
    "time without a zone": ("time", "2026-11-27T04:25:15"), "time of month 13": ("time", "2026-13-27T04:25:15+00:00"),
    "end in words": ("ended", "later"), "end of hour 25": ("ended", "2026-11-27T25:25:15+00:00"),
}  # fmt: skip


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_of_the_run_in_a_wrong_form_is_named(name: str, recorded: RunWriter) -> None:
    field, value = FACTS[name]
    path = recorded.folder / "results.json"
    results = json.loads(path.read_text())
    assert field in results["run"]
    results["run"][field] = value
    path.write_text(json.dumps(results))
    with pytest.raises(RigError, match=rf"results\.json.*run\.{field}"):
        read_recorded(recorded.folder)
