"""`hil first-light`: bring up a board that nobody has run before, one assumption at a time."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

from hil.arguments import add_rig, output_folder
from hil.commands.rig_of import rig_of
from hil.dut import opened
from hil.first_light import BringUp, Result, bring_up, stages
from hil.first_light.facts import facts_of
from hil.first_light.record import first_light_of, write

WORDS = {"pass": "ok", "fail": "FAIL", "blocked": "BLOCKED", "not possible here": "-", "not reached": "-"}


def main(argv: list[str]) -> int:
    """Run the command; return 0 if no stage failed or was blocked, else 1."""
    options = _parser().parse_args(argv)
    begun = datetime.now(timezone.utc)
    folder = options.out or Path(f"first-light-{options.board}-{begun:%Y%m%dT%H%M%SZ}")
    lines = sys.stderr if options.json else sys.stdout

    def tell(sentence: str) -> None:
        print(sentence, file=lines, flush=True)

    todo = stages()
    with (
        rig_of(options.rig, reality=options.reality) as rig,
        opened(rig, options.board, None, folder, tell=tell, serial_log=False) as dut,
    ):
        on = BringUp(dut, facts_of(dut.board.name), folder)
        results = bring_up(on, todo, lambda result: tell(_line(result)))
        light = first_light_of(on, results, begun)
    tell(light.judgement)
    for path in write(light, folder):
        tell(str(path))
    if options.json:
        print(json.dumps(asdict(light), indent=1))
    return 0 if light.is_good else 1


def _line(result: Result) -> str:
    """Return one stage for the terminal."""
    said = result.meaning if result.outcome in ("not possible here", "not reached") else result.seen
    return f"{WORDS[result.outcome]:8} {result.name:20} {said}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hil first-light",
        description="Bring up a board that nobody has run before, one assumption at a time, from the least dangerous "
        "to the most: what was expected, what was seen, and what it means. It stops before anything that could lock a "
        "board, and writes first-light.json and first-light.html.",
    )
    parser.add_argument("--board", required=True, help="board of the catalogue (`hil boards`)")
    add_rig(parser)
    text = "how the board exists: auto, hardware, or a stand-in (default: auto)"
    parser.add_argument("--reality", default="auto", help=text)
    text = "folder for both files and the logs (default: first-light-BOARD-<time>)"
    parser.add_argument("--out", type=output_folder, metavar="FOLDER", help=text)
    parser.add_argument(
        "--json", action="store_true", help="print the record as JSON, and the stages on standard error"
    )
    return parser
