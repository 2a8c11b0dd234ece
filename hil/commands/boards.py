"""`hil boards`: the boards of the catalogue."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from hil import boards
from hil.commands.listing import aligned
from hil.errors import Blocked
from hil.standins import renode


def main(argv: list[str]) -> int:
    """List the boards of the catalogue."""
    text = "The boards of the catalogue, and the stand-in for each if none is attached."
    parser = argparse.ArgumentParser(prog="hil boards", description=text)
    parser.add_argument("--json", action="store_true", help="print the full entries as JSON")
    options = parser.parse_args(argv)
    catalogue = [boards.load(name) for name in boards.names()]
    if options.json:
        print(json.dumps([asdict(board) for board in catalogue], indent=1))
        return 0
    rows = []
    for board in catalogue:
        stand_in = f"stand-in: {board.stand_in}" + (", renode" if board.name in renode.modelled() else "")
        rows.append((board.name, board.title, board.core, f"{board.clock_hz / 1e6:.0f} MHz", stand_in))
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
