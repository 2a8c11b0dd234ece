"""Synchronous faults, taken at the instruction that causes them as on silicon (ARM DDI 0403E.e, B1.5.14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip import debug, nvic
from hil.standins.virtual.chip.block_hook import flags_of
from hil.standins.virtual.chip.count import HAS_FP, Slot
from hil.standins.virtual.chip.fault import ModelFault

if TYPE_CHECKING:
    from hil.standins.virtual.chip.machine import Machine


class SynchronousFaults:
    """Synchronous exceptions of a core.

    Args:
        machine: machine whose core takes them.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def take(self, number: int) -> None:
        """Take a synchronous exception now; as HardFault if it is disabled or its priority is too low (B1.5.14)."""
        machine = self._machine
        enabled = bool(machine.nvic.enabled >> number & 1)
        if not enabled or machine.nvic.group(number) >= machine.exceptions.priority():
            if number != nvic.HARD_FAULT:
                machine.scb.flag("HFSR", "FORCED")
            number = nvic.HARD_FAULT
        if machine.exceptions.priority() <= machine.nvic.group(nvic.HARD_FAULT):
            machine.lockup = True
            machine.log(f"lockup: a fault at 0x{machine.core.get(c.PC):08X} inside the HardFault handler")
            return
        machine.enter(number)

    def usage(self, flag: str) -> None:
        """Take a UsageFault with a flag of CFSR."""
        self._machine.scb.flag("CFSR", flag)
        self._machine.log(f"fault {flag} at 0x{self._machine.core.get(c.PC):08X}")
        self.take(nvic.USAGE_FAULT)

    def data_bus(self, address: int, why: str) -> None:
        """Note a precise bus fault of a load; raise ModelFault unless CCR.BFHFNMIGN lets the core ignore it.

        It ignores data bus faults with a negative priority only (B3.2.8). A BusFault handler is not entered: the fault
        stops the chip.
        """
        machine = self._machine
        machine.scb.flag("CFSR", "PRECISERR", "BFARVALID")
        machine.scb.value["BFAR"] = address
        if not machine.scb.field("CCR", "BFHFNMIGN") or machine.exceptions.priority() >= 0:
            raise ModelFault(why, address, "read")
        machine.log(f"ignored with CCR.BFHFNMIGN: {why}")

    def handle_bkpt(self) -> None:
        """Handle BKPT or a breakpoint: halt if a debugger is attached, else take HardFault."""
        machine = self._machine
        if machine.debug.value["DHCSR"] & debug.C_DEBUGEN:
            machine.halting.halt("BKPT")
            return
        machine.scb.flag("HFSR", "DEBUGEVT")
        machine.log(f"BKPT at 0x{machine.core.get(c.PC):08X} without a debugger")
        self.take(nvic.HARD_FAULT)

    def refusal(self) -> str | None:
        """Return the CFSR flag for the instruction at pc, or None if the instruction is not a refused one."""
        core = self._machine.core
        first, second = (int.from_bytes(core.peek(core.get(c.PC) + i, 2), "little") for i in (0, 2))
        refused = flags_of(first, second) & core.state[Slot.REFUSED]
        if not refused:
            return None
        return "NOCP" if refused & HAS_FP else "UNDEFINSTR"
