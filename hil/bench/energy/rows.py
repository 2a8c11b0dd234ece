"""The rows of `hil bench energy`: for every meter with a virtual twin, what both intervals cover."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from zlib import crc32

import numpy as np

from hil.bench.energy.case import Case, algorithm, commensurate, draw
from hil.bench.energy.served import KEYS
from hil.bench.energy.trial import Judged, run
from hil.errors import Blocked, RigError, close_matches
from hil.measure.data_sheet import DataSheet, load_data_sheet

TRIALS = 100
BEYOND = 4.0  # times the limits of the data sheet
FURTHER = {"rigol-dp832a": 16.0, "tc66c": 16.0}  # whose few instants scatter by more than four times their limits
WITHIN, OUTSIDE, ALGORITHM = "within the data sheet", "beyond the data sheet", "no errors, 1 kS/s, 10 s"
COMMENSURATE, JITTERED = "step 10 ms, polls 10 ms", "step 10 ms, polls jitter"
POLLED = ("polled-scpi", "rigol-dp832a")  # whose driver chooses when, a hundred times a second
JITTERING = (*POLLED, "tc66c")  # whose driver chooses when
FEW = 10  # trials of the algorithm's own error: nothing is left to chance but the load


@dataclass(frozen=True)
class Row:
    """One figure of the benchmark.

    Attributes:
        meter, case: of which instrument, drawn from what.
        trials: how many gave a result, which all else is of.
        coverage_mc, coverage_gum: share of the trials whose 95 % interval holds the truth: Monte Carlo, GUM.
        width_ratio: GUM's width over Monte Carlo's, the largest of all trials.
        max_error: relative error of the largest.
        aliased: share of the trials that were flagged so.
        spoiled: windows of them that were thrown away and taken again.
        blocked: trials that gave no result.
    """

    meter: str
    case: str
    trials: int
    coverage_mc: float
    coverage_gum: float
    width_ratio: float
    max_error: float
    aliased: float
    spoiled: int = 0
    blocked: int = 0


def row(key: str, case: str, trials: int, seed: int = 1) -> Row:
    """Run the trials of one row."""
    return summary(key, case, judged(key, case, range(trials), seed))


def judged(key: str, case: str, numbers: Iterable[int], seed: int = 1) -> list[Judged | Blocked]:
    """Run the trials of some numbers, each with a seed of its own, and none with that of another meter: what one met says nothing about the next."""
    sheet = load_data_sheet(key)
    found: list[Judged | Blocked] = []
    for number in numbers:
        try:
            found.append(try_once(sheet, case, number, seed))
        except Blocked as error:
            print(f"{key}, {case}, trial {number}: {error}", file=sys.stderr)
            found.append(error)
    return found


def summary(key: str, case: str, found: Sequence[Judged | Blocked]) -> Row:
    """Return the row of trials that were run, some of which may have given no result.

    Raises:
        RigError: none gave one.
    """
    trials = [one for one in found if isinstance(one, Judged)]
    if not trials:
        raise RigError(f"none of {len(found)} trials of {key}, {case}, gave a result: see the reasons above.")
    return Row(
        key, case, len(trials), _share(trials, "in_mc"), _share(trials, "in_gum"), max(trial.width_ratio for trial in trials),
        max(trial.error for trial in trials), _share(trials, "aliased"), sum(trial.spoiled for trial in trials), len(found) - len(trials),
    )  # fmt: skip


_CASES: dict[str, Callable[[DataSheet, np.random.Generator], Case]] = {
    WITHIN: draw,
    OUTSIDE: lambda sheet, rng: draw(sheet, rng, FURTHER.get(sheet.key, BEYOND)),
    ALGORITHM: algorithm,
    COMMENSURATE: commensurate,
    JITTERED: commensurate,
}


def try_once(sheet: DataSheet, case: str, number: int, seed: int = 1) -> Judged:
    """Run one trial of a row."""
    rng = np.random.default_rng([seed, number, crc32(sheet.key.encode())])
    driver: dict[str, Any] = (
        {"seed": int(rng.integers(2**31))} if sheet.key in JITTERING else {}
    )  # polls that jitter alike would err alike
    if case == COMMENSURATE:
        driver["jitter"] = 0.0
    return run(sheet, _CASES[case](sheet, rng), rng, **driver)


def _share(trials: Sequence[Judged], name: str) -> float:
    return sum(getattr(one, name) for one in trials) / len(trials)


def rows(keys: Sequence[str], trials: int) -> Iterator[Row]:
    """Run all rows of some meters.

    Raises:
        RigError: a key that no twin has.
    """
    for key in keys or KEYS:
        if key not in KEYS:
            raise RigError(f"there is no virtual meter {key!r}: {close_matches(key, KEYS)}")
        yield row(key, WITHIN, trials)
        yield row(key, OUTSIDE, trials)
        if load_data_sheet(key).kind == "integrating":
            yield row(key, ALGORITHM, min(FEW, trials))
        if key in POLLED:
            yield row(key, COMMENSURATE, trials)
            yield row(key, JITTERED, trials)


def main(keys: Sequence[str], trials: int, as_json: bool) -> int:
    """Print the rows."""
    found = []
    for one in rows(keys, trials):
        found.append(asdict(one))
        if not as_json:
            print(
                f"{one.meter:22} {one.case:26} {one.trials:6} trials  Monte Carlo {one.coverage_mc:6.1%}  GUM {one.coverage_gum:6.1%}  "
                f"width {one.width_ratio:.2f}  largest error {one.max_error:.3%}  aliased {one.aliased:.1%}  spoiled {one.spoiled}  blocked {one.blocked}",
                flush=True,
            )
    if as_json:
        print(json.dumps(found, indent=1))
    return 0
