"""`hil matrix`: print the matrix as a table or as JSON."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from hil import boards
from hil.commands.listing import aligned
from hil.images import prebuilt_boards
from hil.training.matrix.cells import METHOD_NAMES, NETWORK_NAMES, cells, check_name
from hil.training.matrix.states import MatrixRow, Records, row_of

MARKS = {"exact": "{steps}", "differs": "DIFFERS", "refused": "-", "not-run": "."}


def main(argv: list[str]) -> int:
    """Print the matrix; return 1 if a cell differs, else 0."""
    text = (
        "Which method is bit-exact on which network and board, by the recorded runs with the present firmware images."
    )
    parser = argparse.ArgumentParser(prog="hil matrix", description=text)
    for kind in ("board", "network", "method"):
        text = f"only this {kind} (repeatable)"
        parser.add_argument(f"--{kind}", action="append", default=[], metavar="NAME", help=text)
    text = "folder of the runs (default: reports)"
    parser.add_argument("--reports", type=Path, default=Path("reports"), metavar="DIR", help=text)
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    options = parser.parse_args(argv)
    for name in options.board:
        boards.load(name)
    for name in options.network:
        check_name("network", name, NETWORK_NAMES)
    for name in options.method:
        check_name("method", name, METHOD_NAMES)
    records = Records(options.reports)
    rows = [
        row_of(cell, records) for cell in cells(options.board or prebuilt_boards(), options.network, options.method)
    ]
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        _show(rows)
    return int(any(row.state == "differs" for row in rows))


def _show(rows: list[MatrixRow]) -> None:
    names = list(dict.fromkeys(row.board for row in rows))
    by_cell = {(row.network, row.method, row.variant, row.board): row for row in rows}
    table = [("network", "method", "variant", *names)]
    for cell in dict.fromkeys((row.network, row.method, row.variant) for row in rows):
        found = [by_cell[(*cell, name)] for name in names]
        table.append((*cell, *(MARKS[row.state].format(steps=row.steps) for row in found)))
    print("number: steps compared bit for bit; -: does not fit; .: not run\n")
    for line in aligned(table):
        print(line)
    counts = Counter(row.state for row in rows)
    realities = Counter(row.reality for row in rows if row.reality)
    ran = ", ".join(f"{reality} boards: {count}" for reality, count in sorted(realities.items()))
    print("\n" + ", ".join(f"{count} {state}" for state, count in sorted(counts.items())), end="")
    print(f"; on {ran}" if ran else "")
    for row in rows:
        if row.state == "differs":
            print(f"{row.network} {row.method} {row.variant} on {row.board}: {row.reason}")
