"""nRF52840 DK."""

from __future__ import annotations

from functools import partial

from hil.standins.virtual.boards import BoardModel
from hil.standins.virtual.chip.nrf52840.chip import Nrf52840
from hil.standins.virtual.meter.supply import Currents
from hil.standins.virtual.nrf52840_port import debug_ports

LINE_BAUD = 1_000_000  # baud rate of the J-Link's serial port, which cannot do the 921,600 of the other boards
# Assumptions: of the order of the Product Specification's figures for the core at 64 MHz with the LDO, and for crystal,
# UARTE and timers. 1.6 mA more with the debug port powered: Zephyr, issue 26139.
CURRENTS = Currents(
    0.0063, 0.0015, 0.001, 3.0, "of the order of the Product Specification, from memory; assumed", debug_a=0.0016
)


MODEL = BoardModel(
    partial(Nrf52840, line_baud=LINE_BAUD), debug_ports, reset_line=True, pin="P{port}.{pin:02d}", currents=CURRENTS
)
