"""`hil bench lab`: a night of a large lab in virtual time, with labgrid's scheduler and a real history."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from hil.benchmarks.lab import figures
from hil.benchmarks.lab.checks import conservation, littles_law, theory
from hil.benchmarks.lab.figures import LabFigure
from hil.benchmarks.lab.limits import Limit, grow, limits
from hil.benchmarks.lab.model import Lab
from hil.benchmarks.lab.night import LabNight, simulate
from hil.benchmarks.lab.options import TRIALS
from hil.benchmarks.lab.reading import read
from hil.benchmarks.lab.store import Verdicts, missing_or_double, prepare, together, write
from hil.benchmarks.lab.wire import measure
from hil.errors import RigError
from hil.history.address import address_of

ARRIVALS = 4000  # of the M/M/c
SMALL = 0.1  # the share of the night after which the readers are measured the first time


def main(options: argparse.Namespace) -> int:
    """Run the benchmark; return 1 if a check of the simulation fails.

    Args:
        options: those of hil/benchmarks/lab/options.py, `trials` and `json`.

    Raises:
        RigError: labgrid is not installed, or the database is not empty.
    """
    if find_spec("labgrid") is None:
        raise RigError(
            "`hil bench lab` runs labgrid's coordinator, and labgrid is not here: pip install 'trainrig[labgrid]'."
        )
    lab = Lab(
        options.boards, options.exporters, options.trials or TRIALS, options.runs, options.clients,
        0.0 if options.network_ports else Lab.start_s, options.seed,
    )  # fmt: skip
    shown = _Shown(options.json)
    with tempfile.TemporaryDirectory() as folder:
        url = options.database or f"sqlite:///{folder}/history.sqlite"
        prepare(address_of(url, Path(folder)))  # first: a database that is refused must not cost an hour
        _say(f"night of {lab.boards:,} boards, {lab.trials:,} trials")
        night = simulate(lab)
        shown.add(figures.of_queues(night))
        wire = measure(lab.boards)
        shown.add(figures.of_coordinator(night, wire))
        problems, rate = _database(url, Path(folder), night, shown)
    problems += conservation(night)
    _say("checks")
    little, waits = littles_law(night), theory(ARRIVALS, seed=options.seed)
    shown.add(figures.of_checks(little, waits, problems))
    problems += [] if little.holds else ["Little's law does not hold"]
    problems += [] if waits.holds else ["the mean wait of M/M/c is not that of Erlang C"]

    def used(other: Lab) -> list[Limit]:
        _say(f"night of {other.boards:,} boards")
        return limits(simulate(other), wire, rate)

    sizes = grow(lab, limits(night, wire, rate), used)
    shown.add(figures.of_sizes(sizes))
    shown.end(figures.verdict(sizes), problems)
    return 1 if problems else 0


def _database(url: str, reports: Path, night: LabNight, shown: _Shown) -> tuple[list[str], float]:
    """Write the night in two parts and read it after each; return what is wrong, and the trials a second."""
    verdicts: Verdicts = {run.number: {} for run in night.runs}
    for trial in night.trials:
        verdicts[trial.run][trial.index] = trial.verdict
    address = address_of(url, reports)
    cut = max(1, round(SMALL * len(night.runs)))
    parts, reads, problems = [], [], []
    writers = max(2, os.cpu_count() or 1)
    for runs in (night.runs[:cut], night.runs[cut:]):
        if runs:
            _say(f"writing {sum(len(run.durations) for run in runs):,} trials to {address.shown}")
            parts.append(write(url, reports, 0, runs, {run.number: verdicts[run.number] for run in runs}, writers))
            reads.append(read(address))
            problems += parts[-1].problems
    written = together(parts)
    rate = written.trials / written.seconds
    shown.add(figures.of_database(night, written, rate))
    if len(reads) == 2:
        shown.add(figures.of_readers(reads[0], reads[1], len(night.trials)))
    return problems + missing_or_double(address, 0, night.runs, verdicts), rate


class _Shown:
    """The figures so far, printed at once or, as JSON, at the end."""

    def __init__(self, as_json: bool) -> None:
        self._as_json, self._figures = as_json, list[LabFigure]()

    def add(self, found: Iterable[LabFigure]) -> None:
        """Print the figures, or keep them."""
        for figure in found:
            self._figures.append(figure)
            if not self._as_json:
                print(figures.line_of(figure), flush=True)

    def end(self, sentence: str, problems: list[str]) -> None:
        """Print what breaks first, and what is wrong with the simulation."""
        if self._as_json:
            rows = [asdict(figure) for figure in self._figures]
            print(json.dumps({"breaks_first": sentence, "problems": problems, "figures": rows}, indent=1))
            return
        print(sentence)
        for problem in problems:
            print(f"wrong: {problem}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
