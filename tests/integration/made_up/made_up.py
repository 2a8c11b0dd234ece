"""The virtual one of a board that does not exist: the peripherals of the nRF52840 beside 224 KB of RAM."""

from __future__ import annotations

import numpy as np

from hil.standins.virtual.boards import BoardModel, Log, OnPin, Send
from hil.standins.virtual.chip.memories import Memory
from hil.standins.virtual.chip.nrf52840.chip import Nrf52840
from hil.standins.virtual.meter.supply import Currents
from hil.standins.virtual.nrf52840_port import debug_ports


class MadeUp(Nrf52840):
    RAM = Memory("ram", 0x20000000, 224 * 1024)


def _chip(rng: np.random.Generator, send: Send, on_pin: OnPin, log: Log) -> MadeUp:
    return MadeUp(rng, send, on_pin, log, line_baud=1_000_000)


CURRENTS = Currents(0.01, 0.002, 0.001, 3.0, "made up")
MODEL = BoardModel(_chip, debug_ports, reset_line=False, pin="P{port}.{pin:02d}", currents=CURRENTS)
