"""Read the report of a test framework that a device prints."""

from __future__ import annotations

from collections.abc import Callable

import pexpect

from hil.dut.case_reports.formats import reader_of
from hil.dut.case_reports.report import TITLES, CaseReader, CaseReport, CasesFailed, Truncated
from hil.dut.dut_serial import DutSerial
from hil.dut.expectations import Unexpected, Unreadable
from hil.dut.printed import PASSED
from hil.dut.record import DutRecord
from hil.dut.requests import check_timeout
from hil.errors import Blocked
from hil.link.received_words import is_text, words

TIMEOUT_S = 60.0
QUIET_S, MOST_S = 0.3, 2.0  # at the end of a test: until a device that prints nothing has ended, and one that goes on


def read_cases(serial: DutSerial, record: DutRecord, name: str, timeout: float | None = TIMEOUT_S) -> CaseReport:
    """Read a report up to its end, and note it in the record; other lines may stand in it.

    Whole reports that came before it, which the test has read itself, are noted too.

    Args:
        serial: the port.
        record: of the device.
        name: `unity`, `googletest` or `ctest`.
        timeout: for the whole report, in seconds; None waits for ever.

    Raises:
        CasesFailed: a case failed, or none ran.
        Truncated: the report is cut off, has no case, or its summary contradicts its cases.
        NotSeen: nothing came at all (`DutSerial.expect`).
        RigError: there is no format of this name, or the time-out is none.
    """
    reader = reader_of(name)
    check_timeout(timeout)
    earlier = record.reports[-1].format if record.reports else name
    taken, _ = _judge_parts(record, earlier, serial.followed())  # of one that is not whole, this call reads the rest
    try:
        report = _whole(serial, reader, timeout)
    except Truncated as truncated:
        found = Truncated(f"{str(truncated).rstrip('.')}{_taken(taken, name)}.")
        record.cut_off.append(str(found))
        raise found from truncated
    finally:
        _note_late(record, reader)
        serial.follow()
    record.reports.append(report)
    if not report.passed:
        raise CasesFailed(report.sentence, report)
    return report


def judge_later(serial: DutSerial, record: DutRecord) -> None:
    """Note the reports that came after the last one that `read_cases` read: of other suites, or after a reset.

    Call it at the end of a test: what came and was not read is taken, and what the test has read itself counts too. A
    report that repeats another is noted once, one that is not whole in `cut_off`.
    """
    if not record.reports:
        return
    serial.take_settled(QUIET_S, MOST_S)
    reader, rest = _judge_parts(record, record.reports[-1].format, serial.followed())
    if reader.cases or reader.running:
        serial.put_back(rest)
        _note(record, lambda: _whole(serial, reader, TIMEOUT_S, begun=True))
        serial.follow()


def _judge_parts(record: DutRecord, name: str, parts: list[bytes]) -> tuple[CaseReader, bytes]:
    """Note the reports of a format in what came; return the reader of what is not whole, and the rest of its line.

    A reset has ended what is not whole in a part before the last one.
    """
    reader, rest = reader_of(name), b""
    for part in parts:
        *lines, rest = part.split(b"\n")
        reader = reader_of(name)
        for line in lines:
            ended = reader.feed(line.decode("utf-8", "replace"))
            _note_late(record, reader)
            if ended:
                _note(record, reader.report)
                reader = reader_of(name)
    return reader, rest


def _taken(begun: CaseReader, name: str) -> str:
    """Return, as part of a sentence, how many cases of the report the test has read itself before; empty for none."""
    count = len(begun.cases)
    if begun.format != name or not count:
        return ""
    cases = "case" if count == 1 else "cases"
    return f"; the test had read {count} {cases} before, by dut.lines, expect or read: call dut.cases before these"


def _note_late(record: DutRecord, reader: CaseReader) -> None:
    """Note what the reader of the next report found of the last one, unless this failed anyhow."""
    if reader.late and record.reports and record.reports[-1].passed and reader.late_sentence not in record.cut_off:
        record.cut_off.append(reader.late_sentence)


def _note(record: DutRecord, whole: Callable[[], CaseReport]) -> None:
    try:
        report = whole()
    except Truncated as truncated:
        record.cut_off.append(str(truncated))
        return
    if report not in record.reports:
        record.reports.append(report)


def _whole(serial: DutSerial, reader: CaseReader, timeout: float | None, begun: bool = False) -> CaseReport:
    """Return the report. What ends too early is the device's fault, as soon as the device has printed anything.

    With `begun`, it has printed a part of this report already.
    """
    ends, lines, passed = serial.deadline(timeout), int(begun), b""
    title = TITLES[reader.format]
    while not reader.ended:
        if lines and ends.is_over:  # also if lines come without end
            raise _cut_off(reader, f"within {timeout:g} s", serial, b"", None)
        try:
            line = serial.next_line(f"a line of a {title} report", timeout, ends, passed)
        except pexpect.TIMEOUT as late:
            rest = bytes(serial.before)
            if isinstance(late, Unreadable) or (not lines and (not rest or isinstance(late, Blocked))):
                raise
            raise _cut_off(reader, f"within {timeout:g} s", serial, rest, late) from late
        except pexpect.EOF as gone:
            if isinstance(gone, Blocked):  # the port is at fault, not the device
                raise
            raise _cut_off(reader, "before its program ended", serial, bytes(serial.before), gone) from gone
        lines, passed = lines + 1, (passed + line + b"\n")[-PASSED:]
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
