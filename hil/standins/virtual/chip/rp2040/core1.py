"""Core 1 of the RP2040 for the debugger: asleep in the boot ROM, where it waits to be launched (data sheet, 2.8.2).

It executes nothing. Its debug registers answer: a debugger can halt it, read its registers and resume it.
"""

from __future__ import annotations

from hil.standins.virtual.chip import debug
from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.cortex_m0plus import CPUID, BreakpointUnitV6, WatchpointUnitV6
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block, Register

PRIVATE = 0xE0000000
_PC, _XPSR = 15, 16
_REGISTERS = 21


class ParkedCore:
    """Halting debug of a core that sleeps forever (debug.Halting).

    Args:
        pc: address at which the core waits.
    """

    def __init__(self, pc: int) -> None:
        self._registers = [0] * _REGISTERS
        self._registers[_PC], self._registers[_XPSR] = pc, 1 << 24
        self._halted = False

    def status(self) -> int:
        return 1 << 16 | self._halted << 17 | (not self._halted) << 18

    def control(self, wanted: int) -> None:
        self._halted = wanted & (debug.C_DEBUGEN | debug.C_HALT) == debug.C_DEBUGEN | debug.C_HALT

    def read_register(self, number: int) -> int:
        return self._registers[self._known(number)]

    def write_register(self, number: int, value: int) -> None:
        self._registers[self._known(number)] = value

    @staticmethod
    def _known(number: int) -> int:
        if number >= _REGISTERS:
            raise ModelFault(f"DCRSR selects register {number}, which the core does not have")
        return number


class _SystemControl(Block):
    """Registers of core 1's system control block that a debugger reads; other words read as zero."""

    REGISTERS = (
        Register("CPUID", 0xD00, "VALUE:0-31/r", CPUID),
        Register("ICSR", 0xD04, "VECTACTIVE:0-8/r"),
        Register("AIRCR", 0xD0C, "VECTCLRACTIVE:1/w SYSRESETREQ:2/w VECTKEY:16-31/w", 0),
        Register("DFSR", 0xD30, "FLAGS:0-4/c"),
        Register("MPU_TYPE", 0xD90, "VALUE:0-31/r", 0x800),
    )

    def read(self, offset: int, size: int) -> int:
        return super().read(offset, size) if offset & ~3 in self._at else 0


class Core1Bus(Bus):
    """Bus of core 1's access port: its own private peripherals, and the shared bus for everything else.

    Args:
        shared: bus of core 0.
        pc: address at which core 1 waits.
    """

    def __init__(self, shared: Bus, pc: int) -> None:
        super().__init__()
        self._shared = shared
        control = debug.DebugControl(ParkedCore(pc), self)
        system = _SystemControl("SCB1", 0xE000E000)
        self.attach(system, 0xF0, 0xD00)
        self.attach(control, 0x10, 0xDF0)
        self.attach(debug.Rom("SCS", 0xE000E000, debug.component_ids(0x008, 0xE)), 0x40, 0xFC0)
        self.attach(BreakpointUnitV6(lambda addresses: None), 0x1000)
        self.attach(WatchpointUnitV6(), 0x1000)
        table = {0: 0xFFF0F003, 4: 0xFFF02003, 8: 0xFFF03003} | debug.component_ids(0x4C0, 0x1)
        self.attach(debug.Rom("ROM table", 0xE00FF000, table), 0x1000)

    def read(self, address: int, size: int) -> int:
        return super().read(address, size) if address >= PRIVATE else self._shared.read(address, size)

    def write(self, address: int, size: int, value: int) -> None:
        if address >= PRIVATE:
            super().write(address, size, value)
        else:
            self._shared.write(address, size, value)
