"""What the tests need beside the rig, looked for once, before anything is collected."""

from __future__ import annotations

import importlib.util

import pytest

NEEDED = ("hypothesis", "jsonschema")  # of the extra `test`; the modules of the extra `virtual` are skipped for by the tests that need them


def pytest_configure(config: pytest.Config) -> None:
    """End with one sentence where the extra is not installed; under xdist before any worker is started. Bench tests do not need it."""
    if config.getoption("board", None):
        return
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise pytest.UsageError(f"the tests need {' and '.join(missing)}: pip install -e '.[test]' (a run with --board=NAME does not need them).")
