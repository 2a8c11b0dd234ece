"""The virtual one of a board that does not exist: the peripherals of the nRF52840 beside 224 KB of RAM."""

from __future__ import annotations

from functools import partial

from hil.standins.virtual.boards import BoardModel
from hil.standins.virtual.chip.memories import PhysicalMemory
from hil.standins.virtual.chip.nrf52840.chip import Nrf52840
from hil.standins.virtual.meter.supply import Currents
from hil.standins.virtual.nrf52840_port import debug_ports


class MadeUp(Nrf52840):
    RAM = PhysicalMemory("ram", 0x20000000, 224 * 1024)


CURRENTS = Currents(0.01, 0.002, 0.001, 3.0, "made up")
MODEL = BoardModel(
    partial(MadeUp, line_baud=1_000_000), debug_ports, reset_line=False, pin="P{port}.{pin:02d}", currents=CURRENTS
)
