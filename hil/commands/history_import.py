"""`hil import`: runs of another bench into the history."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hil.commands.history_arguments import add_place, place
from hil.errors import RigError
from hil.history.importing import import_runs
from hil.history.store import open_to_write


def main(argv: list[str]) -> int:
    """Import the runs and return the exit code: 1 if something was left out."""
    text = "Read runs of another bench into the history: folders of runs, or a Parquet file of `hil export`."
    parser = argparse.ArgumentParser(prog="hil import", description=text)
    text = "a run, a folder of runs, or a Parquet file"
    parser.add_argument("source", type=Path, metavar="FOLDER|FILE", help=text)
    text = "name of that bench, for runs that name none (default: the name of the folder or file)"
    parser.add_argument("--bench", metavar="NAME", help=text)
    add_place(parser)
    options = parser.parse_args(argv)
    if not options.source.exists():
        raise RigError(f"{options.source}: there is no such file or folder: name a folder of runs, or a Parquet file.")
    bench = options.bench or options.source.resolve().stem
    problems: list[str] = []
    with open_to_write(place(options), problems) as store:
        count = import_runs(store, options.source, bench)
    print(f"{count.runs} runs imported, {count.trials} trials, {count.written} of them new")
    for sentence in problems + count.problems:
        print(f"hil: {sentence}", file=sys.stderr)
    return int(bool(problems or count.problems))
