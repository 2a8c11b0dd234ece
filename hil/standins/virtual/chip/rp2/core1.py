"""Core 1 of RP2040 and RP2350 for the debugger: asleep in the boot ROM, where it waits to be launched.

Sources: RP2040 data sheet, 2.8.2; RP2350 data sheet, 5.3. It executes nothing. Its debug registers answer: a debugger
can halt it, read its registers and resume it.
"""

from __future__ import annotations

from hil.standins.virtual.chip import debug
from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block

PRIVATE = 0xE0000000
_PC, _XPSR = 15, 16


class ParkedCore:
    """Halting debug of a core that sleeps forever (debug.Halting).

    Args:
        pc: address at which the core waits.
        registers: number of registers that DCRSR selects.
    """

    def __init__(self, pc: int, registers: int) -> None:
        self._registers = [0] * registers
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

    def _known(self, number: int) -> int:
        if number >= len(self._registers):
            raise ModelFault(f"DCRSR selects register {number}, which the core does not have")
        return number


class ParkedSystemControl(Block):
    """Base of core 1's system control block: registers that a debugger reads; other words read as zero."""

    def __init__(self) -> None:
        super().__init__("SCB1", 0xE000E000)

    def read(self, offset: int, size: int) -> int:
        return super().read(offset, size) if offset & ~3 in self._at else 0


class ParkedCoreBus(Bus):
    """Bus of core 1's access port: its own private peripherals, and the shared bus for everything else.

    A subclass attaches the identification registers, the breakpoint unit and the ROM table.

    Args:
        shared: bus of core 0.
        core: core 1.
        system: its system control block.
    """

    def __init__(self, shared: Bus, core: ParkedCore, system: ParkedSystemControl) -> None:
        super().__init__()
        self._shared = shared
        self.control = debug.DebugControl(core, self)
        self.attach(system, 0xF0, 0xD00)
        self.attach(self.control, 0x10, 0xDF0)

    def read(self, address: int, size: int) -> int:
        return super().read(address, size) if address >= PRIVATE else self._shared.read(address, size)

    def write(self, address: int, size: int, value: int) -> None:
        if address >= PRIVATE:
            super().write(address, size, value)
        else:
            self._shared.write(address, size, value)
