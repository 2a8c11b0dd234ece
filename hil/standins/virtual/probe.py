"""A debug probe for pyOCD whose target is the emulated chip: a debug port and the processor's AHB access port.

Sources: ARM IHI 0031 (ADIv5), pyOCD's `DebugProbe` interface. The other access ports of STM32H7B3 do not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from pyocd.core import exceptions
from pyocd.core.memory_interface import MemoryInterface
from pyocd.probe.debug_probe import DebugProbe

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.machine import Machine
from hil.standins.virtual.runner import Runner

DPIDR = 0x6BA02477  # SW-DP version 2 of STM32H7 (RM0455, debug support)
AHB_AP_IDR = 0x84770001
ROM_TABLE = 0xE00FE003
_CSW_READ_ONLY = 0x40  # device enabled
_WRAP = 0x400  # the auto-incremented part of TAR


class ChipMemory(MemoryInterface):
    """Memory as the debugger sees it, while the core runs or not; raises TransferFaultError where nothing answers."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def read_memory(self, addr: int, transfer_size: int = 32, now: bool = True, **_attrs: object) -> int | Callable[[], int]:
        value = int.from_bytes(self._read(addr, transfer_size // 8), "little")
        return value if now else lambda: value

    def write_memory(self, addr: int, data: int, transfer_size: int = 32, **_attrs: object) -> None:
        self._write(addr, data.to_bytes(transfer_size // 8, "little"))

    def read_memory_block32(self, addr: int, size: int, **_attrs: object) -> list[int]:
        data = self._read(addr, 4 * size)
        return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]

    def write_memory_block32(self, addr: int, data: Sequence[int], **_attrs: object) -> None:
        self._write(addr, b"".join(word.to_bytes(4, "little") for word in data))

    def read_memory_block8(self, addr: int, size: int, **_attrs: object) -> list[int]:
        return list(self._read(addr, size))

    def write_memory_block8(self, addr: int, data: Sequence[int], **_attrs: object) -> None:
        self._write(addr, bytes(data))

    def _read(self, address: int, size: int) -> bytes:
        with self._runner.paused() as machine:
            if machine.core.find(address, size):
                return machine.core.peek(address, size)
            return b"".join(self._register(machine, a, n).to_bytes(n, "little") for a, n in _accesses(address, size))

    def _register(self, machine: Machine, address: int, size: int) -> int:
        return _as_debugger(machine, address, lambda: machine.bus.read(address, size))

    def _write(self, address: int, data: bytes) -> None:
        with self._runner.paused() as machine:
            if machine.core.find(address, len(data)):
                _as_debugger(machine, address, lambda: machine.core.poke(address, data))
                return
            for place, size in _accesses(address, len(data)):
                value = int.from_bytes(data[place - address : place - address + size], "little")
                _as_debugger(machine, place, lambda place=place, size=size, value=value: machine.bus.write(place, size, value))


def _accesses(address: int, size: int) -> list[tuple[int, int]]:
    """Cut a range of registers into words where it is aligned to them, and bytes elsewhere."""
    unit = 4 if address % 4 == 0 and size % 4 == 0 else 2 if address % 2 == 0 and size == 2 else 1
    return [(a, unit) for a in range(address, address + size, unit)]


def _as_debugger(machine: Machine, address: int, access: Callable[[], object]) -> object:
    machine.bus.debugger = True
    try:
        return access()
    except ModelFault as fault:
        machine.log(f"the debugger was refused: {fault}")
        raise exceptions.TransferFaultError(fault_address=address) from fault
    finally:
        machine.bus.debugger = False


class VirtualProbe(DebugProbe):
    """Args:
        runner: the chip.
        unique_id: the serial number that the probe reports.
    """

    def __init__(self, runner: Runner, unique_id: str) -> None:
        super().__init__()
        self._runner = runner
        self._id = unique_id
        self._memory = ChipMemory(runner)
        self._open = False
        self._protocol: DebugProbe.Protocol | None = None
        self._reset = False
        self._select = self._control = self._buffer = 0
        self._csw, self._tar = 0x03000042, 0

    vendor_name = property(lambda self: "trainrig")
    product_name = property(lambda self: "virtual probe")
    supported_wire_protocols: Collection[DebugProbe.Protocol] = property(
        lambda self: [DebugProbe.Protocol.DEFAULT, DebugProbe.Protocol.SWD]
    )
    unique_id = property(lambda self: self._id)
    wire_protocol = property(lambda self: self._protocol)
    is_open = property(lambda self: self._open)
    capabilities = property(lambda self: {self.Capability.SWJ_SEQUENCE, self.Capability.BANKED_DP_REGISTERS,
                                          self.Capability.APv2_ADDRESSES})  # fmt: skip

    def open(self) -> None:
        self._open = True

    def close(self) -> None:
        self._open = False

    def connect(self, protocol: DebugProbe.Protocol | None = None) -> None:
        self._protocol = DebugProbe.Protocol.SWD

    def disconnect(self) -> None:
        self._protocol = None

    def swj_sequence(self, length: int, bits: int) -> None:
        """A line reset or protocol switch: the debug port forgets its selection."""
        self._select = 0

    def set_clock(self, frequency: float) -> None:
        """The virtual wire has no speed."""

    def reset(self) -> None:
        self.assert_reset(True)
        self.assert_reset(False)

    def assert_reset(self, asserted: bool) -> None:
        self._reset = bool(asserted)
        with self._runner.paused() as machine:
            machine.hold_reset(self._reset)

    def is_reset_asserted(self) -> bool:
        return self._reset

    # debug port (ARM IHI 0031, B2.2)

    def read_dp(self, addr: int, now: bool = True) -> int | Callable[[], int]:
        bank = self._select & 0xF
        if addr == 0x0:
            value = DPIDR
        elif addr == 0x4:
            value = self._control_status() if bank == 0 else 0
        else:
            value = self._buffer if addr == 0xC else 0
        return value if now else lambda: value

    def _control_status(self) -> int:
        acknowledged = self._control >> 1 & 1 << 29 | self._control << 1 & 1 << 31 | self._control << 1 & 1 << 29
        return self._control & 0x54000F22 | acknowledged & 0xA0000000

    def write_dp(self, addr: int, data: int) -> None:
        if addr == 0x4 and self._select & 0xF == 0:
            self._control = data
        elif addr == 0x8:
            self._select = data

    # access port 0 (ARM IHI 0031, C2)

    def read_ap(self, addr: int, now: bool = True) -> int | Callable[[], int]:
        value = self._read_ap(addr) if self._select >> 24 == 0 else 0
        self._buffer = value
        return value if now else lambda: value

    def _read_ap(self, addr: int) -> int:
        register = self._select & 0xF0 | addr & 0xC
        if register == 0x0C:
            return self._transfer(None)
        if register & 0xF0 == 0x10:
            return int(self._memory.read_memory(self._tar & ~0xF | register & 0xC))
        return {0x00: self._csw | _CSW_READ_ONLY, 0x04: self._tar, 0xF8: ROM_TABLE, 0xFC: AHB_AP_IDR}.get(register, 0)

    def write_ap(self, addr: int, data: int) -> None:
        if self._select >> 24:
            return
        register = self._select & 0xF0 | addr & 0xC
        if register == 0x00:
            self._csw = data
        elif register == 0x04:
            self._tar = data
        elif register == 0x0C:
            self._transfer(data)
        elif register & 0xF0 == 0x10:
            self._memory.write_memory(self._tar & ~0xF | register & 0xC, data)

    def _transfer(self, data: int | None) -> int:
        """One access through DRW: bytes stand in their lanes of the 32-bit word."""
        size = (1, 2, 4)[min(self._csw & 7, 2)]
        address, lane = self._tar, 8 * (self._tar & 3 & ~(size - 1))
        if self._csw & 0x30:
            self._tar = self._tar & ~(_WRAP - 1) | self._tar + size & _WRAP - 1
        if data is None:
            return int(self._memory.read_memory(address, 8 * size)) << lane
        self._memory.write_memory(address, data >> lane & (1 << 8 * size) - 1, 8 * size)
        return 0

    def read_ap_multiple(self, addr: int, count: int = 1, now: bool = True) -> list[int] | Callable[[], list[int]]:
        values = [self._read_ap(addr) for _ in range(count)]
        return values if now else lambda: values

    def write_ap_multiple(self, addr: int, values: Sequence[int]) -> None:
        for value in values:
            self.write_ap(addr, value)

    def get_memory_interface_for_ap(self, ap_address: object) -> MemoryInterface | None:
        """Blocks of memory at once, instead of word by word through DRW."""
        return self._memory if getattr(ap_address, "apsel", None) == 0 else None
