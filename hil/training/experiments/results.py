"""Write the tables of results into the pages of the papers: `python -m hil.training.experiments.results [--check]`.

A table stands between two comments. The first names a record in fixtures/experiments and how it is shown:

    <!-- results: elasticzo-table1 -->
    <!-- results: elasticzo-loss-fraction, signs -->
    <!-- results: fqt-figure7, costs 1: network | energy, mJ -->
    <!-- end of results -->

`cells` (the default) is the table of the cells. `signs` has the share of right signs in brackets. `grid` has a column
for each value behind the last comma of the columns' titles, and the best mean of a line is bold. `costs N` is the Nth
table of costs.md: all of it, or its first column and those that are named.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hil.atomic_write import write_atomic
from hil.dataclass_json import rebuilt
from hil.errors import RigError, close_matches
from hil.training.experiments import costs
from hil.training.experiments.certify import Certificate
from hil.training.experiments.costs import table_line, table_lines
from hil.training.experiments.paper import paper
from hil.training.experiments.render import cell_lines, entry
from hil.training.experiments.summary import CellResult, ExperimentSummary
from hil.training.experiments.table import MEASURES, PaperTable

ROOT = Path(__file__).resolve().parents[3]
RECORDS = "fixtures/experiments"
PAGES = tuple(f"docs/{name}.md" for name in ("elasticzo", "poor-mans-training", "qzo-ff", "fqt"))
COMMAND = "python -m hil.training.experiments.results"
CURE = "keep the record again (tools/keep_experiment.py)"
BEGIN, END = "<!-- results: ", "<!-- end of results -->"
PART = re.compile(rf"^({BEGIN}([\w-]+)(?:, (\w+)(?: (\d))?(?:: (.+))?)? -->\n)(?:(?!{BEGIN}).*\n)*?{END}$", re.M)


def recorded(folder: Path) -> ExperimentSummary:
    """Return the summary in the results.json of a record, without its runs and curves.

    Raises:
        RigError: the file is damaged.
    """
    place = folder / "results.json"
    facts = json.loads(place.read_text(encoding="utf-8"))
    cells = tuple(rebuilt(CellResult, one, str(place), CURE) for one in facts["cells"])
    certificates = tuple(rebuilt(Certificate, one, str(place), CURE) for one in facts["certificates"])
    name: str = facts["experiment"]
    declared = paper(name.partition("-")[0]).experiments[name]
    shown = dict.fromkeys([*facts["not_run"], *(cell.row for cell in cells)])
    places = {row: place for place, row in enumerate(declared.rows)}
    published = {(cell.data, cell.column, cell.row): cell.paper for cell in cells}
    table = PaperTable(
        name, facts["title"], stages=(), cells=dict.fromkeys(published, ()),
        rows=tuple(sorted(shown, key=lambda row: places.get(row, -1))),  # rows that are not declared are above them
        paper={cell: value for cell, value in published.items() if value is not None},
        differences=tuple(facts["differences"]), measure=MEASURES[declared.measure], titles=declared.titles,
        not_run=facts["not_run"],
    )  # fmt: skip
    return ExperimentSummary(table, facts["facts"], cells, (), {}, certificates)


def signed(summary: ExperimentSummary, data: str, column: str, row: str) -> str:
    """Return the text of a cell; for integer losses the share of right signs stands behind it, in percent."""
    cell, text = summary.cell(data, column, row), entry(summary, data, column, row)
    return text if cell is None or cell.right_signs in (None, 1.0) else f"{text} ({cell.right_signs:.0%})"


def grid_lines(summary: ExperimentSummary) -> list[str]:
    """Return a table with a line for each data set, column and row, and a column for each value behind a comma."""
    lines: dict[tuple[str, ...], dict[str, CellResult]] = {}
    for cell in summary.cells:
        title, _, value = summary.table.called(cell.column).rpartition(", ")
        lines.setdefault((cell.data, title, summary.table.called(cell.row)), {})[value] = cell
    values = dict.fromkeys(value for its in lines.values() for value in its)
    rows = []
    for heads, its in lines.items():
        best = max(its.values(), key=lambda cell: -1.0 if cell.mean is None else cell.mean)
        texts = {value: signed(summary, cell.data, cell.column, cell.row) for value, cell in its.items()}
        rows.append((*heads, *(f"**{texts[value]}**" if its[value] is best else texts[value] for value in values)))
    return table_lines(("", "", "", *values), rows, 3)


def cost_lines(folder: Path, number: int, names: Sequence[str]) -> list[str]:
    """Return a table of costs.md, counted from 1: the first column and those that are named; all if none is.

    Raises:
        RigError: there is no such table or column.
    """
    text = (folder / costs.PAGE).read_text(encoding="utf-8")
    tables = re.findall(r"(?:^\|.*\n)+", text, re.M)
    if not 0 < number <= len(tables):
        raise RigError(f"{folder.name} has {len(tables)} tables of costs, and no table {number}: name one of them.")
    lines = [[word.strip() for word in line.strip("|").split("|")] for line in tables[number - 1].splitlines()]
    places = {head: place for place, head in enumerate(lines[0])}
    for name in names:
        if name not in places:
            raise RigError(f"table {number} of {folder.name} has no column {name!r}: {close_matches(name, places)}")
    kept = [0, *(places[name] for name in names)] if names else range(len(lines[0]))
    return [table_line(*(line[place] for place in kept)) for line in lines]


def origin(folder: Path, seeds: int = 0, certificates: Sequence[Certificate] = ()) -> list[str]:
    """Return where a table comes from: the record, its seeds, and how many certificates have which verdict."""
    page = f"{RECORDS}/{folder.name}/{'table.md' if seeds else costs.PAGE}"
    counts = Counter((one.verdict, one.board, one.reality) for one in certificates)
    said = [
        f"{count} {verdict} on {board} ({reality or 'not reached'})"
        for (verdict, board, reality), count in counts.items()
    ]
    facts = [f"Seeds: {seeds}. Certificates: {', '.join(said) or 'none'}."] if seeds else []
    return [f"Record: [{folder.name}](../{page}).", *facts]


def part(folder: Path, view: str, number: int, names: Sequence[str]) -> str:
    """Return a table of a record as Markdown, and where it comes from.

    Raises:
        RigError: there is no such record, view, table or column.
    """
    if not folder.is_dir():
        raise RigError(f"{RECORDS} has no record {folder.name}: name one of its folders.")
    if view == "costs":
        lines, ends = cost_lines(folder, number, names), origin(folder)
    else:
        views = {"cells": cell_lines, "signs": lambda summary: cell_lines(summary, signed), "grid": grid_lines}
        if view not in views:
            raise RigError(f"{view!r} is no view of {folder.name}: {close_matches(view, (*views, 'costs'))}")
        summary = recorded(folder)
        ends = origin(folder, max(len(cell.values) for cell in summary.cells), summary.certificates)
        lines = views[view](summary)
    return "\n".join(["", *lines, "", *ends, "", ""])


def filled(text: str, root: Path) -> str:
    """Return a page with all its tables written anew.

    Raises:
        RigError: a mark is wrong.
    """
    if text.count(BEGIN) != len(PART.findall(text)) or text.count(END) != text.count(BEGIN):
        raise RigError(f"a mark of results is wrong: write `{BEGIN}NAME -->` and `{END}`, each on a line of its own.")

    def written(found: re.Match[str]) -> str:
        begin, name, view, number, columns = found.groups()
        names = [one.strip() for one in columns.split("|")] if columns else []
        return begin + part(root / RECORDS / name, view or "cells", int(number or 0), names) + END

    return PART.sub(written, text)


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Write the tables of all pages; with --check only compare, and return 1 if a page differs."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="write the tables of results into the papers' pages")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page differs")
    check = parser.parse_args(argv).check
    different = False
    for name in PAGES:
        text = (root / name).read_text(encoding="utf-8")
        try:
            new = filled(text, root)
        except RigError as error:
            print(f"{name}: {error}")
            return 2
        if check and new != text:
            print(f"{name} differs from its records: run `{COMMAND}`.")
            different = True
        elif new != text:
            write_atomic(root / name, new)
    return int(different)


if __name__ == "__main__":
    sys.exit(main())
