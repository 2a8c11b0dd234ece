"""The reference of the command line: the commands of `hil` from their parsers, and the options of pytest."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from hil.commands.main import PARSED_HERE, commands, main
from hil.session.options import add_options
from tools.docs_site.markdown import cell, code, page, table

PAGE = "reference/command-line.md"
WIDTH = 80  # characters of a line of usage
INTRODUCTION = """\
# Command line

The commands of `hil`, then the options that trainrig adds to `pytest`. Every command prints the same with `--help`.
[The public API](../public-api.md) says which names and options stay as they are.
"""


class _Found(Exception):
    """Carries the parser out of the command that was about to use it."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser


def parser_of(command: str) -> argparse.ArgumentParser:
    """Return the parser of a command of `hil`, as it is when the command uses it; nothing is run.

    Raises:
        LookupError: the command does not parse its arguments before it does something else.
    """

    def stop(parser: argparse.ArgumentParser, *_: Any) -> None:
        raise _Found(parser)

    if command in PARSED_HERE:
        return _subparsers(_caught("parse_known_args", stop, command))[command]
    return _caught("parse_args", stop, command)


def _caught(method: str, stop: Any, command: str) -> argparse.ArgumentParser:
    try:
        with mock.patch.object(argparse.ArgumentParser, method, stop):
            main([command])
    except _Found as found:
        return found.parser
    raise LookupError(f"hil {command} does not parse its arguments")


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(found[0]) if found else {}


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every command with its parser, those of commands with actions as `network import`."""
    for command in commands():
        parser = parser_of(command)
        actions = _subparsers(parser)
        if not actions:
            yield command, parser
        for action, one in actions.items():
            yield f"{command} {action}", one


def text() -> str:
    """Return the page."""
    parts = [INTRODUCTION, *(part for command in commands() for part in _command(command, parser_of(command)))]
    return page(*parts, *_pytest_options())


def _command(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## hil {name}"
    description = parser.description or commands()[name]
    yield cell(description if description.endswith(".") else f"{description}.")
    actions = _subparsers(parser)
    if not actions:
        yield from _arguments(parser)
        return
    helps = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    said = {choice.dest: choice.help or "" for choice in helps._choices_actions}
    for action, one in actions.items():
        yield f"### hil {name} {action}"
        if said.get(action):
            yield cell(f"{said[action][0].upper()}{said[action][1:]}.")
        yield from _arguments(one)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    formatter = argparse.HelpFormatter(parser.prog, width=WIDTH)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    yield f"```text\n{formatter.format_help().strip()}\n```"
    rows = [
        (code(_invocation(action)), cell(formatter._expand_help(action) if action.help else ""))
        for action in parser._actions
        if not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction))
        and action.help is not argparse.SUPPRESS
    ]
    if rows:
        yield table(("argument", "meaning"), rows)


def _invocation(action: argparse.Action) -> str:
    """Return how an argument is written: its shortest form with its value."""
    if action.choices is not None and action.metavar is None:
        value = "|".join(map(str, action.choices))
    else:
        value = str(action.metavar or (action.dest.upper() if action.option_strings else action.dest))
    if not action.option_strings:
        return f"[{value}]" if action.nargs == "?" else value
    name = action.option_strings[-1]
    if action.nargs == 0:
        return name
    return f"{name}[={value}]" if action.nargs == "?" else f"{name}={value}"


class _Recorder:
    """Stands where pytest gives a plugin its parser, and keeps what the plugin adds."""

    def __init__(self) -> None:
        self.parser = argparse.ArgumentParser(prog="pytest", add_help=False)
        self.ini: list[tuple[str, str]] = []
        self.addoption = self.parser.add_argument

    def getgroup(self, *_: str) -> _Recorder:
        return self

    def addini(self, name: str, help: str, **_: Any) -> None:
        self.ini.append((name, help))


def pytest_parser() -> argparse.ArgumentParser:
    """Return a parser with the options that trainrig adds to pytest, and no others."""
    return _recorded().parser


def _recorded() -> _Recorder:
    recorder = _Recorder()
    with contextlib.suppress(pytest.UsageError):
        add_options(recorder)  # type: ignore[arg-type]
    return recorder


def _pytest_options() -> Iterator[str]:
    recorder = _recorded()
    yield "## pytest"
    yield "The options that trainrig adds to pytest; pytest's own are in `pytest --help`."
    yield from _arguments(recorder.parser)
    yield "In the table `[tool.pytest.ini_options]` of `pyproject.toml`, or in `pytest.ini`:"
    yield table(("key", "meaning"), [(code(name), cell(said)) for name, said in recorder.ini])
