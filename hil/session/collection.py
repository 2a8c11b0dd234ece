"""Plan every test of a run that uses a board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hil.errors import printable
from hil.quick_imports import keep_out_of_searches
from hil.record import AskedTest
from hil.session.options import command
from hil.session.recorder import RECORDER, write_plan
from hil.session.run_state import TRACKER, WRITER
from hil.session.shadows import SHADOWED, check, shadowed
from hil.session.tracker import Tracker

FIXTURES = {"hil_board", "hil_device_use"}  # a test that uses one of them is recorded


@pytest.hookimpl(trylast=True, specname="pytest_collection_finish")
def pytest_collection_is_complete() -> None:
    """Take the tests and the modules that they import out of the searches for garbage."""
    keep_out_of_searches()


@pytest.hookimpl(tryfirst=True)  # before a worker reports that its collection is complete
def pytest_collection_finish(session: pytest.Session) -> None:
    """Plan every test that runs trials, so that the record lists it even if it never runs."""
    config = session.config
    if WRITER not in config.stash:
        return
    if RECORDER in config.stash:
        check(config.rootpath)  # again: the folders of the tests are on the path now
    else:
        config.stash[SHADOWED] = shadowed(config.rootpath)
    found = config.hook.pytest_trainrig_bench_tests(config=config, boards=config.getoption("board"))
    brought = {tests.folder for tests in found}
    planned, fixtures = [], FIXTURES.union(*config.hook.pytest_trainrig_fixtures())
    for item in session.items:
        uses_rig = bool(fixtures & set(getattr(item, "fixturenames", ())))
        budgeted = any(mark.name == "budget" for mark in item.own_markers)
        tracker = item.stash[TRACKER] = Tracker(_entry(item, brought), uses_rig, config.stash[WRITER].folder, budgeted)
        if uses_rig:
            planned.append((item.nodeid, tracker.entry))
    if RECORDER in config.stash:
        config.stash[RECORDER].plan(planned)
        return
    try:
        write_plan(config.stash[WRITER].folder, planned)
    except OSError as error:
        warning = pytest.PytestWarning(f"the list of tests could not be written: {error}")
        config.issue_config_time_warning(warning, 2)


def _entry(item: pytest.Item, brought: set[Path]) -> AskedTest:
    """Return the entry of a test. The name of one that a package brings along does not depend on where it is run."""
    name = item.nodeid
    callspec = getattr(item, "callspec", None)
    board = callspec.params.get("hil_board") if callspec is not None else None
    words: tuple[str, ...] = (name,)
    if item.path.parent in brought:
        tail, package = name.partition("::")[2], _package(item.path.parent)
        name = f"{'/'.join(package)}/{item.path.name}::{tail}"
        words = ("--pyargs", f"{'.'.join(package)}.{item.path.stem}::{tail}")
    named = board if isinstance(board, str) else None
    return AskedTest(test=printable(name), board=named, repeat=command(item.config, words, board))


def _package(folder: Path) -> tuple[str, ...]:
    """Return the names of a package and of those around it, outermost first."""
    around = _package(folder.parent) if (folder.parent / "__init__.py").is_file() else ()
    return (*around, folder.name)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    """Take the plan that the workers wrote."""
    if RECORDER in node.config.stash:
        node.config.stash[RECORDER].plan_of_workers()
