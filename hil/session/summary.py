"""What the terminal shows at the end: the verdict table, what is missing, and where the report is."""

from __future__ import annotations

import pytest

from hil.record.asked import VERDICTS, totals
from hil.session.ledger import Ledger
from hil.trial.terminal import verdict_table

NO_BOARD = "name a board: --board=stm32h7b3"


def write(reporter: pytest.TerminalReporter, ledger: Ledger) -> None:
    """Write the section of a run; of one that was none, nothing."""
    if ledger.discarded:
        return
    tests, trials = ledger.run.tests, ledger.run.trials
    reporter.section("trainrig")
    for line in verdict_table(tests, trials, reporter._tw.fullwidth):
        reporter.write_line(line)
    counted = totals(test.verdict for test in tests)
    words = ", ".join(f"{counted[verdict]} {verdict}" for verdict in VERDICTS if counted[verdict])
    reporter.write_line(
        f"{counted['all']} tests asked for a trial: {words or 'none ran'}; {len(trials)} trials.", **_colour(counted)
    )
    for sentence in ledger.missing:
        reporter.write_line(f"MISSING from the record: {sentence}", red=True, bold=True)
    if not ledger.run.facts["whole"]:
        reporter.write_line(f"the run is not whole: {_why(ledger, counted)}", red=True, bold=True)
    page = ledger.run.folder / "index.html"
    reporter.write_line(
        f"report: {page}" if page.is_file() else f"record: {ledger.run.folder} (no page could be written)"
    )


def _why(ledger: Ledger, counted: dict[str, int]) -> str:
    if counted["interrupted"]:
        return f"{counted['interrupted']} of {counted['all']} tests did not come to an end."
    return "part of its record is missing." if ledger.missing else "it was interrupted."


def _colour(counted: dict[str, int]) -> dict[str, bool]:
    if any(counted[verdict] for verdict in ("fail", "refused", "interrupted")):
        return {"red": True}
    return {"green": True} if counted["pass"] and not counted["blocked"] else {"yellow": True}


def warn_without_board(reporter: pytest.TerminalReporter, required: bool) -> None:
    """Warn of the tests that were skipped because no board was named."""
    names = without_board(reporter)
    if not names:
        return
    reporter.section("trainrig: no board was named", red=required, yellow=not required, bold=True)
    for name in names:
        reporter.write_line(f"NOT RUN: {name}", red=required, yellow=not required)
    cure = "--require-board makes that an error." if not required else "--require-board asks for one."
    reporter.write_line(
        f"{len(names)} tests ask for a board and ran on none: nothing was checked. Name one with --board=stm32h7b3. {cure}",
        red=required,
        yellow=not required,
    )


def without_board(reporter: pytest.TerminalReporter) -> list[str]:
    """Return the node ids of the tests that were skipped because no board was named."""
    return [
        report.nodeid for report in reporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and report.longrepr[2].removeprefix("Skipped: ") == NO_BOARD
    ]  # fmt: skip
