"""Private peripherals of Cortex-M0+: system control, breakpoints, watchpoints, ROM tables.

Sources: ARM DDI 0419E, B3 and C1; ARM DDI 0484C. There is no cycle counter, no fault status and no floating point. The
system space allows word accesses only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hil.standins.virtual.chip import debug
from hil.standins.virtual.chip.debug import WordBreakpoints
from hil.standins.virtual.chip.nvic import PEND_SV, SVCALL
from hil.standins.virtual.chip.registers import Block, Register
from hil.standins.virtual.chip.scb import ID, VECTKEY, SystemControlBlock

if TYPE_CHECKING:
    from hil.standins.virtual.chip.machine import Machine

BREAKPOINTS, WATCHPOINTS, MPU_REGIONS = 4, 2, 8
CPUID = 0x410CC601  # Cortex-M0+ r0p1


class SystemControlBlockV6(SystemControlBlock):
    """SCB and MPU of Armv6-M (ARM DDI 0419E, B3.2 and B3.5). The MPU's regions are stored but not enforced."""

    SIZES = (4,)
    REGISTERS = (
        Register("ACTLR", 0x008, ID),
        Register("CPUID", 0xD00, ID),
        Register("ICSR", 0xD04, "VECTACTIVE:0-8/r VECTPENDING:12-20/r ISRPENDING:22/r ISRPREEMPT:23/r PENDSTCLR:25/w "
                 "PENDSTSET:26/w PENDSVCLR:27/w PENDSVSET:28/w NMIPENDSET:31/w"),
        Register("VTOR", 0xD08, "TBLOFF:8-31"),
        Register("AIRCR", 0xD0C, "VECTCLRACTIVE:1/w SYSRESETREQ:2/w ENDIANNESS:15/r VECTKEY:16-31/w"),
        Register("SCR", 0xD10, "SLEEPONEXIT:1 SLEEPDEEP:2 SEVONPEND:4"),
        Register("CCR", 0xD14, "UNALIGN_TRP:3/r STKALIGN:9/r", 0x00000208),
        Register("SHPR2", 0xD1C, "PRI_11:30-31"),
        Register("SHPR3", 0xD20, "PRI_14:22-23 PRI_15:30-31"),
        Register("SHCSR", 0xD24, "SVCALLPENDED:15/r"),
        Register("DFSR", 0xD30, "HALTED:0/c BKPT:1/c DWTTRAP:2/c VCATCH:3/c EXTERNAL:4/c"),
        Register("MPU_TYPE", 0xD90, ID), Register("MPU_CTRL", 0xD94, "ENABLE:0 HFNMIENA:1 PRIVDEFENA:2"),
        Register("MPU_RNR", 0xD98, "REGION:0-3"),
        Register("MPU_RBAR", 0xD9C, "REGION:0-3 VALID:4/w ADDR:8-31"),
        Register("MPU_RASR", 0xDA0, "ENABLE:0 SIZE:1-5 SRD:8-15 B:16 C:17 S:18 AP:24-26 XN:28"),
    )  # fmt: skip

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine, CPUID, 0, 0, MPU_REGIONS)
        self._bus = machine.bus

    def read(self, offset: int, size: int) -> int:
        # Debuggers read registers of later architectures there; reserved words read as zero (B3.2.2).
        if self._bus.debugger and offset & ~3 not in self._at:
            return 0
        return super().read(offset, size)

    def flag(self, register: str, *names: str) -> None:
        """Set status flags that this core has; of the fault and debug status registers of Armv7-M it has only DFSR."""
        if register in self.value:
            super().flag(register, *names)

    def read_icsr(self, value: int) -> int:
        return super().read_icsr(value) & ~(1 << 11)  # RETTOBASE

    def read_shcsr(self, value: int) -> int:
        return value | (self._system.nvic.waiting() >> SVCALL & 1) << 15

    def write_aircr(self, _old: int, _new: int, acting: int) -> None:
        if acting >> 16 == VECTKEY and acting & 0b110 == 0b100:
            self._system.request_reset()

    def write_shpr3(self, _old: int, new: int, _acting: int) -> None:
        self._set_priorities("SHPR3", PEND_SV - 2, new)


class BreakpointUnitV6(WordBreakpoints):
    """BPU: breakpoint comparators for words below 0x20000000 (ARM DDI 0419E, C1.8)."""

    PREFIX = "BP"
    REGISTERS = (
        Register("BP_CTRL", 0x000, "ENABLE:0 KEY:1/w NUM_CODE:4-7/r", BREAKPOINTS << 4),
        *(Register(f"BP_COMP{i}", 8 + 4 * i, "ENABLE:0 COMP:2-28 BP_MATCH:30-31") for i in range(BREAKPOINTS)),
        *(Register(f"ID_{offset:03X}", offset, "VALUE:0-31/r", value)
          for offset, value in debug.component_ids(0x00B, 0xE).items()),
    )  # fmt: skip

    def __init__(self, changed: Callable[[set[int]], None]) -> None:
        super().__init__("BPU", BREAKPOINTS, changed)


class WatchpointUnitV6(Block):
    """DWT of Armv6-M: comparators as registers without effect, and no counters (ARM DDI 0419E, C1.7)."""

    REGISTERS = (
        Register("CTRL", 0x000, "RESERVED:0-27/r NUMCOMP:28-31/r", WATCHPOINTS << 28),
        Register("PCSR", 0x01C, "VALUE:0-31/r"),
        *(Register(f"COMP{i}", 0x20 + 16 * i, "COMP:0-31") for i in range(WATCHPOINTS)),
        *(Register(f"MASK{i}", 0x24 + 16 * i, "MASK:0-4") for i in range(WATCHPOINTS)),
        *(Register(f"FUNCTION{i}", 0x28 + 16 * i, "FUNCTION:0-3/x MATCHED:24/r") for i in range(WATCHPOINTS)),
        *(Register(f"ID_{offset:03X}", offset, "VALUE:0-31/r", value)
          for offset, value in debug.component_ids(0x00A, 0xE).items()),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__("DWT", 0xE0001000)


def private_peripherals(machine: Machine) -> SystemControlBlock:
    """Attach everything at 0xE0000000 to a machine."""
    scb = SystemControlBlockV6(machine)
    attach = machine.bus.attach
    attach(scb, 0x10, 0x000)
    attach(machine.systick, 0x10, 0x010)
    attach(machine.nvic, 0x500)
    attach(scb, 0xF0, 0xD00)
    attach(machine.debug, 0x10, 0xDF0)
    attach(debug.Rom("SCS", 0xE000E000, debug.component_ids(0x008, 0xE)), 0x40, 0xFC0)
    attach(BreakpointUnitV6(machine.core.set_breakpoints), 0x1000)
    attach(WatchpointUnitV6(), 0x1000)
    # The table lists SCS, DWT and BPU (ARM DDI 0484C, 8.2), as offsets from its own base.
    table = {0: 0xFFF0F003, 4: 0xFFF02003, 8: 0xFFF03003} | debug.component_ids(0x4C0, 0x1)
    attach(debug.Rom("ROM table", 0xE00FF000, table), 0x1000)
    return scb
