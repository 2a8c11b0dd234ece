"""Private peripherals of Cortex-M4: system control, breakpoints, cycle counter, ROM table.

Sources: ARM DDI 0403E.e, B3 and C1; ARM DDI 0439B. There are no caches, and the trace unit has no software lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hil.standins.virtual.chip import debug
from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.debug import WordBreakpoints
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.scb import ID, SystemControlBlock

if TYPE_CHECKING:
    from hil.standins.virtual.chip.machine import Machine

CPUID = 0x410FC241  # Cortex-M4 r0p1
MPU_REGIONS = 8
BREAKPOINTS, LITERALS = 6, 2
_M7_ONLY = {
    "CLIDR", "CTR", "CCSIDR", "CSSELR", "MVFR2", "ICIALLU", "ICIMVAU", "DCIMVAC", "DCISW", "DCCMVAU", "DCCMVAC",
    "DCCSW", "DCCIMVAC", "DCCISW", "BPIALL", "ITCMCR", "DTCMCR", "AHBPCR", "CACR", "AHBSCR", "ABFSR",
}  # fmt: skip


def _own(priority_bits: int, interrupts: int) -> dict[str, Register]:
    """Return the registers that differ from those of Cortex-M7, by name."""
    low = 8 - priority_bits

    def priorities(*exceptions: int) -> str:
        return " ".join(f"PRI_{n}:{n % 4 * 8 + low}-{n % 4 * 8 + 7}" for n in exceptions)

    changed = (
        Register("ICTR", 0x004, ID, (interrupts - 1) // 32),
        Register("ACTLR", 0x008, "DISMCYCINT:0 DISDEFWBUF:1 DISFOLD:2 DISFPCA:8 DISOOFP:9"),
        Register("CCR", 0xD14, "NONBASETHRDENA:0 USERSETMPEND:1 UNALIGN_TRP:3/x DIV_0_TRP:4/x BFHFNMIGN:8 STKALIGN:9",
                 0x200),
        Register("SHPR1", 0xD18, priorities(4, 5, 6)), Register("SHPR2", 0xD1C, priorities(11)),
        Register("SHPR3", 0xD20, priorities(12, 14, 15)),
        Register("ID_ISAR0", 0xD60, ID, 0x01141110), Register("ID_ISAR2", 0xD68, ID, 0x21112231),
        Register("ID_ISAR3", 0xD6C, ID, 0x01111110), Register("ID_ISAR4", 0xD70, ID, 0x01310102),
        Register("MVFR0", 0xF40, ID, 0x10110021), Register("MVFR1", 0xF44, ID, 0x11000011),
    )  # fmt: skip
    return {register.name: register for register in changed}


class SystemControlBlockM4(SystemControlBlock):
    """SCB, MPU and FPU registers. The MPU's regions are stored but not enforced.

    Args:
        machine: machine with this core; its `spec` gives the number of interrupts and of priority bits.
    """

    def __init__(self, machine: Machine) -> None:
        own = _own(machine.spec.priority_bits, machine.spec.interrupts)
        self.REGISTERS = tuple(own.get(r.name, r) for r in SystemControlBlock.REGISTERS if r.name not in _M7_ONLY)
        self._bus = machine.bus
        super().__init__(machine, CPUID, 0, 0, MPU_REGIONS)

    def read(self, offset: int, size: int) -> int:
        # Debuggers read registers of later cores there; reserved words read as zero (B3.2.2).
        if self._bus.debugger and offset & ~3 not in self._at:
            return 0
        return super().read(offset, size)


class BreakpointUnitV1(WordBreakpoints):
    """FPB version 1: breakpoint comparators for words below 0x20000000 (C1.11). Remapping is not modelled."""

    PREFIX = "FP"
    REGISTERS = (
        Register("FP_CTRL", 0x000, "ENABLE:0 KEY:1/w NUM_CODE1:4-7/r NUM_LIT:8-11/r NUM_CODE2:12-14/r REV:28-31/r",
                 LITERALS << 8 | BREAKPOINTS << 4),
        Register("FP_REMAP", 0x004, "REMAP:5-28/x RMPSPT:29/r", 1 << 29),
        *(Register(f"FP_COMP{i}", 8 + 4 * i, "ENABLE:0 COMP:2-28 REPLACE:30-31") for i in range(BREAKPOINTS)),
        *(Register(f"FP_COMP{i}", 8 + 4 * i, "ENABLE:0/x COMP:2-28/x REPLACE:30-31/x")
          for i in range(BREAKPOINTS, BREAKPOINTS + LITERALS)),
        *(Register(f"ID_{offset:03X}", offset, "VALUE:0-31/r", value)
          for offset, value in debug.component_ids(0x003, 0xE).items()),
    )  # fmt: skip

    def __init__(self, changed: Callable[[set[int]], None]) -> None:
        super().__init__("FPB", BREAKPOINTS, changed)


class TraceM4(debug.TraceUnit):
    """DWT without the lock of CoreSight's later units."""

    REGISTERS = tuple(r for r in debug.TraceUnit.REGISTERS if r.name not in ("LAR", "LSR"))

    def __init__(self, counter: debug.Counter, control: debug.DebugControl, bus: Bus) -> None:
        super().__init__(counter, control, bus)
        self._locked = False


def private_peripherals(machine: Machine) -> SystemControlBlock:
    """Attach everything at 0xE0000000 to a machine."""
    scb = SystemControlBlockM4(machine)
    attach = machine.bus.attach
    attach(scb, 0x10, 0x000)
    attach(machine.systick, 0x10, 0x010)
    attach(machine.nvic, 0x500)
    attach(scb, 0xF0, 0xD00)
    attach(machine.debug, 0x10, 0xDF0)
    attach(scb, 0xB0, 0xF00)
    attach(debug.scs_ids(), 0x40, 0xFC0)
    attach(BreakpointUnitV1(machine.core.set_breakpoints), 0x1000)
    attach(TraceM4(machine.core, machine.debug, machine.bus), 0x1000)
    # SCS, DWT and FPB; ITM, TPIU and ETM are not modelled and not present in the table (ARM DDI 0439B, 9.1).
    table = {0: 0xFFF0F003, 4: 0xFFF02003, 8: 0xFFF03003, 12: 0xFFF01002} | debug.component_ids(0x4C4, 0x1)
    attach(debug.Rom("ROM table", 0xE00FF000, table), 0x1000)
    return scb
