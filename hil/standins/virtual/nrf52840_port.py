"""Debug port of the nRF52840: a memory access port, which may be locked, and the CTRL-AP, which never is."""

from __future__ import annotations

from pyocd.core import exceptions

from hil.standins.virtual.access_port import MemoryPort
from hil.standins.virtual.chip.machine import Machine
from hil.standins.virtual.chip.nrf52840.chip import Nrf52840
from hil.standins.virtual.chip_memory import ChipMemory
from hil.standins.virtual.debug_port import DebugPort, PortId
from hil.standins.virtual.runner import ChipRunner

# SW-DP version 1, and the AHB-AP of Cortex-M4 (ARM DDI 0439B, debug).
_IDENTITY, _IDR, _ROM_TABLE = PortId(0x2BA01477), 0x24770011, 0xE00FF003


def debug_ports(runner: ChipRunner) -> list[DebugPort]:
    """Return the one debug port."""
    memory = MemoryPort(LockableMemory(runner), _IDR, _ROM_TABLE)
    return [DebugPort(_IDENTITY, {0: memory, 1: ControlPort(runner)})]


class LockableMemory(ChipMemory):
    """Memory as the debugger sees it; raises TransferFaultError while access port protection is active."""

    def _read(self, address: int, size: int, csw: int) -> bytes:
        self._check(address)
        return super()._read(address, size, csw)

    def _write(self, address: int, data: bytes, csw: int) -> None:
        self._check(address)
        super()._write(address, data, csw)

    def _check(self, address: int) -> None:
        with self._runner.paused() as machine:
            if _chip(machine).protection.locked:
                machine.log(f"the debugger was refused: 0x{address:08X} is behind access port protection")
                raise exceptions.TransferFaultError(fault_address=address)


class ControlPort:
    """The CTRL-AP (access_port.AccessPort).

    Args:
        runner: runs the chip.
    """

    def __init__(self, runner: ChipRunner) -> None:
        self._runner = runner

    def read(self, register: int) -> int:
        with self._runner.paused() as machine:
            return _chip(machine).ctrl_ap.read(register)

    def write(self, register: int, value: int) -> None:
        with self._runner.paused() as machine:
            _chip(machine).ctrl_ap.write(register, value)


def _chip(machine: Machine) -> Nrf52840:
    assert isinstance(machine, Nrf52840)
    return machine
