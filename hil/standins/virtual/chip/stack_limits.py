"""The stack limits of Armv8-M (ARM DDI 0553B.y, B3.21): read and set from outside, checked at exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from unicorn.unicorn_py3.unicorn import uclib

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.core import ArmCore
from hil.standins.virtual.chip.count import Slot

if TYPE_CHECKING:
    from hil.standins.virtual.chip.machine import Machine


class StackLimits:
    """MSPLIM and PSPLIM of the Secure state, which Unicorn has no numbers of: instructions move them through r0.

    While the core runs unprivileged code, they read as 0.

    Args:
        core: the core.
        code: address at which `CODE` stands in a memory that the program does not change.
    """

    # mrs r0, msplim; mrs r0, psplim; msr msplim, r0; msr psplim, r0
    CODE = bytes.fromhex("eff30a80 eff30b80 80f30a88 80f30b88")

    def __init__(self, core: ArmCore, code: int) -> None:
        self._core, self._code = core, code

    def read(self, process: bool) -> int:
        """Return the limit of the main stack, or of the process stack."""
        return _aside(self._core, self._code + 4 * process, 0)

    def write(self, main: int, process: int) -> None:
        """Set both limits."""
        _aside(self._core, self._code + 8, main)
        _aside(self._core, self._code + 12, process)

    def attach(self, machine: Machine) -> None:
        """Let exceptions and the debugger of a machine see the limits; the registers of the other state read as 0."""
        core, special = self._core, machine.halting.special
        machine.exceptions.stack_limit = self.read
        special |= dict.fromkeys((24, 25, 30, 31), lambda: 0)
        special |= {26: lambda: core.get(c.MSP), 27: lambda: core.get(c.PSP)}
        special |= {28: lambda: self.read(False), 29: lambda: self.read(True)}


def _aside(core: ArmCore, address: int, r0: int) -> int:
    """Execute the one instruction at an address between two runs, with a value in r0; return r0 after it.

    It leaves no trace but in the register that it changes, and is not counted.
    """
    state, kept, before = core.state, np.array(core.state), [core.get(c.R[0]), core.get(c.PC)]
    core.set(c.R[0], r0)
    state[Slot.LIMIT], state[Slot.WATCH], state[Slot.FLAGS] = core.count + 1, 0, 0
    state[Slot.AFTER_LAST] = state[Slot.FOLLOWED]
    uclib.uc_emu_start(core.handle, address | 1, address + 4, 0, 0)
    result = core.get(c.R[0])
    core.set(c.R[0], before[0])
    core.set(c.PC, before[1] | 1)
    state[:] = kept.data
    return result
