"""`hil compare`: two runs or trials beside each other, from their records (docs/history.md)."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from hil.arguments import output_file
from hil.commands.listing import aligned
from hil.report.compare import FORMATS, ComparedSides, compare, devices, read_side, write_page
from hil.report.compare.sides import run_of
from hil.report.compare.texts import HEADS, alone, figure_cells, title
from hil.report.escapes import line

LATEST = Path("reports/latest")


def main(argv: list[str]) -> int:
    """Print the comparison, and write its page if asked."""
    text = (
        "Compare two runs, trials or tests of devices: settings that differ, figures with the uncertainty of their "
        "difference, and the tensors of tests."
    )
    parser = argparse.ArgumentParser(prog="hil compare", description=text)
    text = (
        "folder of a run, a trial or a test of a device, or selectors such as board=rp2040,variant=cls1,commit=02882664"
    )
    for name in ("first", "second"):
        parser.add_argument(name, metavar={"first": "A", "second": "B"}[name], help=text)
    text = "run in which selectors select (repeatable; default: that of the other side, else reports/latest)"
    parser.add_argument("--in", type=Path, action="append", dest="within", metavar="RUN", help=text)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print all figures as JSON")
    how.add_argument("--format", choices=tuple(FORMATS), help="print tables in this format (CSV has all figures)")
    text = "also write a page with the loss curves to this file"
    parser.add_argument("--page", type=output_file, default=None, metavar="FILE", help=text)
    options = parser.parse_args(argv)
    words = (options.first, options.second)
    within = options.within or [run for run in map(run_of, words) if run is not None] or [LATEST]
    found = compare(*(read_side(word, within) for word in words))
    if options.page is not None:
        write_page(found, options.page)
    if options.json:
        print(json.dumps(found.to_json(), indent=1))
    elif options.format is not None:
        print(FORMATS[options.format](found), end="")
    else:
        _show(found)
    return 0


def _show(found: ComparedSides) -> None:
    print(f"first:  {line(found.first)}\nsecond: {line(found.second)}")
    for pair in found.pairs:
        print(f"\n{line(title(pair))}\n")
        tables: list[list[tuple[str, ...]]] = [
            [("setting", "first", "second"), *((one.name, one.first, one.second) for one in pair.settings)],
            [HEADS, *(tuple(figure_cells(row)) for row in pair.main)],
        ]
        if pair.tensors is not None:
            tables.append([devices.HEADS, *(tuple(row.cells) for row in pair.tensors.rows)])
        if pair.papers:
            papers = [(row.what, row.paper, row.first, row.second) for row in pair.papers]
            tables.append([("figure of a paper", "paper", "first", "second"), *papers])
        for table in tables:
            for text in aligned([[line(cell) for cell in row] for row in table]):
                print(text)
            print()
        if pair.tensors is not None:
            print(f"Tensors: {line(pair.tensors.sentence)}")
    for text in filter(None, alone(found, line)):
        print(text)
