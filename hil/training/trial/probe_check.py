"""Digests of the trained tensors, computed from memory that the probe reads: a check independent of the agent."""

from __future__ import annotations

from dataclasses import dataclass

import xxhash

from hil.dut import CoreProbe
from hil.images import Image


@dataclass
class ProbeCheck:
    """Reads the trained tensors from the arena.

    Attributes:
        places: (offset in the arena, bytes) of each tensor.
    """

    probe: CoreProbe
    image: Image
    places: tuple[tuple[int, int], ...]

    def digests(self) -> tuple[int, ...]:
        """Return XXH32 of every trained tensor, from the board's memory."""
        arena = self.image.symbols["__arena_start"]
        return tuple(xxhash.xxh32_intdigest(self.probe.read(arena + offset, size)) for offset, size in self.places)
