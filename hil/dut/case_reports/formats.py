"""The formats by their names."""

from __future__ import annotations

from collections.abc import Mapping

from hil.dut.case_reports.ctest import CTestReader
from hil.dut.case_reports.googletest import GoogleTestReader
from hil.dut.case_reports.report import CaseReader, CaseReport, Truncated
from hil.dut.case_reports.unity import UnityReader
from hil.errors import RigError, close_matches

FORMATS: Mapping[str, type[CaseReader]] = {
    reader.format: reader for reader in (UnityReader, GoogleTestReader, CTestReader)
}


def reader_of(name: str) -> CaseReader:
    """Return a new reader of a format.

    Raises:
        RigError: there is no format of this name.
    """
    if name not in FORMATS:
        raise RigError(f"there is no format {name!r} of test reports: {close_matches(str(name), FORMATS)}")
    return FORMATS[name]()


def report_of(name: str, text: str) -> CaseReport:
    """Return the report in a text, such as the output of a program; of several, one with the cases of all.

    Only lines with their end count.

    Args:
        name: `unity`, `googletest` or `ctest`.
        text: the output.

    Raises:
        Truncated: a report is not whole, has no case, or contradicts itself.
        RigError: there is no format of this name.
    """
    reader, whole = reader_of(name), list[CaseReport]()
    for line in text.split("\n")[:-1]:
        ended = reader.feed(line)
        if reader.late and whole and whole[-1].passed:
            raise Truncated(reader.late_sentence)
        if ended:
            whole.append(reader.report())
            reader = reader_of(name)
    if not whole or reader.cases or reader.running:  # the last one is cut off
        whole.append(reader.report())
    cases = tuple(case for report in whole for case in report)
    return CaseReport(name, cases, tuple(sentence for report in whole for sentence in report.outside))
