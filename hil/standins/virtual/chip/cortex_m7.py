"""Private peripherals of Cortex-M7 (ARM DDI 0403E.e, B3.1; ARM DDI 0489)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil.standins.virtual.chip import debug
from hil.standins.virtual.chip.scb import SystemControlBlock
from hil.standins.virtual.chip.scb_m7 import M7Features, SystemControlBlockM7

if TYPE_CHECKING:
    from hil.standins.virtual.chip.machine import Machine


def private_peripherals(machine: Machine, features: M7Features) -> SystemControlBlock:
    """Attach everything at 0xE0000000 to a machine."""
    scb = SystemControlBlockM7(machine, features)
    attach = machine.bus.attach
    attach(scb, 0x10, 0x000)
    attach(machine.systick, 0x10, 0x010)
    attach(machine.nvic, 0x500)
    attach(scb, 0xF0, 0xD00)
    attach(machine.debug, 0x10, 0xDF0)
    attach(scb, 0xB0, 0xF00)
    attach(debug.scs_ids(), 0x40, 0xFC0)
    attach(debug.BreakpointUnit(machine.core.set_breakpoints), 0x1000)
    attach(debug.TraceUnit(machine.core, machine.debug, machine.bus), 0x1000)
    for table in debug.rom_tables():
        attach(table, 0x1000)
    return scb
