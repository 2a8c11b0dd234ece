"""The summary where forges show it beside the code: workflow commands of GitHub, links of GitLab's job page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from hil.report.judgement import Problem
from hil.summary.summary import RunSummary
from hil.summary.words import fault, one_line

MOST = 10  # annotations of a level that GitHub shows for a step; the first of a level may be the sentence
LEVELS = {"fine": "notice", "cannot tell": "warning", "not fine": "error"}


def github_commands(summary: RunSummary, folder: str = "", lines: Mapping[str, int] | None = None) -> list[str]:
    """Return workflow commands, a line each: the sentence, errors for what is wrong, warnings for what was blocked.

    Args:
        summary: of the run.
        folder: where the tests' paths begin, relative to the root of the repository.
        lines: of the tests in their files, as far as known; the record has none.
    """
    commands = [_command(LEVELS[summary.judgement], summary.sentence, title="trainrig")]
    blocked = [problem for problem in summary.problems if problem.verdict == "blocked"]
    others = [problem for problem in summary.problems if problem.verdict != "blocked"]
    for level, problems in (("error", others), ("warning", blocked)):
        commands += _level(level, problems, folder, lines or {})
    return commands


def _level(level: str, problems: Sequence[Problem], folder: str, lines: Mapping[str, int]) -> list[str]:
    room = MOST - 1
    shown = problems if len(problems) <= room else problems[: room - 1]
    commands = []
    for problem in shown:
        place = {"file": PurePosixPath(folder, problem.file).as_posix()}
        if problem.test in lines:
            place["line"] = str(lines[problem.test])
        commands.append(_command(level, f"{problem.test}: {problem.reason}", **place, title=fault(problem)))
    if len(shown) < len(problems):
        message = f"{len(problems) - len(shown)} more tests: see the step summary or the report."
        commands.append(_command(level, message, title="trainrig"))
    return commands


def _command(name: str, message: str, **properties: str) -> str:
    """Return a workflow command, escaped as the runner's own toolkit does."""
    pairs = ",".join(f"{key}={_escaped(value, '%:,')}" for key, value in properties.items())
    return f"::{name} {pairs}::{_escaped(message, '%')}"


def _escaped(text: str, characters: str) -> str:
    line = one_line(text)
    for character in characters:  # `%` first
        line = line.replace(character, f"%{ord(character):02X}")
    return line


def gitlab_links(summary: RunSummary, link: str) -> str:
    """Return the report `annotations` of a GitLab job: its page then shows the sentence as a link to the report."""
    return json.dumps({"trainrig": [{"external_link": {"label": summary.sentence, "url": link}}]}) + "\n"
