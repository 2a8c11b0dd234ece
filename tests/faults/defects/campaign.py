"""The campaign: every defect built, flashed on a virtual board, and what the rig says of it."""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from hil.rig import Bench, Rig
from hil.trial import run_trial
from hil.trial.outcome import Outcome
from hil.trial.recording import steps_table, trial_record

from .build import NotBuilt, Workshop
from .row import TRIALS, Row
from .rows import ROWS

CAUGHT, NAMED = 1.0, 0.95  # of all rows: what is asked for
AGAIN = 2  # times that a row whose trial was blocked is tried once more


@dataclass(frozen=True)
class Result:
    """What the rig made of a defect; a row of mutations.json."""

    name: str
    part: str
    trial: str
    caught: bool
    named: bool
    verdict: str
    names: tuple[str, ...]
    said: str
    seconds: float


def run_row(row: Row, workshop: Workshop, rig: Rig, folder: Path) -> Result:
    """Build a defect and run its trial."""
    began = time.monotonic()
    try:
        image = workshop.build(row.patches, folder / "image.elf")
    except NotBuilt as error:
        return Result(row.name, row.part, row.trial, False, False, "not built", (), str(error), round(time.monotonic() - began, 1))
    outcome = run_trial(TRIALS[row.trial], rig, folder, image)
    for again in range(AGAIN):  # a busy computer is no verdict
        if outcome.verdict == "blocked":
            outcome = run_trial(TRIALS[row.trial], rig, folder / f"again-{again}", image)
    trial_record(outcome)  # whatever was reported, the record is made
    steps_table(outcome).to_parquet(folder / "steps.parquet")
    found = found_in(outcome)
    named = any(re.fullmatch("|".join(row.names), name) and row.what in what for name, what in found)
    return Result(
        row.name, row.part, row.trial, outcome.verdict == "fail", outcome.verdict == "fail" and named, outcome.verdict,
        tuple(name for name, _ in found), outcome.reason, round(time.monotonic() - began, 1),
    )  # fmt: skip


def found_in(outcome: Outcome) -> list[tuple[str, str]]:
    """Return what the outcome names: wrong figures, and the layer of a difference with what of it differs."""
    found = [(figure, "") for figure in outcome.figures.wrong]
    if outcome.difference is not None:
        found.append((outcome.difference.layer, outcome.difference.what))
    return found


def results(rows: Sequence[Row], folder: Path) -> Iterator[Result]:
    """Yield the result of every row."""
    workshop = Workshop(folder)
    with Rig(Bench(), folder, "virtual") as rig:
        for number, row in enumerate(rows):
            yield run_row(row, workshop, rig, folder / f"{number:02}")


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line a row; exit code 1 where fewer are caught or named than is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.defects", description="Defects put into the firmware: which are caught, and named.")
    parser.add_argument("--rows", default="", metavar="REGEX", help="of whose names or parts a piece matches (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    options = parser.parse_args(argv)
    rows = [row for row in ROWS if re.search(options.rows, row.name) or re.search(options.rows, row.part)]
    done = []
    with tempfile.TemporaryDirectory() as folder:
        for result in results(rows, Path(folder)):
            done.append(result)
            mark = "named " if result.named else "caught" if result.caught else "UNSEEN"
            print(f"{mark} {result.seconds:5.1f} s  {result.part}: {result.name}  [{', '.join(result.names)}] {result.said}", flush=True)
            if options.json is not None:
                options.json.write_text(to_json(done))
    caught, named = (sum(getattr(one, what) for one in done) for what in ("caught", "named"))
    print(f"\n{caught} of {len(done)} caught, {named} named")
    return int(caught < CAUGHT * len(done) or named < NAMED * len(done))


def to_json(done: Sequence[Result]) -> str:
    """Return mutations.json."""
    caught, named = (sum(getattr(one, what) for one in done) for what in ("caught", "named"))
    return json.dumps({"rows": [asdict(one) for one in done], "of": len(done), "caught": caught, "named": named}, indent=1) + "\n"
