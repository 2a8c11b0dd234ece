"""docs/public-api.md: every name on it is there, with a docstring; nothing of `hil.training.trial.__all__` is missing."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import hil.trial

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/public-api.md").read_text(encoding="utf-8")
BOARDS = ("rp2040", "stm32h7b3")


def section(title: str) -> str:
    """Return the text of the page below a heading."""
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def first_cells(text: str) -> list[str]:
    """Return the name that each row of the tables begins with."""
    return re.findall(r"^\| `([\w.]+)` \|", text, re.M)


NAMES = first_cells(section("Python"))
FIXTURES = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", section("pytest"), re.M))


def look_up(name: str) -> Any:
    """Return what a dotted name stands for: attributes of the longest part of it that is a module."""
    module, _, rest = name.rpartition(".")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError:
        found = look_up(module)
    return getattr(found, rest)


def pytest_says(folder: Path, *options: str) -> str:
    """Run pytest on the tests of a folder and return its output."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_page_states_names() -> None:
    assert len(NAMES) > 20 and len(set(NAMES)) == len(NAMES)
    assert len(FIXTURES) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there_and_says_what_it_is(name: str) -> None:
    found = look_up(name)
    if isinstance(found, (int, str)):
        return  # a number or a word has no docstring of its own
    made_by_dataclass = f"{name.rpartition('.')[2]}("
    assert found.__doc__ and not found.__doc__.startswith(made_by_dataclass), f"{name} has no docstring"


@pytest.mark.parametrize("name", hil.training.trial.__all__)
def test_what_the_room_of_trials_offers_is_on_the_page(name: str) -> None:
    assert f"hil.trial.{name}" in NAMES


def test_every_fixture_is_there_with_its_scope_and_a_docstring(tmp_path: Path) -> None:
    lines = pytest_says(tmp_path, "--fixtures").splitlines()
    there = {}
    for line, following in pairwise(lines):
        if head := re.match(r"(\w+)(?: \[(\w+) scope\])? -- ", line):
            there[head[1]] = head[2] or "function", following.strip()
    for name, scope in FIXTURES.items():
        if scope == "parameter":
            continue
        assert there[name][0] == scope
        assert there[name][1] not in ("", "no docstring available")


@pytest.mark.parametrize("name", [name for name, scope in FIXTURES.items() if scope == "parameter"])
def test_a_parameter_takes_each_board_that_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(f"def test_it({name}):\n    pass\n")
    said = pytest_says(tmp_path, "--collect-only", "-q", *(f"--board={board}" for board in BOARDS), "test_mine.py")
    assert re.findall(r"test_it\[(.+)\]", said) == list(BOARDS)


@pytest.mark.parametrize("file", re.findall(r"`(hil/[\w/.]+)`", PAGE))
def test_every_file_that_it_names_is_there(file: str) -> None:
    assert (ROOT / file).is_file()


@pytest.mark.parametrize("link", re.findall(r"\]\((?!https)([^)#]+)", PAGE))
def test_every_link_leads_somewhere(link: str) -> None:
    assert (ROOT / "docs" / link).is_file()
