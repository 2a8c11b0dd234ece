"""Measure an experiment on one worker and on two, by turns: python -m tests.integration.cluster.speed [--turns N]

Eight equal runs are trained on a computer that does nothing else: of ElasticZO, whose epochs take hundredths of a
second, so that the files of each count, and of Poor Man's Training, whose epochs take a second. Workers have begun and
have trained one run before the clock starts. Every turn measures both numbers of workers, in alternating order. Exit
code 1 if the median of the ratios of the second is below what is asked for.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from hil.arguments import positive_count
from hil.cluster import Workers
from hil.training.data import load
from hil.training.experiments.curve import write_run
from hil.training.experiments.exponents import ExponentRun
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.kinds import Run
from hil.training.experiments.pool import Pool, RunLines
from tests.by_turns import median_ratio

ASKED = 1.85
DATA = "fashion-mnist-1k"
GIVEN = (("train", "pointwise"), ("perturb", "node"), ("gns", 1), ("qas", 1), ("queries", 10))
LONG = "long epochs"
RUNS: dict[str, Run] = {
    "short epochs": ExponentRun(DATA, "int8", "cls1", seed=1, epochs=240, batch=50, r_max=15),
    LONG: GraphRun(
        DATA, "speed", "speed", seed=1, epochs=8, batch=100, network="resnet-tiny", method="poor-mans-training",
        given=GIVEN, eta=0.01,
    ),
}  # fmt: skip


def folders(runs: Path, like: Run, count: int, epochs: int) -> list[Path]:
    """Make the folders of runs that differ in their seed only."""
    made = []
    for seed in range(1, count + 1):
        run = replace(like, seed=seed, epochs=epochs)
        (folder := runs / run.name).mkdir(parents=True)
        write_run(folder, run, load(run.data).sha256)
        made.append(folder)
    return made


def seconds(like: Run, workers: int, *, runs: int) -> float:
    """Return the wall time of the training of so many such runs on so many workers."""
    with tempfile.TemporaryDirectory() as place, Workers(workers) as some:
        pool = Pool(some, RunLines(Console(quiet=True)))
        pool.train(folders(Path(place, "first"), like, workers, epochs=1))
        wanted = folders(Path(place, "runs"), like, runs, like.epochs)
        began = time.monotonic()
        pool.train(wanted)
        return time.monotonic() - began


def main() -> int:
    """Print a line a turn, and the median, for each kind of run."""
    parser = argparse.ArgumentParser(description="One worker and two, by turns.")
    parser.add_argument("--turns", type=positive_count, default=5, metavar="N", help="default: 5")
    parser.add_argument("--runs", type=positive_count, default=8, metavar="N", help="of each experiment (default: 8)")
    options = parser.parse_args()
    found = {}
    for name, like in RUNS.items():
        print(name)
        measured = partial(seconds, like, runs=options.runs)
        found[name] = median_ratio("worker", measured, options.turns, ASKED)
    return int(found[LONG] < ASKED)


if __name__ == "__main__":
    sys.exit(main())
