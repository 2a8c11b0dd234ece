"""The rows of `hil bench energy`: coverage of both intervals for every meter with a virtual instrument."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from hil.benchmarks.energy.random_case import RANGES_ITSELF, RandomCase, algorithm, commensurate, draw
from hil.benchmarks.energy.trial import Judged, run
from hil.benchmarks.energy.virtual_meters import KEYS, drivable
from hil.benchmarks.rows import show
from hil.cluster import Task, Workers
from hil.energy.data_sheet import DataSheet, load_data_sheet
from hil.errors import Blocked, RigError, close_matches

BEYOND = 4.0  # times the limits of the data sheet
FURTHER = {"rigol-dp832a": 16.0, "tc66c": 16.0}  # their few readings scatter by more than four times the limits
WITHIN, OUTSIDE, ALGORITHM = "within the data sheet", "beyond the data sheet", "no errors, 1 kS/s, 10 s"
RANGING = "ranges change in a window"
COMMENSURATE, JITTERED = "step 10 ms, polls 10 ms", "step 10 ms, polls jitter"
POLLED = ("polled-scpi", "rigol-dp832a")  # the driver polls a hundred times a second
JITTERING = (*POLLED, "tc66c")  # the driver jitters its polls
PART = 20  # trials of a task: seconds, so that it is worth its way
FEW = 10  # trials without instrument errors, where only the load is random


@dataclass(frozen=True)
class EnergyRow:
    """One figure of the benchmark: an instrument, and a distribution of trials."""

    meter: str
    case: str
    trials: int  # number of trials with a result; the other figures are over these
    coverage_mc: float  # share of the trials whose 95 % interval contains the true value: Monte Carlo,
    coverage_gum: float  # and GUM
    width_ratio: float  # largest ratio of GUM's width to Monte Carlo's
    max_error: float  # largest relative error
    aliased: float  # share of the trials flagged as aliased
    spoiled: int = 0  # number of windows that were discarded and repeated
    blocked: int = 0  # number of trials without a result


def judged(key: str, case: str, numbers: Iterable[int], seed: int = 1) -> list[Judged | Blocked]:
    """Run the trials with these numbers. Every trial of every meter has its own seed, so all are independent."""
    sheet = load_data_sheet(key)
    found: list[Judged | Blocked] = []
    for number in numbers:
        try:
            found.append(try_once(sheet, case, number, seed))
        except Blocked as error:
            found.append(error)
    return found


def summary(key: str, case: str, found: Sequence[Judged | Blocked]) -> EnergyRow:
    """Return the row of some trials.

    Raises:
        RigError: none of the trials has a result.
    """
    trials = [one for one in found if isinstance(one, Judged)]
    if not trials:
        raise RigError(f"none of {len(found)} trials of {key}, {case}, gave a result: see the reasons above.")
    coverage = _share([one.in_mc for one in trials]), _share([one.in_gum for one in trials])
    largest = max(trial.width_ratio for trial in trials), max(trial.error for trial in trials)
    spoiled, blocked = sum(trial.spoiled for trial in trials), len(found) - len(trials)
    aliased = _share([one.aliased for one in trials])
    return EnergyRow(key, case, len(trials), *coverage, *largest, aliased, spoiled, blocked)


_CASES: dict[str, Callable[[DataSheet, np.random.Generator], RandomCase]] = {
    WITHIN: draw,
    OUTSIDE: lambda sheet, rng: draw(sheet, rng, FURTHER.get(sheet.key, BEYOND)),
    ALGORITHM: algorithm,
    RANGING: lambda sheet, rng: draw(sheet, rng, one_range=False),
    COMMENSURATE: commensurate,
    JITTERED: commensurate,
}


def try_once(sheet: DataSheet, case: str, number: int, seed: int = 1) -> Judged:
    """Run one trial of a row."""
    rng = np.random.default_rng([seed, number, crc32(sheet.key.encode())])
    driver: dict[str, Any] = {}
    if sheet.key in JITTERING:
        driver["seed"] = int(rng.integers(2**31))  # else all trials would have the same jitter
    if case == COMMENSURATE:
        driver["jitter"] = 0.0
    return run(sheet, _CASES[case](sheet, rng), rng, **driver)


def _share(judged: Sequence[bool]) -> float:
    return sum(judged) / len(judged)


def requests(keys: Sequence[str], trials: int) -> Iterator[tuple[str, str, int]]:
    """Yield meter, case and number of trials of all rows of some meters, without `keys` of all whose library is there.

    Raises:
        RigError: no virtual instrument has this key, or its library is not installed.
    """
    for key in keys or drivable():
        if key not in KEYS:
            raise RigError(f"there is no virtual meter {key!r}: {close_matches(key, KEYS)}")
        yield key, WITHIN, trials
        yield key, OUTSIDE, trials
        if key in RANGES_ITSELF:  # its own error is the resolution of its samples, not that of the evaluation
            yield key, RANGING, trials
        elif load_data_sheet(key).kind == "integrating":
            yield key, ALGORITHM, min(FEW, trials)
        if key in POLLED:
            yield key, COMMENSURATE, trials
            yield key, JITTERED, trials


def rows(keys: Sequence[str], trials: int, workers: Workers) -> Iterator[EnergyRow]:
    """Run all rows of some meters on workers; yield each when it is complete, in the order of `requests`.

    Raises:
        RigError: as `requests`; a trial could not be carried out; or none of a row has a result.
    """
    wanted = list(requests(keys, trials))
    parts = workers.in_order(_task(*request, first) for request in wanted for first in range(0, request[2], PART))
    for key, case, count in wanted:
        found = [one for _ in range(0, count, PART) for one in next(parts)]
        for number, one in enumerate(found):
            if isinstance(one, Blocked):
                print(f"{key}, {case}, trial {number}: {one}", file=sys.stderr)
        yield summary(key, case, found)


def _task(key: str, case: str, trials: int, first: int) -> Task:
    numbers = range(first, min(first + PART, trials))
    return Task(f"{key}, {case}, trials {numbers[0]} to {numbers[-1]}", judged, (key, case, numbers))


def main(keys: Sequence[str], trials: int, as_json: bool, workers: Workers) -> int:
    """Print the rows."""
    return show(rows(keys, trials, workers), as_json, _line_of)


def _line_of(one: EnergyRow) -> str:
    coverage = f"Monte Carlo {one.coverage_mc:6.1%}  GUM {one.coverage_gum:6.1%}  width {one.width_ratio:.2f}"
    rest = f"aliased {one.aliased:.1%}  spoiled {one.spoiled}  blocked {one.blocked}"
    head = f"{one.meter:22} {one.case:26} {one.trials:6} trials"
    return f"{head}  {coverage}  largest error {one.max_error:.3%}  {rest}"
