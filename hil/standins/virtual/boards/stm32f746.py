"""32F746GDISCOVERY."""

from __future__ import annotations

from functools import partial

from hil.standins.virtual.boards import BoardModel, one_port
from hil.standins.virtual.chip.stm32f746.chip import Stm32F746
from hil.standins.virtual.debug_port import PortId
from hil.standins.virtual.meter.supply import Currents

CRYSTAL_HZ = 25_000_000  # UM1907, clock sources
# SW-DP version 2 and an AHB-AP with the chip's own ROM table (values of this board in pyOCD's issue 863).
PORT = one_port(PortId(0x5BA02477), idr=0x74770001, rom_table=0xE00FD003)
# Assumptions: of the order of DS10916, typical current in Run and Sleep mode at 216 MHz, 5 mA for the rest of the
# board, and 1 mA for powered debug logic.
CURRENTS = Currents(0.110, 0.045, 0.008, 3.3, "of the order of DS10916; assumed", debug_a=0.001)


MODEL = BoardModel(partial(Stm32F746, hse_hz=CRYSTAL_HZ), PORT, reset_line=True, pin="P{port}{pin}", currents=CURRENTS)
