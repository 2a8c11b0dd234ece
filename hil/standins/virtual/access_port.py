"""A memory access port of a debug port, as registers (ARM IHI 0031, C2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hil.standins.virtual.chip_memory import ChipMemory

_CSW, _TAR, _DRW, _BASE, _IDR = 0x00, 0x04, 0x0C, 0xF8, 0xFC
_CSW_READ_ONLY = 0x40  # device enabled
_CSW_RESET = 0x03000042  # words, HPROT: data, privileged, neither bufferable nor cacheable
_INCREMENT = 0x30
_WRAP = 0x400  # the auto-incremented part of TAR


class AccessPort(Protocol):
    """An access port; registers are addressed by their offset in the port."""

    def read(self, register: int) -> int: ...

    def write(self, register: int, value: int) -> None: ...


class MemoryPort:
    """A memory access port.

    Args:
        memory: what it accesses.
        idr: IDR.
        rom_table: BASE.
    """

    def __init__(self, memory: ChipMemory, idr: int, rom_table: int) -> None:
        self.memory = memory
        self._fixed = {_BASE: rom_table, _IDR: idr}
        self._csw, self._tar = _CSW_RESET, 0

    def read(self, register: int) -> int:
        if register == _DRW:
            return self._transfer(None)
        if register & 0xF0 == 0x10:
            return self.memory.read_now(self._tar & ~0xF | register & 0xC, csw=self._csw)
        return {_CSW: self._csw | _CSW_READ_ONLY, _TAR: self._tar}.get(register, self._fixed.get(register, 0))

    def write(self, register: int, value: int) -> None:
        if register == _CSW:
            self._csw = value
        elif register == _TAR:
            self._tar = value
        elif register == _DRW:
            self._transfer(value)
        elif register & 0xF0 == 0x10:
            self.memory.write_memory(self._tar & ~0xF | register & 0xC, value, csw=self._csw)

    def _size(self) -> int:
        return (1, 2, 4)[min(self._csw & 7, 2)]

    def _advance(self, bytes_done: int) -> None:
        if self._csw & _INCREMENT:
            self._tar = self._tar & ~(_WRAP - 1) | self._tar + bytes_done & _WRAP - 1

    def _transfer(self, data: int | None) -> int:
        """Do one access through DRW; a byte or half-word uses its byte lanes of the 32-bit word."""
        size = self._size()
        address, lane = self._tar, 8 * (self._tar & 3 & ~(size - 1))
        self._advance(size)
        if data is None:
            return self.memory.read_now(address, 8 * size, csw=self._csw) << lane
        self.memory.write_memory(address, data >> lane & (1 << 8 * size) - 1, 8 * size, csw=self._csw)
        return 0

    def _words(self, register: int, count: int) -> int:
        """Return how many of `count` accesses are consecutive words up to the end of the auto-increment."""
        if register != _DRW or self._size() != 4 or self._tar & 3 or not self._csw & _INCREMENT:
            return 0
        return min(count, (_WRAP - (self._tar & _WRAP - 1)) // 4)

    def read_multiple(self, register: int, count: int) -> list[int]:
        """Read a register `count` times; consecutive words of memory are one block."""
        values: list[int] = []
        while len(values) < count:
            words = self._words(register, count - len(values))
            if words < 2:
                values.append(self.read(register))
                continue
            address = self._tar
            self._advance(4 * words)
            values += self.memory.read_memory_block32(address, words, csw=self._csw)
        return values

    def write_multiple(self, register: int, values: Sequence[int]) -> None:
        """Write a register with each value; consecutive words of memory are one block."""
        done = 0
        while done < len(values):
            words = self._words(register, len(values) - done)
            if words < 2:
                self.write(register, values[done])
                done += 1
                continue
            address = self._tar
            self._advance(4 * words)
            self.memory.write_memory_block32(address, values[done : done + words], csw=self._csw)
            done += words
