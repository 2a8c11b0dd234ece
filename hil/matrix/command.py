"""`hil matrix`."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hil import boards
from hil.matrix.cells import cells
from hil.matrix.states import Records, Row, row_of

MARKS = {"exact": "[green]{steps}[/green]", "differs": "[red]differs[/red]", "refused": "-", "not-run": "."}


def main(argv: list[str]) -> int:
    """Show the matrix; exit code 1 if a cell differs."""
    parser = argparse.ArgumentParser(
        prog="hil matrix",
        description="Which method is bit-exact, on which network and board, by the records of runs with the images that are there now.",
    )
    parser.add_argument("--board", action="append", default=[], metavar="NAME", help="only this board (repeatable)")
    parser.add_argument("--network", action="append", default=[], metavar="NAME", help="only this network (repeatable)")
    parser.add_argument("--method", action="append", default=[], metavar="NAME", help="only this method (repeatable)")
    parser.add_argument(
        "--reports", type=Path, default=Path("reports"), metavar="DIR", help="folder of the runs (default: reports)"
    )
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    options = parser.parse_args(argv)
    records = Records(options.reports)
    rows = [row_of(cell, records) for cell in cells(options.board or boards.names(), options.network, options.method)]
    if options.json:
        print(json.dumps([row.to_json() for row in rows], indent=1))
    else:
        _show(rows)
    return int(any(row.state == "differs" for row in rows))


def _show(rows: list[Row]) -> None:
    names = list(dict.fromkeys(row.board for row in rows))
    table = Table("network", "method", "variant", *names, title="steps compared bit for bit; - does not fit; . not run")
    by_cell = {(row.network, row.method, row.variant, row.board): row for row in rows}
    for network, method, variant in dict.fromkeys((row.network, row.method, row.variant) for row in rows):
        found = [by_cell[network, method, variant, name] for name in names]
        table.add_row(network, method, variant, *(MARKS[row.state].format(steps=row.steps) for row in found))
    console = Console()
    console.print(table)
    counts = Counter(row.state for row in rows)
    realities = Counter(row.reality for row in rows if row.reality)
    console.print(
        ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
        + ("; on " + ", ".join(f"{reality} boards: {count}" for reality, count in sorted(realities.items())) if realities else "")
    )
    for row in rows:
        if row.state == "differs":
            console.print(f"{row.network} {row.method} {row.variant} on {row.board}: {row.reason}")
