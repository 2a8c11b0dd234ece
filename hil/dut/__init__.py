"""The device under test: any firmware on any board, made live (docs/dut.md)."""

from hil.dut.case_reports import CaseReport, CasesFailed, ReportedCase, Truncated, report_of
from hil.dut.core import Frame, Returned
from hil.dut.dut import Dut, opened
from hil.dut.dut_serial import DutSerial
from hil.dut.energy import Energy
from hil.dut.expectations import CommandEnded, PortGone, Quiet, Unexpected, Unreadable
from hil.dut.printed import Incomplete
from hil.dut.record import DutRecord

__all__ = [
    "CaseReport",
    "CasesFailed",
    "CommandEnded",
    "Dut",
    "DutRecord",
    "DutSerial",
    "Energy",
    "Frame",
    "Incomplete",
    "PortGone",
    "Quiet",
    "ReportedCase",
    "Returned",
    "Truncated",
    "Unexpected",
    "Unreadable",
    "opened",
    "report_of",
]
