"""Phrases that the forms of a summary share."""

from __future__ import annotations

from hil.summary.summary import REALITIES, MissedBudget, Problem, Summary

COMMIT = 12  # characters of a commit


def fault(problem: Problem) -> str:
    """Return the verdict and what is at fault, such as `blocked, rig, stage flash`."""
    stage = f", stage {problem.stage}" if problem.stage else ""
    return f"{problem.verdict}, {problem.where}{stage}"


def reality_words(reality: str | None) -> str:
    """Return what stood for a board; a stand-in is always called one."""
    return REALITIES[reality]


def budget_words(missed: MissedBudget) -> str:
    """Return the figure beside its budget, with its provenance."""
    figures = f"{_figure(missed.value)} {missed.unit}, the budget is {_figure(missed.budget)} {missed.unit}"
    return f"{missed.figure} is {figures} ({missed.provenance}, {reality_words(missed.reality)})"


def unjudged_words(summary: Summary) -> str:
    """Return how many budgets were not judged, empty for none."""
    if not summary.unjudged:
        return ""
    budgets = "latency budget was" if summary.unjudged == 1 else "latency budgets were"
    return f"{summary.unjudged} {budgets} not judged: the cycles are modelled"


def duration(seconds: float | None) -> str:
    """Return a time such as `1 h 12 min`."""
    if seconds is None or seconds < 0:
        return "no end recorded"
    minutes = round(seconds / 60)
    if minutes < 2:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
