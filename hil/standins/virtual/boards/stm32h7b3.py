"""STM32H7B3I-DK."""

from __future__ import annotations

from functools import partial

from hil.standins.virtual.access_port import MemoryPort
from hil.standins.virtual.boards import BoardModel
from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.machine import Machine
from hil.standins.virtual.chip.stm32h7b3.chip import Stm32H7B3
from hil.standins.virtual.chip_memory import ChipMemory, DebugBus
from hil.standins.virtual.debug_port import DebugPort, PortId
from hil.standins.virtual.meter.supply import Currents
from hil.standins.virtual.runner import ChipRunner

CRYSTAL_HZ = 24_000_000  # UM2569, clock sources
# SW-DP version 2; access port 0 is the core's AHB-AP, 2 the APB-AP of the system's debug bus (RM0455, debug
# infrastructure; IDR and BASE as pyOCD and OpenOCD report them of STM32H7). AP1, to the AXI bus, is not modelled.
_IDENTITY, _CORE_PORT, _SYSTEM_PORT = PortId(0x6BA02477), (0x84770001, 0xE00FE003), (0x54770002, 0xE00E0003)
# Assumptions: of the order of DS13195, typical current in Run and Sleep mode with SMPS, 5 mA for the rest of the
# board, and 1 mA for powered debug logic.
CURRENTS = Currents(0.095, 0.035, 0.008, 3.3, "of the order of DS13195; assumed", debug_a=0.001)


def _system_bus(machine: Machine) -> Bus:
    assert isinstance(machine, Stm32H7B3)
    return machine.debug_bus


def _ports(runner: ChipRunner) -> list[DebugPort]:
    core, system = ChipMemory(runner), DebugBus(runner, _system_bus)
    return [DebugPort(_IDENTITY, {0: MemoryPort(core, *_CORE_PORT), 2: MemoryPort(system, *_SYSTEM_PORT)})]


MODEL = BoardModel(
    partial(Stm32H7B3, hse_hz=CRYSTAL_HZ), _ports, reset_line=True, pin="P{port}{pin}", currents=CURRENTS
)
