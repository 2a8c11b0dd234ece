"""Phrases that the forms of a summary share."""

from __future__ import annotations

from collections.abc import Sequence

from hil.record.since_last_good import ChangedFigure, ChangedWord, FlakyTest
from hil.report.formats import NO_BREAK
from hil.report.judgement import Problem
from hil.report.overview import CostRange
from hil.summary.summary import MissedBudget, RunSummary, reality_words

LONGEST = 400  # characters of a name or a reason


def fault(problem: Problem) -> str:
    """Return the verdict and what is at fault, such as `blocked, rig, stage flash`."""
    stage = f", stage {problem.stage}" if problem.stage else ""
    return f"{problem.verdict}, {problem.where}{stage}"


def budget_words(missed: MissedBudget) -> str:
    """Return the figure beside its budget, with its provenance."""
    figures = f"{_figure(missed.value)} {missed.unit}, the budget is {_figure(missed.budget)} {missed.unit}"
    return f"{missed.figure} is {figures} ({missed.provenance}, {reality_words(missed.reality)})"


def device_words(summary: RunSummary) -> str:
    """Return how many steps device tests compared, empty for none."""
    count = summary.steps_of_devices
    return f", {count:,} with references and tolerances of the tests" if count else ""


def unjudged_words(summary: RunSummary) -> str:
    """Return how many budgets were not judged, empty for none."""
    if not summary.unjudged:
        return ""
    budgets = "latency budget was" if summary.unjudged == 1 else "latency budgets were"
    return f"{summary.unjudged} {budgets} not judged: the cycles are modelled"


def cost_words(costs: Sequence[CostRange]) -> str:
    """Return what a step costs, each figure or range with its provenances."""
    figures = [f"{cost.name} {cost.value.replace(NO_BREAK, ' ')} ({', '.join(cost.words)})" for cost in costs]
    return f"Costs: {'; '.join(figures)}"


def change_words(word: ChangedWord) -> str:
    """Return a verdict or a digest before and after."""
    return f"{word['before'] or 'none'}, now {word['after'] or 'none'}"


def figure_words(figure: ChangedFigure) -> str:
    """Return a figure before and after, with the 95 % interval of the difference and its provenance."""
    relative = "" if figure["relative"] is None else f", {100 * figure['relative']:+.3g} %"
    interval = f"difference {figure['low']:.4g} to {figure['high']:.4g}"
    unit = "" if figure["unit"] == "1" else f" {figure['unit']}"
    values = f"{_figure(figure['before'])}, now {_figure(figure['after'])}{unit}"
    return f"{values}{relative} ({figure['provenance']}; {interval}; {figure['sentence']})"


def flaky_words(flaky: FlakyTest) -> str:
    """Return how often a test ended badly, and whose fault it is."""
    share = f"{100 * flaky['low']:.0f} to {100 * flaky['high']:.0f} %"
    return f"bad in {flaky['bad']} of {flaky['nights']} nights ({share}), fault: {flaky['fault']}"


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


def one_line(text: str, longest: int = LONGEST) -> str:
    """Return the text with each run of white space as one space, and cut if it is longer than `longest` characters.

    What is not printable becomes its Python escape: control characters and ANSI sequences, characters that change the
    direction of writing, half characters. The result has neither line ends nor spaces at its ends.
    """
    kept = " ".join(text[: 4 * longest].split())  # a hostile record may have megabytes
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in kept)
    return shown if len(shown) <= longest else f"{shown[: longest - 1].rstrip()}…"
