"""The device under test: any firmware on any board, made live (docs/dut.md)."""

from hil.dut.case_reports import CaseReport, CasesFailed, ReportedCase, Truncated, report_of
from hil.dut.core import Frame
from hil.dut.dut import Dut, opened
from hil.dut.dut_serial import DutSerial
from hil.dut.energy import KEPT_POWER, Energy
from hil.dut.expectations import CommandEnded, PortGone, Quiet, Unexpected, Unreadable
from hil.dut.hang_diagnosis import Hang
from hil.dut.printed import Incomplete
from hil.dut.record import DutRecord
from hil.dut.returned import Returned
from hil.dut.stack_paint import UNPAINTED
from hil.dut.unclaimed_ram import ComparedRam, UnclaimedRam
from hil.targets.core_probe import CoreProbe
from hil.targets.probe import ChipUnreachable

__all__ = [
    "KEPT_POWER",
    "UNPAINTED",
    "CaseReport",
    "CasesFailed",
    "ChipUnreachable",
    "CommandEnded",
    "ComparedRam",
    "CoreProbe",
    "Dut",
    "DutRecord",
    "DutSerial",
    "Energy",
    "Frame",
    "Hang",
    "Incomplete",
    "PortGone",
    "Quiet",
    "ReportedCase",
    "Returned",
    "Truncated",
    "UnclaimedRam",
    "Unexpected",
    "Unreadable",
    "opened",
    "report_of",
]
