"""SECURITY.md: every test that it names is there, and every promise names one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows() -> list[str]:
    """The promises, one a row of the tables."""
    lines = [line for line in (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [line for line in lines if line not in ("| promise | test |", "|---|---|")]


def functions_of(path: Path) -> set[str]:
    return {
        node.name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    }


def test_every_promise_names_tests_that_are_there() -> None:
    assert len(rows()) > 10
    for row in rows():
        named = NAMED.findall(row)
        assert named and row.count("::") == len(named), row
        for file, test in named:
            assert test in functions_of(ROOT / file), f"{file} has no {test}"


def test_no_test_is_named_outside_the_table() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert len(NAMED.findall(text)) == sum(len(NAMED.findall(row)) for row in rows())
