"""Teensy 4.0, Teensy 4.1 and MicroMod Teensy."""

from __future__ import annotations

from functools import partial

from hil.standins.virtual.boards import BoardModel, one_port
from hil.standins.virtual.chip.imxrt1062.chip import Imxrt1062
from hil.standins.virtual.debug_port import PortId
from hil.standins.virtual.meter.supply import Currents

LINE_BAUD = 921_600  # baud rate of the serial adapter
PORT = one_port(PortId(0x0BD11477), idr=0x04770041, rom_table=0xE00FD003)  # SW-DP version 1 (unverified)
# PJRC gives about 100 mA at 600 MHz for Teensy 4.0. That a sleeping core draws 40 mA less, and powered debug logic 1 mA
# more, is assumed.
CURRENTS = Currents(0.100, 0.060, 0.05, 5.0, "awake: PJRC, Teensy 4.0 at 600 MHz; asleep: assumed", debug_a=0.001)


MODEL = BoardModel(
    partial(Imxrt1062, line_baud=LINE_BAUD), PORT, reset_line=False, pin="{port}_IO{pin:02}", currents=CURRENTS
)
