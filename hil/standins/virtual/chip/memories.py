"""The memories of a chip as NumPy arrays, shared by the emulated core and the debugger."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.standins.virtual.chip.data_cache import DataCache
from hil.standins.virtual.chip.fault import ModelFault


@dataclass(frozen=True)
class PhysicalMemory:
    """A memory: name, base address, size in bytes, and whether the core may write it and execute from it.

    `alias` is the name of an earlier memory with the same bytes.
    """

    name: str
    base: int
    size: int
    writable: bool = True
    executable: bool = True
    alias: str = ""


class MemoryMap:
    """The memories of a chip.

    Args:
        memories: memories of the chip.

    Attributes:
        bytes: uint8 array of each memory by name, as the core sees it; initially 0 if the core can write the memory,
            else 0xFF.
        cache: data cache between the core and some memories, or None.
    """

    def __init__(self, memories: tuple[PhysicalMemory, ...]) -> None:
        self.memories = memories
        self.cache: DataCache | None = None
        self.bytes: dict[str, np.ndarray] = {}
        for m in memories:
            new = np.full(m.size, 0 if m.writable else 0xFF, np.uint8)
            self.bytes[m.name] = self.bytes[m.alias] if m.alias else new

    def find(self, address: int, size: int) -> tuple[PhysicalMemory, int] | None:
        """Return the memory that contains all of [address, address + size), and the offset in it; None if none does."""
        for memory in self.memories:
            offset = address - memory.base
            if offset >= 0 and offset + size <= memory.size:
                return memory, offset
        return None

    def load_main(self, address: int, size: int, who: str) -> bytes:
        """Read memory as something other than the core does: past its data cache. `who` is for the log."""
        data = None if self.cache is None else self.cache.load(address, size, who)
        return self.peek(address, size) if data is None else data

    def store_main(self, address: int, data: bytes, who: str) -> None:
        """Write memory as something other than the core does: past its data cache. `who` is for the log."""
        if self.cache is None or not self.cache.store(address, data, who):
            self.store(address, data)

    def peek(self, address: int, size: int) -> bytes:
        """Read memory without side effects; raise ModelFault outside the memories."""
        place = self.find(address, size)
        if place is None:
            raise ModelFault(f"read of 0x{address:08X}: the chip has no memory there", address, "read")
        memory, offset = place
        return self.bytes[memory.name][offset : offset + size].tobytes()

    def store(self, address: int, data: bytes) -> None:
        """Write memory that has no code, e.g. a stack frame; raise ModelFault outside the writable memories."""
        place = self.find(address, len(data))
        if place is None or not place[0].writable:
            raise ModelFault(f"write of 0x{address:08X}: the chip has no writable memory there", address, "write")
        memory, offset = place
        self.bytes[memory.name][offset : offset + len(data)] = np.frombuffer(data, np.uint8)

    def poke(self, address: int, data: bytes) -> None:
        """Write memory, which may contain code, from outside the core; raise ModelFault as `store`."""
        self.store(address, data)
        self._stale_code = True
