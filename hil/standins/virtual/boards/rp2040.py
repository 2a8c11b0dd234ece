"""Raspberry Pi Pico."""

from __future__ import annotations

from functools import partial

from hil.standins.virtual.access_port import MemoryPort
from hil.standins.virtual.boards import BoardModel
from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.machine import Machine
from hil.standins.virtual.chip.rp2040.chip import Rp2040
from hil.standins.virtual.chip_memory import ChipMemory
from hil.standins.virtual.debug_port import DebugPort, PortId
from hil.standins.virtual.meter.supply import Currents
from hil.standins.virtual.runner import ChipRunner

LINE_BAUD = 921_600  # baud rate of the serial adapter
# RP2040 data sheet, 2.3.4: two debug ports on one wire, selected by TARGETSEL (the rescue port is not modelled).
PORTS = tuple(PortId(0x0BC12477, target) for target in (0x01002927, 0x11002927))
_IDR, _ROM_TABLE = 0x04770031, 0xE00FF003
# Idle current at 133 MHz from the FQT paper (table II). That an awake core draws 12 mA more, and powered debug logic
# 0.5 mA, is assumed.
CURRENTS = Currents(0.04324, 0.03124, 0.02, 3.3, "idle: FQT paper, table II; awake: assumed", debug_a=0.0005)


def _core_1(machine: Machine) -> Bus:
    assert isinstance(machine, Rp2040)
    return machine.core1


def _ports(runner: ChipRunner) -> list[DebugPort]:
    cores = ChipMemory(runner), ChipMemory(runner, _core_1)
    return [
        DebugPort(identity, {0: MemoryPort(memory, _IDR, _ROM_TABLE)})
        for memory, identity in zip(cores, PORTS, strict=True)
    ]


MODEL = BoardModel(partial(Rp2040, line_baud=LINE_BAUD), _ports, reset_line=False, pin="{port}{pin}", currents=CURRENTS)
