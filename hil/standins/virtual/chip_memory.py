"""pyOCD's memory interface to the emulated chip."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from pyocd.core import exceptions
from pyocd.core.memory_interface import MemoryInterface

from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.machine import Machine
from hil.standins.virtual.runner import ChipRunner

# Byte read from a closed memory. The flash window of an RP2040 does not fault while the SSI is set up for commands, and
# pyOCD reads it in that state before it programs a new chip. The value that silicon returns then is not documented.
CLOSED_MEMORY_BYTE = 0x5A
CACHEABLE = 1 << 27  # CSW: HPROT[3]
_WHO = "the debugger, without CSW.HPROT[3],"
# Virtual time of an access while the core stands still, when nothing else lets time pass: of the order of a round trip
# to a probe on USB. Oscillators, PLLs and supplies come up meanwhile, as on silicon.
ACCESS_PS = 100_000_000
T = TypeVar("T")


class ChipMemory(MemoryInterface):  # type: ignore[misc]  # pyOCD comes without types
    """Memory and registers as the debugger sees them, whether the core runs or not.

    All accesses raise TransferFaultError if nothing answers at the address. The access port is the core's own: on chips
    that stop its clock, it does not answer while the core sleeps (`Machine.debugger_is_clocked`). `csw` is the CSW of
    the access port: only with HPROT[3], cacheable, an access looks into the core's data cache (ARM DDI 0489, AHBD).

    Args:
        runner: runs the chip.
        bus: returns the bus for register addresses; default: the machine's own bus.
    """

    def __init__(self, runner: ChipRunner, bus: Callable[[Machine], Bus] = lambda machine: machine.bus) -> None:
        self._runner = runner
        self._bus = bus
        self._refused = False  # whether the latest access was refused because the core sleeps

    @property
    def is_cached(self) -> bool:
        """Whether it matters what CSW says, because the core has a data cache."""
        with self._runner.paused() as machine:
            return machine.core.cache is not None

    def read_now(self, addr: int, transfer_size: int = 32, csw: int = 0) -> int:
        """Return what is read: one access of 8, 16 or 32 bits."""
        return int.from_bytes(self._read(addr, transfer_size // 8, csw), "little")

    def read_memory(
        self, addr: int, transfer_size: int = 32, now: bool = True, csw: int = 0, **_attrs: object
    ) -> int | Callable[[], int]:
        value = self.read_now(addr, transfer_size, csw)
        return value if now else lambda: value

    def write_memory(self, addr: int, data: int, transfer_size: int = 32, csw: int = 0, **_attrs: object) -> None:
        self._write(addr, data.to_bytes(transfer_size // 8, "little"), csw)

    def read_memory_block32(self, addr: int, size: int, csw: int = 0, **_attrs: object) -> list[int]:
        return list(struct.unpack(f"<{size}I", self._read(addr, 4 * size, csw)))

    def write_memory_block32(self, addr: int, data: Sequence[int], csw: int = 0, **_attrs: object) -> None:
        self._write(addr, struct.pack(f"<{len(data)}I", *data), csw)

    def read_memory_block8(self, addr: int, size: int, csw: int = 0, **_attrs: object) -> list[int]:
        return list(self._read(addr, size, csw))

    def write_memory_block8(self, addr: int, data: Sequence[int], csw: int = 0, **_attrs: object) -> None:
        self._write(addr, bytes(data), csw)

    def _answers(self, machine: Machine, address: int) -> None:
        """Raise TransferFaultError if the access port does not answer now."""
        if machine.dead:
            raise exceptions.TransferFaultError(fault_address=address)
        sleeps = self._needs_core(machine) and machine.asleep and not machine.reset_line
        if sleeps and not self._refused:
            machine.log(f"the debugger was refused: 0x{address:08X} while the core sleeps; {machine.clock_debugger}")
        self._refused = sleeps
        if sleeps:
            raise exceptions.TransferFaultError(fault_address=address)
        if machine.halting.halted:
            machine.systick.stand_still(ACCESS_PS)
            machine.clock.wait_until(machine.clock.now + ACCESS_PS)

    def _needs_core(self, machine: Machine) -> bool:
        """Return whether the access port has no clock while the core sleeps."""
        return not machine.debugger_is_clocked()

    def _is_memory(self, machine: Machine, address: int, size: int) -> bool:
        return machine.core.find(address, size) is not None

    def _read(self, address: int, size: int, csw: int) -> bytes:
        with self._runner.paused() as machine:
            self._answers(machine, address)
            if self._is_memory(machine, address, size):
                if machine.core.closed_reason(address) is not None:
                    return bytes([CLOSED_MEMORY_BYTE]) * size
                if csw & CACHEABLE:
                    return machine.core.peek(address, size)
                return machine.core.load_main(address, size, _WHO)
            return b"".join(self._register(machine, a, n).to_bytes(n, "little") for a, n in _accesses(address, size))

    def _register(self, machine: Machine, address: int, size: int) -> int:
        bus = self._bus(machine)
        return _as_debugger(machine, bus, address, lambda: bus.read(address, size))

    def _write(self, address: int, data: bytes, csw: int) -> None:
        with self._runner.paused() as machine:
            self._answers(machine, address)
            bus = self._bus(machine)
            if self._is_memory(machine, address, len(data)):
                core = machine.core
                store = core.poke if csw & CACHEABLE else partial(core.poke_main, who=_WHO)
                _as_debugger(machine, bus, address, partial(store, address, data))
                return
            for place, size in _accesses(address, len(data)):
                value = int.from_bytes(data[place - address : place - address + size], "little")
                _as_debugger(machine, bus, place, partial(bus.write, place, size, value))


class DebugBus(ChipMemory):
    """Registers on a bus of its own, which an APB access port reaches past the core, also while the core sleeps."""

    def _needs_core(self, machine: Machine) -> bool:
        return False

    def _is_memory(self, machine: Machine, address: int, size: int) -> bool:
        return False


def _accesses(address: int, size: int) -> list[tuple[int, int]]:
    """Split a range of registers into accesses: words or a half-word if it is aligned, else bytes."""
    unit = 4 if address % 4 == 0 and size % 4 == 0 else 2 if address % 2 == 0 and size == 2 else 1
    return [(a, unit) for a in range(address, address + size, unit)]


def _as_debugger(machine: Machine, bus: Bus, address: int, access: Callable[[], T]) -> T:
    bus.debugger = True
    try:
        return access()
    except ModelFault as fault:
        machine.log(f"the debugger was refused: {fault}")
        raise exceptions.TransferFaultError(fault_address=address) from fault
    finally:
        bus.debugger = False
