"""`hil export`: the history as one table, for other programs and other benches."""

from __future__ import annotations

import argparse

from hil.arguments import output_file
from hil.commands.history_arguments import add_choice, add_place, choice, place
from hil.history.export import export
from hil.history.queries import History

KINDS = ("parquet", "csv")


def main(argv: list[str]) -> int:
    """Write the file and return the exit code."""
    parser = argparse.ArgumentParser(prog="hil export", description="Write the history to a Parquet or CSV file.")
    parser.add_argument("--out", type=output_file, required=True, metavar="FILE", help="file to be written")
    text = "format of the file (default: csv if its name ends with .csv, else parquet)"
    parser.add_argument("--format", choices=KINDS, help=text)
    add_choice(parser)
    add_place(parser)
    options = parser.parse_args(argv)
    kind = options.format or ("csv" if options.out.suffix.lower() == ".csv" else "parquet")
    with History.open(place(options)) as history:
        runs, rows = export(history, choice(options), options.out, kind)
    print(f"{options.out}: {runs} runs, {rows:,} rows")
    return 0
