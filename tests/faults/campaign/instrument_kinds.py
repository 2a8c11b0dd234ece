"""Faults within a meter, and of what it looks at: a row of the table of tests/faults/instruments, by the real driver over TCP, without a board."""

from __future__ import annotations

import numpy as np

from tests.faults.instruments.rows import CLEAN, ROWS
from tests.faults.instruments.scenario import Result, run
from tests.faults.instruments.table import flags_of, source, usual

from .fault import Fault, Kind, Measured

FAULTY = [row for row in ROWS if not row.held]
CLEAN_TRIALS = 2  # of the same instrument without a fault, whose sentences name none


def _draw(rng: np.random.Generator, measured: Measured) -> Fault:
    row = FAULTY[int(rng.integers(len(FAULTY)))]
    number = int(rng.integers(1000))
    return Fault("meter: instrument", f"{row.name}, trial {number}", "instrument", row.name, options={"number": number})


def outcome_of(fault: Fault) -> tuple[str, str]:
    """Return how a meter's trial ended (`pass`: the interval holds the truth; `flagged`: a sentence names the fault; `blocked`, `wrong verdict`), and why."""
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
    return (
        "wrong verdict",
        f"the energy is {result.ratio:.4f} of the truth, its half width {result.half:.4f}, and nothing is said: {result.assumptions}",
    )


INSTRUMENT_KINDS = (
    Kind("meter: instrument", "instrument", _draw),
) * 4  # as many faults as four kinds: there are many rows
