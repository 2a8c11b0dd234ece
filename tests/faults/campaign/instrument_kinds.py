"""Faults within a meter, and of what it looks at: a row of the table of tests/faults/instruments, by the real driver over TCP, without a board."""

from __future__ import annotations

import math

import numpy as np

from tests.faults.instruments.rows import CLEAN, ROWS
from tests.faults.instruments.scenario import Result, run
from tests.faults.instruments.table import flags_of, source, usual

from .fault import Fault, Kind, Measured

FAULTY = [row for row in ROWS if not row.held]
MISSED = "missed"  # the interval of 95 % does not hold the truth, as one in twenty may
FAR = 2.67  # half widths of the interval of 95 % in that of 99.9 %: Student's t of six windows, whose tails are the longest
CLEAN_TRIALS = 2  # of the same instrument without a fault, whose sentences name none


def _draw(rng: np.random.Generator, measured: Measured) -> Fault:
    row = FAULTY[int(rng.integers(len(FAULTY)))]
    number = int(rng.integers(1000))
    return Fault("meter: instrument", f"{row.name}, trial {number}", "instrument", row.name, options={"number": number})


def outcome_of(fault: Fault) -> tuple[str, str]:
    """Return how a meter's trial ended, and why.

    `pass`: the interval of 95 % holds the truth; `flagged`: it does not, and a sentence names the fault; `missed`: it does not, and that of 99.9 %
    does (`misses_allowed` bounds how often); `blocked`; `wrong verdict`.
    """
    row = next(row for row in FAULTY if row.name == fault.act)
    result: Result = run(row, fault.options["number"])
    if result.blocked:
        return "blocked", result.blocked
    if result.covers:
        return "pass", ""
    clean = [one for one in CLEAN if source(one) == source(row)]
    known = usual({one.name: [run(one, number) for number in range(CLEAN_TRIALS)] for one in clean})
    flags = flags_of(row, result, known.get(source(row), set()))
    if flags:
        return "flagged", flags[0]
    told = f"the energy is {result.ratio:.4f} of the truth, its half width {result.half:.4f}"
    if abs(result.ratio - 1) <= FAR * result.half:
        return MISSED, told
    return "wrong verdict", f"{told}, and nothing is said: {result.assumptions}"


def misses_allowed(trials: int) -> int:
    """Return how many of so many intervals of 95 % miss at most, but for one chance in a thousand: the quantile of a binomial distribution."""
    least, below = -1, 0.0
    while below < 0.999:
        least += 1
        below += math.comb(trials, least) * 0.05**least * 0.95 ** (trials - least)
    return least


INSTRUMENT_KINDS = (
    Kind("meter: instrument", "instrument", _draw),
) * 4  # as many faults as four kinds: there are many rows
