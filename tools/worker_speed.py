"""Measure an experiment on one worker and on two, by turns: python tools/worker_speed.py [--turns N]

Eight equal runs are trained on a computer that does nothing else. Workers have begun and have trained one run before
the clock starts. Every turn measures both numbers of workers, in alternating order. Exit code 1 if the median of the
ratios is below what is asked for.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from hil.arguments import positive_count
from hil.cluster import Workers
from hil.data import load
from hil.experiments.curve import write_run
from hil.experiments.exponents import ExponentRun
from hil.experiments.pool import Pool
from hil.experiments.progress import RunLines

ASKED = 1.85
RUN = ExponentRun("fashion-mnist-1k", "int8", "cls1", seed=1, epochs=60, batch=50, r_max=15)


def folders(runs: Path, count: int, epochs: int = RUN.epochs) -> list[Path]:
    """Make the folders of runs that differ in their seed only."""
    made = []
    for seed in range(1, count + 1):
        run = replace(RUN, seed=seed, epochs=epochs)
        (folder := runs / run.name).mkdir(parents=True)
        write_run(folder, run, load(run.data).sha256)
        made.append(folder)
    return made


def seconds(workers: int, runs: int) -> float:
    """Return the wall time of the training of so many runs on so many workers."""
    with tempfile.TemporaryDirectory() as place, Workers(workers) as some:
        pool = Pool(some, RunLines(Console(quiet=True)))
        pool.train(folders(Path(place, "first"), workers, epochs=1))
        wanted = folders(Path(place, "runs"), runs)
        began = time.monotonic()
        pool.train(wanted)
        return time.monotonic() - began


def main() -> int:
    """Print a line a turn, and the median."""
    parser = argparse.ArgumentParser(description="One worker and two, by turns.")
    parser.add_argument("--turns", type=positive_count, default=5, metavar="N", help="default: 5")
    parser.add_argument("--runs", type=positive_count, default=8, metavar="N", help="of each experiment (default: 8)")
    options = parser.parse_args()
    ratios = []
    for turn in range(options.turns):
        times = {workers: seconds(workers, options.runs) for workers in ((1, 2) if turn % 2 else (2, 1))}
        ratios.append(times[1] / times[2])
        print(f"one worker {times[1]:.1f} s, two {times[2]:.1f} s, ratio {ratios[-1]:.3f}", flush=True)
    found = statistics.median(ratios)
    print(f"median of {options.turns} ratios: {found:.3f}, asked for: {ASKED}")
    return int(found < ASKED)


if __name__ == "__main__":
    sys.exit(main())
