"""The boards that have a virtual bench: which chip, how its debugger reaches it, what pyOCD calls it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.chip import Chip
from hil.standins.virtual.chip.imxrt1062.chip import Imxrt1062
from hil.standins.virtual.chip.machine import Machine
from hil.standins.virtual.chip.nrf52840.chip import Nrf52840
from hil.standins.virtual.chip.rp2040.chip import Rp2040
from hil.standins.virtual.chip.stm32f746.chip import Stm32F746
from hil.standins.virtual.chip.stm32h7b3 import Stm32H7B3
from hil.standins.virtual.chip_memory import ChipMemory
from hil.standins.virtual.debug_port import DebugPort, PortId
from hil.standins.virtual.meter.supply import Currents
from hil.standins.virtual.nrf52840_port import debug_ports as nrf52840_ports
from hil.standins.virtual.runner import Runner

LINE_BAUD = 921_600  # of a board's serial port
NRF_LINE_BAUD = 1_000_000  # of the J-Link's on an nRF52840 DK, which does not do the other
H7_CRYSTAL_HZ = 24_000_000  # STM32H7B3I-DK (UM2569, clock sources)
# STM32H7: SW-DP version 2 (RM0455, debug support). The other access ports of STM32H7B3 do not answer.
_H7_PORT = PortId(dpidr=0x6BA02477, ap_idr=0x84770001, rom_table=0xE00FE003)
F746_CRYSTAL_HZ = 25_000_000  # 32F746GDISCOVERY (UM1907, clock sources)
# STM32F746: SW-DP version 2 and an AHB-AP behind the chip's own ROM table (as pyOCD's issue 863 shows them on this board).
_F746_PORT = PortId(dpidr=0x5BA02477, ap_idr=0x74770001, rom_table=0xE00FD003)
# RP2040 data sheet, 2.3.4: two debug ports on one wire, told apart by TARGETSEL (the rescue port is not modelled).
_PICO_PORTS = tuple(PortId(0x0BC12477, 0x04770031, 0xE00FF003, target) for target in (0x01002927, 0x11002927))
# i.MX RT1062: SW-DP version 1 (unverified).
_TEENSY_PORT = PortId(dpidr=0x0BD11477, ap_idr=0x04770041, rom_table=0xE00FD003)
# Assumptions. H7: of the order of DS13195, typical current in Run and Sleep mode with SMPS, plus 5 mA for the rest of the board.
_H7_CURRENTS = Currents(0.095, 0.035, 0.008, 3.3, "of the order of DS13195; assumed")
# F746: of the order of DS10916, typical current in Run and Sleep mode at 216 MHz, plus 5 mA for the rest of the board.
_F746_CURRENTS = Currents(0.110, 0.045, 0.008, 3.3, "of the order of DS10916; assumed")
# Pico: the idle draw at 133 MHz that the FQT paper gives (table II); that an awake core draws 12 mA more is assumed.
_PICO_CURRENTS = Currents(0.04324, 0.03124, 0.02, 3.3, "idle: FQT paper, table II; awake: assumed")
# nRF52840 DK: of the order of the Product Specification's figures for the core at 64 MHz with the LDO, and for crystal, UARTE and timers.
_NRF_CURRENTS = Currents(0.0063, 0.0015, 0.001, 3.0, "of the order of the Product Specification, from memory; assumed")
# Teensy: about 100 mA at 600 MHz, as PJRC says of Teensy 4.0; that a sleeping core draws 40 mA less is assumed.
_TEENSY_CURRENTS = Currents(0.100, 0.060, 0.05, 5.0, "awake: PJRC, Teensy 4.0 at 600 MHz; asleep: assumed")
Send = Callable[[int], None]
OnPin = Callable[[str, int, int, int], None]
Log = Callable[[str], None]


@dataclass(frozen=True)
class BoardModel:
    """One board.

    Args:
        target: name of the pyOCD target.
        build: makes the chip from a random generator, a taker of sent bytes, one of pin edges, and a log.
        ports: its debug ports.
        reset_line: whether the probe can reset the chip by a wire.
        pin: format of a pin's name from `port` and `pin`, as the catalogue writes it.
        currents: what the board draws; assumptions, not measurements.
    """

    target: str
    build: Callable[[np.random.Generator, Send, OnPin, Log], Chip]
    ports: Callable[[Runner], list[DebugPort]]
    reset_line: bool
    pin: str
    currents: Currents


def _h7(rng: np.random.Generator, send: Send, on_pin: OnPin, log: Log) -> Chip:
    return Stm32H7B3(rng, send, on_pin, log, H7_CRYSTAL_HZ)


def _h7_ports(runner: Runner) -> list[DebugPort]:
    return [DebugPort(ChipMemory(runner), _H7_PORT)]


def _f746(rng: np.random.Generator, send: Send, on_pin: OnPin, log: Log) -> Chip:
    return Stm32F746(rng, send, on_pin, log, F746_CRYSTAL_HZ)


def _f746_ports(runner: Runner) -> list[DebugPort]:
    return [DebugPort(ChipMemory(runner), _F746_PORT)]


def _pico(rng: np.random.Generator, send: Send, on_pin: OnPin, log: Log) -> Chip:
    return Rp2040(rng, send, on_pin, log, LINE_BAUD)


def _nrf(rng: np.random.Generator, send: Send, on_pin: OnPin, log: Log) -> Chip:
    return Nrf52840(rng, send, on_pin, log, NRF_LINE_BAUD)


def _core_1(machine: Machine) -> Bus:
    assert isinstance(machine, Rp2040)
    return machine.core1


def _pico_ports(runner: Runner) -> list[DebugPort]:
    cores = ChipMemory(runner), ChipMemory(runner, _core_1)
    return [DebugPort(memory, identity) for memory, identity in zip(cores, _PICO_PORTS, strict=True)]


def _teensy(rng: np.random.Generator, send: Send, on_pin: OnPin, log: Log) -> Chip:
    return Imxrt1062(rng, send, on_pin, log, LINE_BAUD)


def _teensy_ports(runner: Runner) -> list[DebugPort]:
    return [DebugPort(ChipMemory(runner), _TEENSY_PORT)]


BOARDS = {
    "stm32h7b3": BoardModel("stm32h7b3xx", _h7, _h7_ports, reset_line=True, pin="P{port}{pin}", currents=_H7_CURRENTS),
    "stm32f746": BoardModel("stm32f746xg", _f746, _f746_ports, reset_line=True, pin="P{port}{pin}", currents=_F746_CURRENTS),
    "nrf52840": BoardModel(
        "nrf52840", _nrf, nrf52840_ports, reset_line=True, pin="P{port}.{pin:02d}", currents=_NRF_CURRENTS
    ),
    "rp2040": BoardModel("rp2040", _pico, _pico_ports, reset_line=False, pin="{port}{pin}", currents=_PICO_CURRENTS),
    "imxrt1062": BoardModel("mimxrt1060", _teensy, _teensy_ports, reset_line=False, pin="{port}_IO{pin:02}", currents=_TEENSY_CURRENTS),
}
