"""What may be said of a figure beside its budget: within, beyond, or not enough is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hil.errors import RigError
from hil.gates.gate import FigureGate
from hil.quantity import Provenance, Quantity, in_words

PASS, FAIL, INCONCLUSIVE, NOT_JUDGED = "pass", "fail", "inconclusive", "not judged"
SILICON = (Provenance.MEASURED, Provenance.COUNTED)  # other figures say nothing about silicon
COVERAGE = 1.96  # standard uncertainties of a 95 % interval


@dataclass(frozen=True)
class More:
    """What would shrink the uncertainty of a figure.

    Attributes:
        what: such as `energy windows`.
        needed: how many more, until the 95 % interval is within so much of the figure; None if no number is enough.
    """

    what: str
    needed: Callable[[float], int | None]


@dataclass(frozen=True)
class NoMedian:
    """Why there is no median of the last good nights.

    Attributes:
        why: the end of a sentence, without its dot.
        nights: how many more good nights give one; None if more nights do not help.
    """

    why: str
    nights: int | None = None


NO_HISTORY = NoMedian("nothing here reads the history")
GOOD_NIGHTS = "good nights"


@dataclass(frozen=True)
class Judgement:
    """A figure beside its budget.

    Attributes:
        gate: the budget.
        verdict: `pass`, `fail`, `inconclusive` or `not judged`.
        sentence: why, with both values.
        value: the figure; None if the trial has none.
        limit: the budget as a number; None if it is relative and the median of the last good nights is not known.
        more: how many more of `more_of` would decide; None if the verdict is not `inconclusive`, or none would.
    """

    gate: FigureGate
    verdict: str
    sentence: str
    value: Quantity | None = None
    limit: float | None = None
    more: int | None = None
    more_of: str = ""


def judge(
    gate: FigureGate,
    value: Quantity | None,
    coverage: float = COVERAGE,
    median: Quantity | NoMedian = NO_HISTORY,
    more: More | None = None,
) -> Judgement:
    """Judge a figure by its budget, with a guard band of the 95 % interval on both sides of the budget.

    A figure passes if the whole interval is within the budget, and fails if the whole interval is beyond it (JCGM
    106:2012, 8.3, guarded acceptance and rejection). Only measured and counted figures pass or fail.

    Args:
        gate: the budget.
        value: the figure; None if the trial has none.
        coverage: standard uncertainties on each side of the interval.
        median: of the last good nights, for a relative budget, or why there is none.
        more: what would shrink the uncertainty of the figure, if anything.

    Raises:
        RigError: the figure or the median is in another unit than the budget.
    """
    if value is None:
        return Judgement(gate, NOT_JUDGED, f"{gate.name} was not measured; {_budget(gate, None)}.")
    for one in (value, median):
        if isinstance(one, Quantity) and one.unit != gate.figure.unit:
            raise RigError(
                f"{gate.name} is in {one.unit}, its budget in {gate.figure.unit}: this is a defect of trainrig."
            )
    limit, blur = _limit(gate, median)
    if value.provenance not in SILICON:
        declared = value.provenance is Provenance.DECLARED
        why = "a declared figure is judged by no budget" if declared else "budgets are for silicon"
        sentence = f"{begin_of(gate, value, coverage, limit, NOT_JUDGED)}, and {why}."
        return Judgement(gate, NOT_JUDGED, sentence, value, limit)
    if limit is None and isinstance(median, NoMedian):
        begin = begin_of(gate, value, coverage, None, INCONCLUSIVE)
        sentence = f"{begin}, which is not known, because {median.why}{_nights(median.nights)}."
        return Judgement(
            gate, INCONCLUSIVE, sentence, value, None, median.nights, GOOD_NIGHTS if median.nights is not None else ""
        )
    assert limit is not None
    over = value.value - limit if gate.figure.upper else limit - value.value
    guard = math.hypot(coverage * (value.uncertainty or 0.0), COVERAGE * blur)
    verdict = PASS if over <= -guard else FAIL if over > guard else INCONCLUSIVE
    begin = begin_of(gate, value, coverage, limit, verdict)
    if verdict != INCONCLUSIVE:
        return Judgement(gate, verdict, f"{begin}.", value, limit)
    room = math.sqrt(max(over**2 - (COVERAGE * blur) ** 2, 0.0))
    count = more.needed(room) if more is not None and room else None
    what = more.what if more is not None else ""
    sentence = f"{begin}: the uncertainty does not allow a verdict; {_cure(count, what)}."
    return Judgement(gate, INCONCLUSIVE, sentence, value, limit, count, what if count is not None else "")


def begin_of(gate: FigureGate, value: Quantity, coverage: float, limit: float | None, verdict: str) -> str:
    """Return how the sentence of `judge` begins: the figure, and the budget with its limit; arguments as there."""
    about = f"{gate.figure.words} {_with_interval(gate, value, coverage * (value.uncertainty or 0.0))}"
    if value.provenance not in SILICON:
        return f"{about}, {value.provenance.value}; {_budget(gate, limit)}"
    joint = "; " if limit is None else ", but " if verdict == FAIL else ", and "
    return f"{about}{joint}{_budget(gate, limit)}"


def _limit(gate: FigureGate, median: Quantity | NoMedian) -> tuple[float | None, float]:
    """Return the budget as a number, and its standard uncertainty."""
    if gate.relative is None:
        return gate.limit, 0.0
    if isinstance(median, NoMedian):
        return None, 0.0
    return (1 + gate.relative) * median.value, (1 + gate.relative) * (median.uncertainty or 0.0)


def _written(gate: FigureGate, value: float, digits: int = 4) -> str:
    if gate.figure.plain and gate.figure.unit == "1":
        return f"{value:,.{digits}g}"
    return in_words(value, gate.figure.unit, digits)


def _with_interval(gate: FigureGate, value: Quantity, half: float) -> str:
    text = _written(gate, value.value)
    return text if not half else f"{text} ± {_written(gate, half, 2)}"


def _budget(gate: FigureGate, limit: float | None) -> str:
    if gate.relative is None:
        bound = "" if gate.own is None else "at most " if gate.figure.upper else "at least "
        return f"the budget {gate.source} is {bound}{_written(gate, gate.limit or 0.0)}"
    text = f"the budget {gate.source} is {100 * gate.relative:+g} % on the median of the last good nights"
    return text if limit is None else f"{text}, {_written(gate, limit)}"


def _nights(count: int | None) -> str:
    if count is None:
        return ""
    return f"; {count} more {GOOD_NIGHTS if count != 1 else 'good night'} would tell it"


def _cure(count: int | None, what: str) -> str:
    if count is not None:
        return f"{count:,} more {what} would decide"
    return f"more {what} would not decide" if what else "measure it more precisely, or move the budget"
