"""The summary as plain text of at most ten lines, for mail and chat."""

from __future__ import annotations

from hil.commit import short_commit
from hil.record.since_last_good import SinceLastGood
from hil.summary.summary import RunSummary, reality_words
from hil.summary.words import (
    budget_words,
    change_words,
    cost_words,
    device_words,
    duration,
    fault,
    figure_words,
    one_line,
    unjudged_words,
)

MOST_LINES = 10
MOST_QUARANTINED = 2  # boards; the first line has the number of all
WIDTH, LONGEST_LINK = 200, 2000  # characters of a line


def text_lines(summary: RunSummary, link: str = "") -> list[str]:
    """Return the lines; the first is the sentence, and fits as the subject of a mail.

    Args:
        summary: of the run.
        link: address of the report, for the last line.
    """
    head = [summary.sentence, *summary.quarantined[:MOST_QUARANTINED], _boards(summary)]
    since = [summary.since["sentence"]] if summary.since is not None else []
    tail = [*_budgets(summary), *_still(summary), *since, _origin(summary)]
    last = [f"Report: {one_line(link, LONGEST_LINK)}"] if link else []
    problems = [f"{fault(each)}: {each.test}: {each.reason}" for each in summary.problems]
    problems += [f"missing from the record: {sentence}" for sentence in summary.missing]
    room = MOST_LINES - len(head) - len(tail) - len(last)
    if summary.costs and len(problems) < room:  # what is wrong is more important
        tail, room = [f"{cost_words(summary.costs)}.", *tail], room - 1
    if summary.coverage and len(problems) < room:
        tail, room = [summary.coverage, *tail], room - 1
    if len(problems) < room and summary.since is not None:
        tail[-1:-1] = _changes(summary.since, room - len(problems))
    if len(problems) > room:
        problems = [*problems[: room - 1], f"and {len(problems) - room + 1} more"]
    return [*(one_line(line, WIDTH) for line in (*head, *problems, *tail)), *last]


def _changes(since: SinceLastGood, most: int) -> list[str]:
    """Return what changed since the last good night, but verdicts, in at most so many lines."""
    words = [each for each in since["words"] if each["what"] != "verdict"]
    named = [f"{each['what']} of {each['test']}: {change_words(each)}" for each in words]
    shown = [each for each in since["figures"] if each["shown"]]
    named += [f"{each['name']} of {each['folder']}: {figure_words(each)}" for each in shown]
    return named if len(named) <= most else [*named[: most - 1], f"and {len(named) - most + 1} more changes"]


def _boards(summary: RunSummary) -> str:
    places = [
        f"{place.board} ({reality_words(place.reality)}) {place.passed} of {place.trials}" for place in summary.places
    ]
    return f"Trials that pass: {'; '.join(places)}." if places else "No trial ran on any board."


def _budgets(summary: RunSummary) -> list[str]:
    if not summary.budgets:
        return []
    more = f", and {len(summary.budgets) - 1} more" if len(summary.budgets) > 1 else ""
    return [f"Budgets missed: {summary.budgets[0].board}: {budget_words(summary.budgets[0])}{more}."]


def _still(summary: RunSummary) -> list[str]:
    """Return a line about trials that trained nothing; none without any."""
    if not summary.still:
        return []
    more = f", and {len(summary.still) - 1} more" if len(summary.still) > 1 else ""
    return [f"Nothing moved: every trained number is what it was before in {summary.still[0]}{more}."]


def _origin(summary: RunSummary) -> str:
    commit = f", commit {short_commit(summary.commit)}" if summary.commit else ""
    unjudged = unjudged_words(summary)
    steps = f"{summary.steps_compared:,} steps compared bit for bit{device_words(summary)}"
    return f"Run {summary.run}{commit}, {duration(summary.seconds)}, {steps}.{f' {unjudged}.' if unjudged else ''}"
