"""Choose the tests of a session: by board and by tier."""

from __future__ import annotations

import pytest

from hil.session.no_board import NO_BOARD
from hil.session.options import TIERS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test that uses `hil_board` on each named board."""
    if "hil_board" in metafunc.fixturenames:
        skipped = [pytest.param("", marks=pytest.mark.skip(reason=NO_BOARD))]
        metafunc.parametrize("hil_board", metafunc.config.getoption("board") or skipped)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of the nightly tier in the quick tier."""
    chosen = TIERS.index(config.getoption("tier"))
    late = [item for item in items if any(TIERS.index(mark.args[0]) > chosen for mark in item.iter_markers("tier"))]
    if late:
        config.hook.pytest_deselected(items=late)
        items[:] = [item for item in items if item not in late]
