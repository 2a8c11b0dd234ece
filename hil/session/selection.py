"""Choose the tests of a session: by board and by tier. Without --board, those that need one are skipped, and said."""

from __future__ import annotations

import pytest

from hil.session.options import TIERS

NO_BOARD = "name a board: --board=stm32h7b3"


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


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With --require-board, fail the session if tests need a board and none is named."""
    config = session.config
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if config.getoption("require_board") and reporter is not None and without_board(reporter):
        session.exitstatus = pytest.ExitCode.USAGE_ERROR


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the tests that were skipped, in the process that reports."""
    if not config.getoption("board") and not hasattr(config, "workerinput"):
        warn_without_board(terminalreporter, config.getoption("require_board"))


def warn_without_board(reporter: pytest.TerminalReporter, required: bool) -> None:
    """Warn about the tests that were skipped because no board was named."""
    names = without_board(reporter)
    if not names:
        return
    reporter.section("trainrig: no board was named", red=required, yellow=not required, bold=True)
    for name in names:
        reporter.write_line(f"NOT RUN: {name}", red=required, yellow=not required)
    cause = "--require-board needs one." if required else "--require-board makes this an error."
    sentence = f"{len(names)} tests need a board and ran on none: nothing was checked. Use --board=stm32h7b3. {cause}"
    reporter.write_line(sentence, red=required, yellow=not required)


def without_board(reporter: pytest.TerminalReporter) -> list[str]:
    """Return the node ids of the tests that were skipped because no board was named."""
    return [
        report.nodeid for report in reporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and report.longrepr[2].removeprefix("Skipped: ") == NO_BOARD
    ]  # fmt: skip
