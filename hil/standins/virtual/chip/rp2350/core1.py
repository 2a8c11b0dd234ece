"""Core 1 of the RP2350 for the debugger."""

from __future__ import annotations

from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.cortex_m33 import CPUID, BreakpointUnitM33, TraceM33, identification
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.core1 import ParkedCore, ParkedCoreBus, ParkedSystemControl

_VALUE = "VALUE:0-31/r"
_REGISTERS = 96


class _SystemControl(ParkedSystemControl):
    """Core 1's system control block."""

    REGISTERS = (
        Register("CPUID", 0xD00, _VALUE, CPUID), Register("ICSR", 0xD04, "VECTACTIVE:0-8/r"),
        Register("AIRCR", 0xD0C, "VECTCLRACTIVE:1/w SYSRESETREQ:2/w PRIGROUP:8-10 VECTKEY:16-31/w", 0),
        Register("DFSR", 0xD30, "FLAGS:0-5/c"), Register("ID_PFR1", 0xD44, _VALUE, 0x210),
        Register("ID_DFR0", 0xD48, _VALUE, 0x200000), Register("ID_ISAR0", 0xD60, _VALUE, 0x01141110),
        Register("ID_ISAR3", 0xD6C, _VALUE, 0x01111131), Register("CPACR", 0xD88, "BITS:0-31"),
        Register("MPU_TYPE", 0xD90, _VALUE, 0x800), Register("MVFR0", 0xF40, _VALUE, 0x10110021),
        Register("MVFR1", 0xF44, _VALUE, 0x11000011), Register("MVFR2", 0xF48, _VALUE, 0x40),
        Register("DSCSR", 0xE08, "SBRSELEN:0 SBRSEL:1 CDS:16/r CDSKEY:17/w", 1 << 16),
    )  # fmt: skip


class _Counter:
    """The cycle counter of a core that sleeps forever."""

    count = 0


class Core1Bus(ParkedCoreBus):
    """Bus of core 1's access port.

    Args:
        shared: bus of core 0.
        pc: address at which core 1 waits.
    """

    def __init__(self, shared: Bus, pc: int) -> None:
        system = _SystemControl()
        super().__init__(shared, ParkedCore(pc, _REGISTERS), system)
        scs, table = identification()
        self.attach(system, 0x10, 0xE00)
        self.attach(system, 0xB0, 0xF00)
        self.attach(scs, 0x50, 0xFB0)
        self.attach(BreakpointUnitM33(lambda addresses: None), 0x1000)
        self.attach(TraceM33(_Counter(), self.control, self), 0x1000)
        self.attach(table, 0x1000)
