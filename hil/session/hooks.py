"""Hooks by which a plugin of the group `trainrig.pytest` takes part in a session with --board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class BenchTests:
    """Tests that a package brings along.

    Attributes:
        folder: theirs; a package that can be imported.
        runs: whether the firmware can run them.
    """

    folder: Path
    runs: bool


@pytest.hookspec
def pytest_trainrig_bench_tests(config: pytest.Config, boards: Sequence[str]) -> BenchTests:  # type: ignore[empty-body]
    """Return tests that `pytest --board=NAME` runs besides the project's own, if the command names none."""


@pytest.hookspec
def pytest_trainrig_fixtures() -> Sequence[str]:  # type: ignore[empty-body]
    """Return the names of fixtures that use a board: a test that has one of them is recorded."""
