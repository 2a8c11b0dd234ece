"""Halting debug: effects of DHCSR, DCRSR and DCRDR on a machine (ARM DDI 0403E.e, C1.5 and C1.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.debug import C_DEBUGEN, C_HALT, C_STEP
from hil.standins.virtual.chip.exceptions import THUMB
from hil.standins.virtual.chip.fault import ModelFault

if TYPE_CHECKING:
    from hil.standins.virtual.chip.machine import Machine

_CFBP = 20
_CORE = dict(enumerate((*c.R, c.SP, c.LR, c.PC, c.XPSR, c.MSP, c.PSP)))
_BY_NUMBER: dict[int, int] = _CORE | {33: c.FPSCR} | {64 + i: s for i, s in enumerate(c.S)}
_PACKED = (c.PRIMASK, c.BASEPRI, c.FAULTMASK, c.CONTROL)  # the bytes of register 20, lowest first


class HaltingDebug:
    """Halting debug of a machine.

    Args:
        machine: machine to halt.

    Attributes:
        halted: whether the core is halted.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._reset_seen = True
        self.halted = False
        self.special: dict[int, Callable[[], int]] = {}  # further registers of a core that can only be read

    def reset(self) -> None:
        """End the halt after a reset of the machine, and set S_RESET_ST for the next read of DHCSR."""
        self.halted = False
        self._reset_seen = True
        self._machine.debug.value["DHCSR"] &= ~C_HALT

    def halt(self, reason: str) -> None:
        """Halt; `reason` is a flag of DFSR."""
        self.halted = True
        self._machine.debug.value["DHCSR"] |= C_HALT
        self._machine.scb.flag("DFSR", reason)
        self._machine.wake()

    def status(self) -> int:
        """Return the status bits of DHCSR."""
        seen, self._reset_seen = self._reset_seen, False
        machine = self._machine
        halted = self.halted or machine.fault is not None
        return 1 << 16 | halted << 17 | machine.asleep << 18 | machine.lockup << 19 | (not halted) << 24 | seen << 25

    def control(self, wanted: int) -> None:
        """Handle a write to DHCSR."""
        if wanted & C_DEBUGEN and wanted & C_HALT:
            if not self.halted:
                self.halt("HALTED")
        elif wanted & C_STEP and self.halted:
            self._machine.step()
            self.halt("HALTED")
        elif self.halted:
            self.halted = False
            self._machine.begin()

    def read_register(self, number: int) -> int:
        """Return a core register by its DCRSR number; raise ModelFault if the core does not have it."""
        core = self._machine.core
        if number in self.special:
            return self.special[number]()
        if number == _CFBP:
            return sum((core.get(register) & 0xFF) << 8 * i for i, register in enumerate(_PACKED)) & 0x07FFFFFF
        return core.get(self._find(number))

    def write_register(self, number: int, value: int) -> None:
        """Set a core register by its DCRSR number; raise ModelFault if the core does not have it."""
        core = self._machine.core
        if number == _CFBP:
            for i, register in enumerate(_PACKED):
                byte = value >> 8 * i & 0xFF
                core.set(register, c.control_word(byte) if register == c.CONTROL else byte)
            return
        register = self._find(number)
        core.set(register, value | {c.PC: 1, c.XPSR: THUMB}.get(register, 0))

    @staticmethod
    def _find(number: int) -> int:
        if number not in _BY_NUMBER:
            raise ModelFault(f"DCRSR selects register {number}, which the core does not have")
        found: int = _BY_NUMBER[number]
        return found
