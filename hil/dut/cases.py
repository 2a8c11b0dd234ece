"""Read the report of a test framework that a device prints."""

from __future__ import annotations

import pexpect

from hil.dut.case_reports.formats import reader_of
from hil.dut.case_reports.report import TITLES, CaseReader, CaseReport, CasesFailed, Truncated
from hil.dut.dut_serial import DutSerial
from hil.dut.expectations import Unexpected
from hil.dut.record import DutRecord
from hil.errors import Blocked
from hil.link.received_words import is_text, words

TIMEOUT_S = 60.0


def read_cases(serial: DutSerial, record: DutRecord, name: str, timeout: float | None = TIMEOUT_S) -> CaseReport:
    """Read a report up to its end, and note it in the record; other lines may stand in it.

    Args:
        serial: the port.
        record: of the device.
        name: `unity`, `googletest` or `ctest`.
        timeout: for the whole report, in seconds; None waits for ever.

    Raises:
        CasesFailed: a case failed, or none ran.
        Truncated: the report is cut off, has no case, or its summary contradicts its cases.
        NotSeen: nothing came at all (`DutSerial.expect`).
        RigError: there is no format of this name.
    """
    reader = reader_of(name)
    try:
        report = _whole(serial, reader, timeout)
    except Truncated as truncated:
        record.cut_off.append(str(truncated))
        raise
    record.reports.append(report)
    if not report.passed:
        raise CasesFailed(report.sentence, report)
    return report


def _whole(serial: DutSerial, reader: CaseReader, timeout: float | None) -> CaseReport:
    """Return the report. What ends too early is the device's fault, as soon as the device has printed anything."""
    ends, lines = serial.deadline(timeout), 0
    while not reader.ended:
        if lines and ends.is_over:  # also if lines come without end
            raise _cut_off(reader, f"within {timeout:g} s", serial, b"", None)
        try:
            line = serial.next_line(f"a line of a {TITLES[reader.format]} report", timeout, ends)
        except pexpect.TIMEOUT as late:
            rest = bytes(serial.before)
            if not lines and (not rest or isinstance(late, Blocked)):
                raise
            raise _cut_off(reader, f"within {timeout:g} s", serial, rest, late) from late
        except pexpect.EOF as gone:
            if isinstance(gone, Blocked):  # the port is at fault, not the device
                raise
            raise _cut_off(reader, "before its program ended", serial, bytes(serial.before), gone) from gone
        lines += 1
        reader.feed(line.decode("utf-8", "replace"))
    return reader.report()


def _cut_off(
    reader: CaseReader, when: str, serial: DutSerial, rest: bytes, error: BaseException | None
) -> Truncated:  # fmt: skip
    title, line = TITLES[reader.format], serial.recent.rstrip().rpartition(b"\n")[2]
    recent = serial.recent if is_text(line) else line  # bytes that are no text may be few among words
    last = f"; the last line is cut off: {words(rest)}" if rest else f"; its last words are {words(recent)}"
    found = error.found if isinstance(error, Unexpected) and error.found else ""
    also = f"; {found.rstrip('.')}" if found else ""
    return Truncated(f"the device did not end its {title} report {when}: {reader.so_far}{last}{also}.")
