"""STM32H7B3I-DK."""

from __future__ import annotations

from functools import partial

from hil.standins.virtual.boards import BoardModel, one_port
from hil.standins.virtual.chip.stm32h7b3.chip import Stm32H7B3
from hil.standins.virtual.debug_port import PortId
from hil.standins.virtual.meter.supply import Currents

CRYSTAL_HZ = 24_000_000  # UM2569, clock sources
# SW-DP version 2 (RM0455, debug support). The other access ports of STM32H7B3 do not answer.
PORT = one_port(PortId(0x6BA02477), idr=0x84770001, rom_table=0xE00FE003)
# Assumptions: of the order of DS13195, typical current in Run and Sleep mode with SMPS, 5 mA for the rest of the
# board, and 1 mA for powered debug logic.
CURRENTS = Currents(0.095, 0.035, 0.008, 3.3, "of the order of DS13195; assumed", debug_a=0.001)


MODEL = BoardModel(partial(Stm32H7B3, hse_hz=CRYSTAL_HZ), PORT, reset_line=True, pin="P{port}{pin}", currents=CURRENTS)
