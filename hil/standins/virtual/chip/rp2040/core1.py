"""Core 1 of the RP2040 for the debugger."""

from __future__ import annotations

from hil.standins.virtual.chip import debug
from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.cortex_m0plus import CPUID, BreakpointUnitV6, WatchpointUnitV6
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.core1 import ParkedCore, ParkedCoreBus, ParkedSystemControl

_REGISTERS = 21


class _SystemControl(ParkedSystemControl):
    """Core 1's system control block."""

    REGISTERS = (
        Register("CPUID", 0xD00, "VALUE:0-31/r", CPUID),
        Register("ICSR", 0xD04, "VECTACTIVE:0-8/r"),
        Register("AIRCR", 0xD0C, "VECTCLRACTIVE:1/w SYSRESETREQ:2/w VECTKEY:16-31/w", 0),
        Register("DFSR", 0xD30, "FLAGS:0-4/c"),
        Register("MPU_TYPE", 0xD90, "VALUE:0-31/r", 0x800),
    )


class Core1Bus(ParkedCoreBus):
    """Bus of core 1's access port.

    Args:
        shared: bus of core 0.
        pc: address at which core 1 waits.
    """

    def __init__(self, shared: Bus, pc: int) -> None:
        super().__init__(shared, ParkedCore(pc, _REGISTERS), _SystemControl())
        self.attach(debug.Rom("SCS", 0xE000E000, debug.component_ids(0x008, 0xE)), 0x40, 0xFC0)
        self.attach(BreakpointUnitV6(lambda addresses: None), 0x1000)
        self.attach(WatchpointUnitV6(), 0x1000)
        table = {0: 0xFFF0F003, 4: 0xFFF02003, 8: 0xFFF03003} | debug.component_ids(0x4C0, 0x1)
        self.attach(debug.Rom("ROM table", 0xE00FF000, table), 0x1000)
