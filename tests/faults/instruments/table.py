"""The table: every row so many trials, and whether a result that misses the truth said so.

A miss is silent where the interval does not hold the truth, no sentence names the fault, and nothing was blocked. A
sentence names it that is about the matter of the row, and does not stand beside the same instrument's trials without
a fault too."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from hil.arguments import add_workers
from hil.cluster import Task, Workers
from hil.cluster.options import workers_of

from .rows import CLEAN, ROWS
from .scenario import Result, Scenario, run, sentence

TRIALS, QUICK = 40, 2
ROW, ALL = 35 / 40, 0.94  # of the trials that must not miss silently: of a row, and of all together


@dataclass(frozen=True)
class Row:
    """One row: shares of the trials.

    Attributes:
        bias: mean of energy over truth, less 1, of those that gave a result; NaN where none did.
        worst: the largest of them.
        covered, flagged, blocked, silent: shares of the trials; a trial that is flagged may be covered too.
        thrown: of the trials in which windows were thrown away.
        good: share that is covered, flagged or blocked; of a row that held, covered.
        why: what was said most often.
    """

    name: str
    trials: int
    held: bool
    bias: float
    worst: float
    covered: float
    flagged: float
    thrown: float
    blocked: float
    silent: float
    good: float
    why: str

    @property
    def passes(self) -> bool:
        """The rule of a row."""
        return self.good >= ROW - 1e-9

    def markdown(self) -> str:
        """Return it as a line of Markdown."""
        percent = [
            f"{100 * share:.0f} %" if share else "-"
            for share in (self.covered, self.flagged, self.thrown, self.blocked, self.silent)
        ]
        bias = "-" if np.isnan(self.bias) else f"{100 * self.bias:+.2f} %"
        return f"| {self.name} | {bias} | {' | '.join(percent)} | {'yes' if self.passes else '**no**'} |"


HEAD = "| scenario | bias | covered | flagged | windows thrown away | blocked | silent | holds |\n|---|---|---|---|---|---|---|---|"


def usual(results: dict[str, list[Result]]) -> dict[str, set[str]]:
    """Return of every meter, and of `hil measure`, the sentences that stand beside trials without a fault."""
    said: dict[str, set[str]] = {}
    for clean in CLEAN:
        said[source(clean)] = {
            sentence(text) for one in results.get(clean.name, []) for text in (*one.flags, *one.assumptions)
        }
    return said


def source(scenario: Scenario) -> str:
    """Return whose sentences are compared with whose."""
    return f"{scenario.meter} {scenario.tool}"


def flags_of(scenario: Scenario, result: Result, known: set[str]) -> list[str]:
    """Return the sentences that name the fault."""
    texts = [(text, scenario.always) for text in result.flags] + [(text, False) for text in result.assumptions]
    about = [
        (text, always)
        for text, always in texts
        if scenario.flag and re.search(scenario.flag, text) and not text.startswith("CRASH")
    ]
    return [text for text, always in about if always or sentence(text) not in known]


def row_of(scenario: Scenario, results: Sequence[Result], known: set[str]) -> Row:
    """Return a row from its trials."""
    ratios = np.array([one.ratio for one in results if np.isfinite(one.ratio)])
    flags = [flags_of(scenario, one, known) for one in results]
    covered = np.array([one.covers for one in results])
    blocked = np.array([bool(one.blocked) for one in results])
    flagged = np.array([bool(one) for one in flags])
    silent = ~covered & ~blocked & ~flagged
    said = [sentence(text) for one in flags for text in one] + [sentence(one.blocked) for one in results if one.blocked]
    said += [sentence(text) for one in results for text in one.assumptions if text.startswith("CRASH")]
    return Row(
        scenario.name,
        len(results),
        scenario.held,
        float(np.mean(ratios) - 1) if len(ratios) else np.nan,
        float(ratios[np.argmax(np.abs(ratios - 1))] - 1) if len(ratios) else np.nan,
        float(np.mean(covered)),
        float(np.mean(flagged)),
        float(np.mean([one.thrown > 0 for one in results])),
        float(np.mean(blocked)),
        float(np.mean(silent)),
        float(np.mean(covered)) if scenario.held else float(1 - np.mean(silent)),
        max(set(said), key=said.count) if said else "",
    )


def results_of(
    rows: Sequence[Scenario], trials: int, workers: Workers | None = None
) -> Iterator[tuple[Scenario, list[Result]]]:
    """Yield the trials of each row, first of those without a fault, whose sentences name none; without workers, here."""
    needed = {source(one) for one in rows}
    clean = [one for one in CLEAN if source(one) in needed]
    rows = [*clean, *(one for one in rows if one not in clean)]
    if workers is None:
        yield from ((row, trials_of(row, trials)) for row in rows)
    else:
        tasks = [Task(row.name, trials_of, (row, trials)) for row in rows]
        yield from zip(rows, workers.in_order(tasks), strict=True)


def trials_of(row: Scenario, trials: int) -> list[Result]:
    """Return so many trials of a row."""
    return [run(row, number) for number in range(trials)]


def table(
    rows: Sequence[Scenario],
    trials: int,
    workers: Workers | None = None,
    seen: Callable[[Row, list[Result]], None] | None = None,
) -> list[Row]:
    """Return the rows; `seen` is called with each as soon as its trials are through."""
    done, results = [], {}
    for scenario, some in results_of(rows, trials, workers):
        results[scenario.name] = some
        if scenario in rows:
            done.append(row_of(scenario, some, usual(results)[source(scenario)]))
            if seen is not None:
                seen(done[-1], some)
    return done


def good_of(rows: Sequence[Row]) -> float:
    """Return the share of all trials that do not miss silently."""
    return float(np.average([1 - row.silent for row in rows], weights=[row.trials for row in rows]))


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; exit code 1 where a row does not hold."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.instruments", description="Energy by strict instruments: who misses silently."
    )
    parser.add_argument("--trials", type=int, default=TRIALS, help=f"of every row (default: {TRIALS})")
    parser.add_argument("--rows", default="", metavar="REGEX", help="of whose names a part matches (default: all)")
    add_workers(parser)
    parser.add_argument("--json", action="store_true", help="a row a line as JSON, with all that each trial said")
    options = parser.parse_args(argv)
    rows = [row for row in ROWS if re.search(options.rows, row.name)]
    if not options.json:
        print(HEAD)
    with workers_of(options, lambda line: print(line, file=sys.stderr)) as workers:
        done = table(rows, options.trials, workers, _as_json if options.json else _as_markdown)
    good, trials = good_of(done), sum(one.trials for one in done)
    if not options.json:
        print(
            f"\n{100 * good:.1f} % of {trials} trials are covered, flagged or blocked; {100 * ALL:.0f} % are asked for."
        )
    return int(not all(one.passes for one in done) or good < ALL)


def _as_markdown(row: Row, results: list[Result]) -> None:
    print(row.markdown(), flush=True)


def _as_json(row: Row, results: list[Result]) -> None:
    print(json.dumps({"row": asdict(row), "trials": [asdict(one) for one in results]}, default=float), flush=True)
