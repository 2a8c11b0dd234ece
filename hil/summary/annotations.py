"""The summary where forges show it beside the code: workflow commands of GitHub, links of GitLab's job page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath

from hil.summary.one_line import one_line
from hil.summary.summary import Problem, Summary
from hil.summary.words import fault

MOST = 10  # annotations of a level that GitHub shows for a step; the first of a level may be the sentence
LEVELS = {"fine": "notice", "cannot tell": "warning", "not fine": "error"}


def github_commands(summary: Summary, folder: str = "") -> list[str]:
    """Return workflow commands, a line each: the sentence, errors for what is wrong, warnings for what was blocked.

    Args:
        summary: of the run.
        folder: where the tests' paths begin, relative to the root of the repository.
    """
    lines = [_command(LEVELS[summary.judgement], summary.sentence, title="trainrig")]
    blocked = [problem for problem in summary.problems if problem.verdict == "blocked"]
    others = [problem for problem in summary.problems if problem.verdict != "blocked"]
    return lines + _level("error", others, folder) + _level("warning", blocked, folder)


def _level(level: str, problems: Sequence[Problem], folder: str) -> list[str]:
    room = MOST - 1
    shown = problems if len(problems) <= room else problems[: room - 1]
    lines = []
    for problem in shown:
        line = {} if problem.line is None else {"line": str(problem.line)}
        file = PurePosixPath(folder, problem.file).as_posix()
        message = f"{problem.test}: {problem.reason}"
        lines.append(_command(level, message, file=file, **line, title=fault(problem)))
    if len(shown) < len(problems):
        message = f"{len(problems) - len(shown)} more tests: see the step summary or the report."
        lines.append(_command(level, message, title="trainrig"))
    return lines


def _command(name: str, message: str, **properties: str) -> str:
    """Return a workflow command, escaped as the runner's own toolkit does."""
    pairs = ",".join(f"{key}={_escaped(value, '%:,')}" for key, value in properties.items())
    return f"::{name} {pairs}::{_escaped(message, '%')}"


def _escaped(text: str, characters: str) -> str:
    line = one_line(text)
    for character in characters:  # `%` first
        line = line.replace(character, f"%{ord(character):02X}")
    return line


def gitlab_links(summary: Summary, link: str) -> str:
    """Return the report `annotations` of a GitLab job: its page then shows the sentence as a link to the report."""
    return json.dumps({"trainrig": [{"external_link": {"label": summary.sentence, "url": link}}]}) + "\n"
