"""Reports of Unity, GoogleTest and CTest, as a device or a program prints them (docs/how-to/side-by-side.md)."""

from hil.dut.case_reports.formats import FORMATS, report_of
from hil.dut.case_reports.report import CaseReader, CaseReport, CasesFailed, ReportedCase, Truncated

__all__ = ["FORMATS", "CaseReader", "CaseReport", "CasesFailed", "ReportedCase", "Truncated", "report_of"]
