"""The summary in Markdown, as the step summary of GitHub and its relatives takes it (GitHub Flavored Markdown).

Text from the record is only ever in code spans. In these a renderer interprets nothing: no HTML, no link, no mention of
a person. It is in no table, because a `|` ends a cell also within a code span.
"""

from __future__ import annotations

import re

from hil.commit import short_commit
from hil.report.judgement import Problem
from hil.report.overview import ORDER
from hil.summary.summary import RunSummary, reality_words
from hil.summary.words import (
    budget_words,
    change_words,
    cost_words,
    device_words,
    duration,
    figure_words,
    flaky_words,
    one_line,
    unjudged_words,
)

MOST = 50  # entries of a list: a step summary is dropped as a whole above 1 MiB


def markdown(summary: RunSummary) -> str:
    """Return the summary; every list in it has at most MOST entries."""
    parts = [f"## trainrig\n\n**{summary.sentence}**", _counts(summary)]
    parts += _section("Boards in quarantine", [code(sentence) for sentence in summary.quarantined])
    parts += _section("What is wrong", [_problem(problem) for problem in summary.problems])
    parts += _since(summary)
    parts += _section("Missing from the record", [code(sentence) for sentence in summary.missing])
    budgets = [f"{code(missed.board)}: {budget_words(missed)}: {code(missed.trial)}" for missed in summary.budgets]
    parts += _section("Budgets missed", budgets)
    parts += _section("Trials in which nothing moved", [code(folder) for folder in summary.still])
    places = [
        f"{code(place.board)}: {reality_words(place.reality)}; {place.passed} of {place.trials} trials pass"
        for place in summary.places
    ]
    parts += _section("Boards", places)
    parts += [f"{cost_words(summary.costs)}."] if summary.costs else []
    parts += _section("RAM: the most bytes that a trial used", [code(sentence) for sentence in summary.ram])
    parts += [summary.coverage] if summary.coverage else []
    return "\n\n".join([*parts, _origin(summary)]) + "\n"


def _since(summary: RunSummary) -> list[str]:
    """Return what changed since the last good night, and the flaky tests."""
    since = summary.since
    if since is None:
        return []
    entries = [f"{word['what']} of {code(word['test'])}: {code(change_words(word))}" for word in since["words"]]
    shown = [figure for figure in since["figures"] if figure["shown"]]
    entries += [f"{code(figure['name'])} of {code(figure['folder'])}: {figure_words(figure)}" for figure in shown]
    commits = [f"Commits: {code(since['commits'])}"] if since["commits"] else []
    flaky = [f"{code(each['test'])} on {code(each['board'])}: {flaky_words(each)}" for each in since["flaky"]]
    changed = _section("What changed since the last good night", entries)
    return [since["sentence"], *commits, *changed, *_section("Flaky tests", flaky)]


def code(text: str) -> str:
    """Return the text as a code span of one line (CommonMark 0.31, section 6.1)."""
    line = one_line(text) or " "
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def _counts(summary: RunSummary) -> str:
    rows = [f"| {verdict} | {summary.counts[verdict]} |" for verdict in ORDER if summary.counts[verdict]]
    return "\n".join(["| verdict | tests |", "|---|---|", *rows])


def _section(title: str, entries: list[str]) -> list[str]:
    if not entries:
        return []
    more = [f"and {len(entries) - MOST} more"] if len(entries) > MOST else []
    return [f"### {title}\n\n" + "\n".join(f"- {entry}" for entry in [*entries[:MOST], *more])]


def _problem(problem: Problem) -> str:
    stage = f", stage {code(problem.stage)}" if problem.stage else ""
    on = f" on {code(problem.board)} ({reality_words(problem.reality)})" if problem.board else ""
    lines = [f"**{problem.verdict}**, {problem.where}{stage}: {code(problem.test)}{on}", f"Why: {code(problem.reason)}"]
    lines += [f"Again: {code(problem.repeat)}"] if problem.repeat else []
    return "\\\n  ".join(lines)  # a backslash at the end of a line is a line break


def _origin(summary: RunSummary) -> str:
    commit = f", commit {code(short_commit(summary.commit))}" if summary.commit else ""
    unjudged = unjudged_words(summary)
    steps = f"{summary.steps_compared:,} steps were compared bit for bit{device_words(summary)}."
    return f"Run {code(summary.run)}{commit}, {duration(summary.seconds)}. {steps}{f' {unjudged}.' if unjudged else ''}"
