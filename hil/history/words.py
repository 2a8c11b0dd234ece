"""Values and steps of the history in words, for the terminal and the page."""

from __future__ import annotations

import math

from hil.history.changes import Change
from hil.history.overview import QuantityLine


def value_words(value: float, unit: str) -> str:
    """Return a value with its unit; a whole number in full."""
    whole = math.isfinite(value) and value == int(value) and abs(value) < 1e15
    return f"{int(value):,} {unit_words(unit)}".rstrip() if whole else f"{value:.6g} {unit_words(unit)}".rstrip()


def unit_words(unit: str) -> str:
    """Return a unit, empty for a plain number."""
    return "" if unit == "1" else unit


def last_words(line: QuantityLine) -> str:
    """Return the last value of a quantity with its standard uncertainty."""
    if line.last is None:
        return "not a number"
    if line.uncertainty is None:
        return value_words(line.last, line.unit)
    return f"{value_words(line.last, '')} ± {line.uncertainty:.2g} {unit_words(line.unit)}".rstrip()


def step_words(change: Change) -> str:
    """Return a step, such as `0.1 s -> 0.102 s (+2.0 %) between RUN and RUN, commits A..B`."""
    point, unit = change.point, change.series.unit
    commits = f", commits {point.commits}" if point.commits else ""
    return (
        f"{value_words(point.before, unit)} -> {value_words(point.after, unit)} ({100 * point.relative:+.1f} %) "
        f"between {point.last_before.name} and {point.first_after.name}{commits}"
    )
