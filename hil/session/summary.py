"""The end of the terminal output: the table of verdicts, what is missing, and the path of the report."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hil.errors import short_path
from hil.record import TrialRecord
from hil.record.device_test import DeviceTest
from hil.record.verdicts import VERDICTS, Totals, totals
from hil.session.recorder import RunRecorder
from hil.session.verdict_table import verdict_table


def write(reporter: pytest.TerminalReporter, recorder: RunRecorder) -> None:
    """Write the section of the run, unless it was discarded."""
    if recorder.discarded:
        return
    tests, trials = recorder.run.tests, recorder.run.trials
    reporter.section("trainrig")
    device_tests = recorder.run.device_tests
    for line in verdict_table(tests, trials, reporter._tw.fullwidth, device_tests):
        reporter.write_line(line)
    counted = totals(test.verdict for test in tests)
    reporter.write_line(counts_line(counted, trials, device_tests), **_colour(counted))
    for sentence in recorder.missing:
        reporter.write_line(f"MISSING from the record: {sentence}", red=True, bold=True)
    for sentence in recorder.notes:
        reporter.write_line(f"history: {sentence}", yellow=True)
    if not recorder.run.facts["whole"]:
        reporter.write_line(f"the run is incomplete: {_why(recorder, counted)}", red=True, bold=True)
    folder = short_path(recorder.run.folder)
    page = folder / "index.html"
    without_page = f"record: {folder} (the report could not be written)"
    reporter.write_line(f"report: {page}" if page.is_file() else without_page)


def counts_line(counted: Totals, trials: Sequence[TrialRecord], device_tests: Sequence[DeviceTest]) -> str:
    """Return how many tests of a run have which verdict, and on how many of them a device or a trial ran."""
    words = ", ".join(f"{counted[verdict]} {verdict}" for verdict in VERDICTS if counted[verdict])
    # others only compare or judge figures; a plugin may repeat a test
    with_device = len({each.test for each in device_tests if each.devices > 0})
    ran = f"{with_device or 'none'} of them on a device" if device_tests else ""
    what = "tests" if device_tests else "tests with trials"
    last = "; ".join(each for each in (ran, f"{len(trials)} trials" if trials or not device_tests else "") if each)
    return f"{counted['all']} {what}: {words or 'none ran'}; {last}."


def _why(recorder: RunRecorder, counted: Totals) -> str:
    if counted["interrupted"]:
        return f"{counted['interrupted']} of {counted['all']} tests did not end."
    return "a part of its record is missing." if recorder.missing else "it was interrupted."


def _colour(counted: Totals) -> dict[str, bool]:
    if any(counted[verdict] for verdict in ("fail", "refused", "interrupted")):
        return {"red": True}
    return {"green": True} if counted["pass"] and not counted["blocked"] else {"yellow": True}
