"""How many tests a command line names at most, from the text of their files: two workers for one test are waste."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

DEFAULT_NAMES = ["test"]  # of pytest's setting python_functions
UNKNOWN = re.compile(r"parametrize|params\s*=|pytest_generate_tests|getfixturevalue|pytest_plugins")


def tests_at_most(config: pytest.Config) -> int | None:
    """Return how many tests the command line names at most on one board; None if only collecting them could tell.

    A plugin may make more of them. They all run then, in fewer workers.
    """
    if config.args_source is not pytest.Config.ArgsSource.ARGS or config.getini("python_functions") != DEFAULT_NAMES:
        return None
    counts = [_tests_in(*argument.partition("::")[::2]) for argument in config.args]
    return None if None in counts else sum(count for count in counts if count is not None)


def _tests_in(path: str, names: str) -> int | None:
    """Return how many tests a file has at most; `names` are those of a class and a function, empty for all."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError, RecursionError):
        return None
    if UNKNOWN.search(text) or any(map(_brings_others, ast.walk(tree))):
        return None
    found = list(_test_functions(tree))
    return sum(name == names.rpartition("::")[2] for name in found) or len(found) if names else len(found)


def _test_functions(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node.name


def _brings_others(node: ast.AST) -> bool:
    """Return whether a file may have tests of another one: by a base class, or by their import."""
    if isinstance(node, ast.ImportFrom):
        return any(each.name == "*" or each.name.lower().startswith("test") for each in node.names)
    return isinstance(node, ast.ClassDef) and bool(node.bases or node.keywords)
