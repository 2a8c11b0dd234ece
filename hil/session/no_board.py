"""A session without --board: its tests that need a board are skipped, with a warning or an error."""

from __future__ import annotations

import pytest

NO_BOARD = "name a board: --board=stm32h7b3"


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
