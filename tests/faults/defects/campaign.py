"""The campaign: every defect built, flashed on a virtual board, and what the rig says of it."""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from hil.cluster import Failure, Task, Workers
from hil.errors import RigError
from hil.record.parquet import write_columns
from hil.rig import Rig
from hil.rig_toml import Bench
from hil.training.trial.recording import steps_table, trial_record
from hil.trial import run_trial
from hil.trial.outcome import Outcome
from tests.faults.campaign.record import commit

from . import drawn_campaign, drawn_record
from .build import NotBuilt, Workshop
from .row import BOARD, TRIALS, Row
from .rows import ROWS

CAUGHT, NAMED = 1.0, 0.95  # of all rows: what is asked for
AGAIN = 2  # times that a row whose trial was blocked is tried once more


@dataclass(frozen=True)
class Result:
    """What the rig made of a defect; a row of mutations.json. `tier` is that of the project's test that runs the row."""

    name: str
    part: str
    tier: str
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
    result = functools.partial(Result, row.name, row.part, row.tier, row.trial)
    try:
        image = workshop.build(row.patches, folder / "image.elf")
    except NotBuilt as error:
        return result(False, False, "not built", (), str(error), round(time.monotonic() - began, 1))
    outcome = run_trial(TRIALS[row.trial], rig, folder, image)
    for again in range(AGAIN):  # a busy computer is no verdict
        if outcome.verdict == "blocked":
            outcome = run_trial(TRIALS[row.trial], rig, folder / f"again-{again}", image)
    trial_record(outcome)  # whatever was reported, the record is made
    write_columns(folder / "steps.parquet", steps_table(outcome))
    found = found_in(outcome)
    named = any(re.fullmatch("|".join(row.names), name) and row.what in what for name, what in found)
    fails = outcome.verdict == "fail"
    seconds = round(time.monotonic() - began, 1)
    return result(fails, fails and named, outcome.verdict, tuple(name for name, _ in found), outcome.reason, seconds)


def found_in(outcome: Outcome) -> list[tuple[str, str]]:
    """Return what the outcome names: wrong figures, and the layer of a difference with what of it differs."""
    found = [(figure, "") for figure in outcome.figures.wrong]
    if outcome.difference is not None:
        found.append((outcome.difference.layer, outcome.difference.what))
    return found


@functools.cache
def _own(folder: Path) -> tuple[Workshop, Rig]:
    """Return what a worker keeps from row to row: its copy of the firmware and its rig, which end with its process."""
    place = folder / f"worker-{os.getpid()}"
    place.mkdir()
    return Workshop(place), Rig(Bench(), place, "virtual")


def _row(number: int, folder: Path) -> Result:
    workshop, rig = _own(folder)
    return run_row(ROWS[number], workshop, rig, folder / f"{number:03}")


def results(numbers: Sequence[int], folder: Path, jobs: int) -> Iterator[tuple[int, Result]]:
    """Yield the number of each row and its result, as they end.

    Args:
        numbers: of the rows.
        folder: takes the images and the records.
        jobs: worker processes of this computer, each on a virtual board of its own.
    """
    with Workers(jobs) as workers:
        for task, result in workers.run(Task(ROWS[number].name, _row, (number, folder), number) for number in numbers):
            if isinstance(result, Failure):
                raise RigError(f"the row {task.name} could not be carried out ({result.reason}): {result.traceback}")
            yield task.tag, result


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line a row; exit code 1 where fewer are caught or named than is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.defects", description="Defects put into the firmware: which are caught, and named."
    )
    parser.add_argument(
        "--rows", default="", metavar="REGEX", help="of whose names or parts a piece matches (default: all)"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="J", help="rows at a time (default: 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    drawn = parser.add_argument_group("changes drawn by a program, run by the bench tests of a board")
    drawn.add_argument("--drawn", type=int, metavar="N", help="draw N changes that give another image, and run these")
    drawn.add_argument("--seed", type=int, default=1, metavar="S", help="of the draw (default: 1)")
    drawn.add_argument("--board", default=BOARD, metavar="NAME", help=f"board of the catalogue (default: {BOARD})")
    drawn.add_argument("--resume", action="store_true", help="go on with the rows that --json has of this draw")
    drawn.add_argument(
        "--reach", type=Path, metavar="FILE", help="what each test runs; measured and written if it is not there"
    )
    drawn.add_argument(
        "--controls", type=int, default=0, metavar="K", help="also run the tests that do not reach the first K changes"
    )
    drawn.add_argument(
        "--late", metavar="REGEX", help="run the tests of the nightly tier that match for what the quick tier misses"
    )
    options = parser.parse_args(argv)
    if options.drawn is not None:
        return drawn_campaign.run(options)
    numbers = [
        number
        for number, row in enumerate(ROWS)
        if re.search(options.rows, row.name) or re.search(options.rows, row.part)
    ]
    found: dict[int, Result] = {}
    done: list[Result] = []
    of = commit()
    with tempfile.TemporaryDirectory() as folder:
        for number, result in results(numbers, Path(folder), options.jobs):
            found[number] = result
            done = [found[each] for each in sorted(found)]
            mark = "named " if result.named else "caught" if result.caught else "UNSEEN"
            print(
                f"{mark} {result.seconds:5.1f} s  {result.part}: {result.name}  [{', '.join(result.names)}] {result.said}",
                flush=True,
            )
            if options.json is not None:
                drawn_record.update(options.json, json.loads(to_json(done, of)))
    caught, named = (sum(getattr(one, what) for one in done) for what in ("caught", "named"))
    print(f"\n{caught} of {len(done)} caught, {named} named")
    return int(caught < CAUGHT * len(done) or named < NAMED * len(done))


def to_json(done: Sequence[Result], of: str) -> str:
    """Return mutations.json of the rows that are done, and the commit that they are of."""
    caught, named = (sum(getattr(one, what) for one in done) for what in ("caught", "named"))
    told = {"commit": of, "of": len(done), "caught": caught, "named": named, "rows": [asdict(one) for one in done]}
    return json.dumps(told, indent=1) + "\n"
