"""Registers of a debug port and its memory access port (ARM IHI 0031, B2.2 and C2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hil.standins.virtual.chip_memory import ChipMemory

_CSW_READ_ONLY = 0x40  # device enabled
_WRAP = 0x400  # the auto-incremented part of TAR


@dataclass(frozen=True)
class PortId:
    """Identification registers of a debug port.

    Attributes:
        dpidr: DPIDR.
        ap_idr: IDR of the access port.
        rom_table: BASE of the access port.
        target: TARGETID if several ports share a wire; bits 31:28 are the instance, which DLPIDR repeats.
    """

    dpidr: int
    ap_idr: int
    rom_table: int
    target: int | None = None


class VendorPort(Protocol):
    """A vendor-specific access port; registers are addressed by their offset in the port."""

    def read(self, register: int) -> int: ...

    def write(self, register: int, value: int) -> None: ...


class DebugPort:
    """A debug port and its access ports, as registers.

    Args:
        memory: memory that access port 0 accesses.
        identity: identification registers.
        vendor: access port 1, if the chip has one; no other access port answers.
    """

    def __init__(self, memory: ChipMemory, identity: PortId, vendor: VendorPort | None = None) -> None:
        self.memory = memory
        self.identity = identity
        self._vendor = vendor
        self._select = self._control = self._buffer = 0
        self._csw, self._tar = 0x03000042, 0

    def line_reset(self) -> None:
        """Clear SELECT after a line reset or a protocol switch."""
        self._select = 0

    def read_dp(self, address: int) -> int:
        bank = self._select & 0xF
        if address == 0x0:
            return self.identity.dpidr
        if address == 0x4:
            target = self.identity.target or 0
            return {0: self._control_status(), 2: target, 3: target & 0xF0000000 | 1}.get(bank, 0)
        return self._buffer if address == 0xC else 0

    def _control_status(self) -> int:
        acknowledged = self._control >> 1 & 1 << 29 | self._control << 1 & 1 << 31 | self._control << 1 & 1 << 29
        return self._control & 0x54000F22 | acknowledged & 0xA0000000

    def write_dp(self, address: int, data: int) -> None:
        if address == 0x4 and self._select & 0xF == 0:
            self._control = data
        elif address == 0x8:
            self._select = data

    def read_ap(self, address: int) -> int:
        self._buffer = self._read_ap(address)
        return self._buffer

    def _read_ap(self, address: int) -> int:
        register = self._select & 0xF0 | address & 0xC
        if self._select >> 24:
            return self._vendor.read(register) if self._vendor is not None and self._select >> 24 == 1 else 0
        if register == 0x0C:
            return self._transfer(None)
        if register & 0xF0 == 0x10:
            return self.memory.read_now(self._tar & ~0xF | register & 0xC)
        known = {
            0x00: self._csw | _CSW_READ_ONLY,
            0x04: self._tar,
            0xF8: self.identity.rom_table,
            0xFC: self.identity.ap_idr,
        }
        return known.get(register, 0)

    def write_ap(self, address: int, data: int) -> None:
        register = self._select & 0xF0 | address & 0xC
        if self._select >> 24:
            if self._vendor is not None and self._select >> 24 == 1:
                self._vendor.write(register, data)
            return
        if register == 0x00:
            self._csw = data
        elif register == 0x04:
            self._tar = data
        elif register == 0x0C:
            self._transfer(data)
        elif register & 0xF0 == 0x10:
            self.memory.write_memory(self._tar & ~0xF | register & 0xC, data)

    def _transfer(self, data: int | None) -> int:
        """Do one access through DRW; a byte or half-word uses its byte lanes of the 32-bit word."""
        size = (1, 2, 4)[min(self._csw & 7, 2)]
        address, lane = self._tar, 8 * (self._tar & 3 & ~(size - 1))
        if self._csw & 0x30:
            self._tar = self._tar & ~(_WRAP - 1) | self._tar + size & _WRAP - 1
        if data is None:
            return self.memory.read_now(address, 8 * size) << lane
        self.memory.write_memory(address, data >> lane & (1 << 8 * size) - 1, 8 * size)
        return 0

    def read_ap_multiple(self, address: int, count: int) -> list[int]:
        return [self._read_ap(address) for _ in range(count)]

    def write_ap_multiple(self, address: int, values: Sequence[int]) -> None:
        for value in values:
            self.write_ap(address, value)
