"""`hil boards`: the boards of the catalogue."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from hil import boards
from hil.arguments import add_rig
from hil.commands.devices import named_bench
from hil.commands.listing import aligned
from hil.errors import Blocked
from hil.plugins import sentence
from hil.rig import automatic
from hil.standins import renode


def main(argv: list[str]) -> int:
    """List the boards of the catalogue."""
    text = "The boards of the catalogue, what --reality=auto takes for each on this computer, and their stand-ins."
    parser = argparse.ArgumentParser(prog="hil boards", description=text)
    parser.add_argument("--json", action="store_true", help="print the full entries as JSON, with what auto takes")
    add_rig(parser)
    options = parser.parse_args(argv)
    bench = named_bench(options.rig)
    catalogue, errors = boards.working()
    for error in errors:
        print(f"note: {sentence(error)}", file=sys.stderr)
    if options.json:
        entries = []
        for board in catalogue:
            taken = automatic(board, bench.find(board.name))
            why = taken.warning or taken.why
            entries.append(asdict(board) | {"auto": {"reality": taken.reality, "why": why}})
        print(json.dumps(entries, indent=1))
        return 0
    rows = []
    for board in catalogue:
        taken = automatic(board, bench.find(board.name))
        auto = f"auto: {taken.reality or 'blocked'} ({taken.why})"
        stand_in = f"stand-in: {board.stand_in}" + (", renode" if board.name in renode.modelled() else "")
        rows.append((board.name, board.title, board.core, f"{board.clock_hz / 1e6:.0f} MHz", auto, stand_in))
    for line in aligned(rows):
        print(line)
    print(f"\nrenode: {_renode()}")
    return 0


def _renode() -> str:
    try:
        version = renode.installed()
    except Blocked as blocked:
        return blocked.reason
    return f"not installed: {renode.cure()}." if version is None else f"version {version} at {renode.program()}."
