"""At the end of a session, the summary of its run for the forge whose job this is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hil.record import read_run
from hil.session.recorder import RunRecorder

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"  # file to which a step appends Markdown
ACTIONS = "GITHUB_ACTIONS"  # `true` where the output is searched for workflow commands
WORKSPACE = "GITHUB_WORKSPACE"  # the checkout


def write(reporter: pytest.TerminalReporter, config: pytest.Config, recorder: RunRecorder) -> None:
    """Append the step summary, and print annotations, where the forge asks for them (GitHub, Gitea, Forgejo)."""
    file, commands = os.environ.get(STEP_SUMMARY), os.environ.get(ACTIONS) == "true"
    if recorder.discarded or not (file or commands):
        return
    try:
        from hil.summary import annotations, markdown, summary_of

        summary = summary_of(read_run(recorder.run.folder))
        if file:
            with Path(file).open("a", encoding="utf-8") as out:
                out.write(markdown.markdown(summary))
        for line in annotations.github_commands(summary, _folder(config), recorder.lines) if commands else ():
            reporter.write_line(line)
    except Exception as error:  # the verdicts stand, and so does the exit code
        reporter.write_line(f"the summary for the forge could not be written: {error}", yellow=True)


def _folder(config: pytest.Config) -> str:
    """Return where paths of tests begin, relative to the checkout."""
    workspace = os.environ.get(WORKSPACE)
    inside = workspace is not None and config.rootpath.is_relative_to(workspace)
    return config.rootpath.relative_to(workspace).as_posix() if inside and workspace is not None else ""
