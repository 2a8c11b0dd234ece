"""The end of the terminal output: the table of verdicts, what is missing, and the path of the report."""

from __future__ import annotations

import pytest

from hil.record.verdicts import VERDICTS, Totals, totals
from hil.session.recorder import Recorder
from hil.trial.terminal import verdict_table

NO_BOARD = "name a board: --board=stm32h7b3"


def write(reporter: pytest.TerminalReporter, recorder: Recorder) -> None:
    """Write the section of the run, unless it was discarded."""
    if recorder.discarded:
        return
    tests, trials = recorder.run.tests, recorder.run.trials
    reporter.section("trainrig")
    for line in verdict_table(tests, trials, reporter._tw.fullwidth):
        reporter.write_line(line)
    counted = totals(test.verdict for test in tests)
    words = ", ".join(f"{counted[verdict]} {verdict}" for verdict in VERDICTS if counted[verdict])
    reporter.write_line(
        f"{counted['all']} tests with trials: {words or 'none ran'}; {len(trials)} trials.", **_colour(counted)
    )
    for sentence in recorder.missing:
        reporter.write_line(f"MISSING from the record: {sentence}", red=True, bold=True)
    for sentence in recorder.notes:
        reporter.write_line(f"history: {sentence}", yellow=True)
    if not recorder.run.facts["whole"]:
        reporter.write_line(f"the run is incomplete: {_why(recorder, counted)}", red=True, bold=True)
    page = recorder.run.folder / "index.html"
    without_page = f"record: {recorder.run.folder} (the report could not be written)"
    reporter.write_line(f"report: {page}" if page.is_file() else without_page)


def _why(recorder: Recorder, counted: Totals) -> str:
    if counted["interrupted"]:
        return f"{counted['interrupted']} of {counted['all']} tests did not end."
    return "a part of its record is missing." if recorder.missing else "it was interrupted."


def _colour(counted: Totals) -> dict[str, bool]:
    if any(counted[verdict] for verdict in ("fail", "refused", "interrupted")):
        return {"red": True}
    return {"green": True} if counted["pass"] and not counted["blocked"] else {"yellow": True}


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
