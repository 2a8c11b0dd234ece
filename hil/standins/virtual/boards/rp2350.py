"""Raspberry Pi Pico 2."""

from __future__ import annotations

from functools import partial

from hil.standins.virtual.boards import BoardModel
from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.machine import Machine
from hil.standins.virtual.chip.rp2350.chip import Rp2350
from hil.standins.virtual.chip_memory import ChipMemory
from hil.standins.virtual.debug_port import DebugPort, PortId
from hil.standins.virtual.debug_port_v6 import DebugPortV6, MemoryPortV6, PortTable
from hil.standins.virtual.meter.supply import Currents
from hil.standins.virtual.runner import ChipRunner

LINE_BAUD = 921_600  # baud rate of the serial adapter
# RP2350 data sheet, 3.5: one SW-DP with an access port for each Arm core. The ports of the RISC-V cores and the RP-AP
# are not modelled, and not in the table. DPIDR: logs of OpenOCD; TARGETID: its target/rp2350.cfg; IDR of an AHB5-AP
# with HPROT[6:0], and numbers of the parts: `unverified`.
_IDENTITY, _ADDRESS_BITS = PortId(0x4C013477, 0x00040927), 20
_CORE_0, _CORE_1, _IDR, _ROM_TABLE = 0x2000, 0x4000, 0x34770008, 0xE00FF003
_PORT_PART, _TABLE_PART = 0x9E3, 0x040
# No current of an RP2350 was measured here, and none is from a data sheet: those of the virtual Pico, as an assumption.
CURRENTS = Currents(0.04324, 0.03124, 0.02, 3.3, "assumed: those of the virtual Pico", debug_a=0.0005)


def _core_1(machine: Machine) -> Bus:
    assert isinstance(machine, Rp2350)
    return machine.core1


def _ports(runner: ChipRunner) -> list[DebugPort]:
    places = {_CORE_0: ChipMemory(runner), _CORE_1: ChipMemory(runner, _core_1)}
    ports = {place: MemoryPortV6(memory, _IDR, _ROM_TABLE, _PORT_PART) for place, memory in places.items()}
    return [DebugPortV6(_IDENTITY, _ADDRESS_BITS, {0: PortTable(tuple(places), _TABLE_PART), **ports})]


MODEL = BoardModel(partial(Rp2350, line_baud=LINE_BAUD), _ports, reset_line=False, pin="{port}{pin}", currents=CURRENTS)
