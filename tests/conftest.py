"""What the tests need beside the rig, looked for and set once, before anything is collected."""

from __future__ import annotations

import importlib.util

import pytest

NEEDED = (
    "hypothesis",
    "jsonschema",
)  # of the extra `test`; the modules of the extra `virtual` are skipped for by the tests that need them


def pytest_configure(config: pytest.Config) -> None:
    """End with one sentence where the extra is not installed, and load the profile of hypothesis.

    Under xdist this comes before any worker is started. Bench tests need neither.
    """
    if config.getoption("board", None):
        return
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise pytest.UsageError(
            f"the tests need {' and '.join(missing)}: pip install -e '.[test]' (a run with --board=NAME does not need them)."
        )
    from hypothesis import settings

    settings.register_profile("trainrig", settings.default, deadline=None)  # a busy computer is no defect
    settings.load_profile("trainrig")
