"""Choose the tests of a run, and plan every test that runs trials."""

from __future__ import annotations

from typing import Any

import pytest

from hil.errors import printable
from hil.record import AskedTest
from hil.session import summary
from hil.session.options import SUITE, TIERS, command
from hil.session.recorder import RECORDER, write_plan
from hil.session.run_trial import WRITER
from hil.session.tracker import TRACKER, Tracker

FIXTURES = {"hil_board", "hil_trial"}  # a test that uses one of them runs trials


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test that uses `hil_board` on each named board."""
    if "hil_board" in metafunc.fixturenames:
        skipped = [pytest.param("", marks=pytest.mark.skip(reason=summary.NO_BOARD))]
        metafunc.parametrize("hil_board", metafunc.config.getoption("board") or skipped)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of the nightly tier in the quick tier."""
    chosen = TIERS.index(config.getoption("tier"))
    late = [item for item in items if any(TIERS.index(mark.args[0]) > chosen for mark in item.iter_markers("tier"))]
    if late:
        config.hook.pytest_deselected(items=late)
        items[:] = [item for item in items if item not in late]


@pytest.hookimpl(tryfirst=True)  # before a worker reports that its collection is complete
def pytest_collection_finish(session: pytest.Session) -> None:
    """Plan every test that runs trials, so that the record lists it even if it never runs."""
    config = session.config
    if WRITER not in config.stash:
        return
    planned = []
    for item in session.items:
        runs_trials = bool(FIXTURES & set(getattr(item, "fixturenames", ())))
        tracker = item.stash[TRACKER] = Tracker(_entry(item), runs_trials)
        if runs_trials:
            planned.append((item.nodeid, tracker.entry))
    if RECORDER in config.stash:
        config.stash[RECORDER].plan(planned)
        return
    try:
        write_plan(config.stash[WRITER].folder, planned)
    except OSError as error:
        warning = pytest.PytestWarning(f"the list of tests could not be written: {error}")
        config.issue_config_time_warning(warning, 2)


def _entry(item: pytest.Item) -> AskedTest:
    """Return the entry of a test. The name of a bench test does not depend on where it is run."""
    name = item.nodeid
    callspec = getattr(item, "callspec", None)
    board = callspec.params.get("hil_board") if callspec is not None else None
    words: tuple[str, ...] = (name,)
    if item.path.parent == SUITE:
        tail = name.partition("::")[2]
        name, words = f"hil/suite/{item.path.name}::{tail}", ("--pyargs", f"hil.suite.{item.path.stem}::{tail}")
    named = board if isinstance(board, str) else None
    return AskedTest(test=printable(name), board=named, repeat=command(item.config, words, board))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    """Take the plan that the workers wrote."""
    if RECORDER in node.config.stash:
        node.config.stash[RECORDER].plan_of_workers()
