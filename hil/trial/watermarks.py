"""SRAM watermarks: static bytes, arena peak and stack peak, reported by the agent and read back through the probe.

Arena and stack are painted with a known word before training. A peak is the distance from the start of use to the last
word whose paint changed (the stack grows downwards). A used byte at the very edge that equals its paint is missed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass

import numpy as np

from hil.images import Image

ARENA_PAINT = 0xA5C3965A.to_bytes(4, "little")  # firmware/engine/engine.c
STACK_PAINT = 0xC5C5C5C5.to_bytes(4, "little")  # firmware/agent/memory.c


@dataclass(frozen=True)
class Watermarks:
    """Bytes of SRAM in use.

    `static` is .data, .bss and the DMA section (.dma); the peaks are painted memory whose paint changed.
    """

    static: int
    arena_peak: int
    stack_peak: int

    @property
    def total(self) -> int:
        """Total SRAM that the firmware needs."""
        return self.static + self.arena_peak + self.stack_peak

    def larger(self, other: Watermarks) -> Watermarks:
        """Return the larger value of both, field by field."""
        return Watermarks(*map(max, astuple(self), astuple(other)))


def through_probe(read: Callable[[int, int], bytes], image: Image) -> Watermarks:
    """Read the watermarks from the board's memory by `read(address, size)`; addresses are the ELF file's symbols."""
    at = image.symbols
    arena = _painted(read, at["__arena_start"], at["__arena_end"], ARENA_PAINT)
    used = np.flatnonzero(~arena)
    return Watermarks(
        static=static_bytes(image), arena_peak=int(used[-1] + 1) if used.size else 0, stack_peak=stack_peak(read, image)
    )


def static_bytes(image: Image) -> int:
    """Return the size of an image's static memory in bytes."""
    at = image.symbols
    return at["__static_end"] - at["__static_start"] + at.get("__dma_end", 0) - at.get("__dma_start", 0)


def stack_peak(read: Callable[[int, int], bytes], image: Image) -> int:
    """Return the bytes of stack whose paint changed, from the top down; the whole stack if its bottom was used."""
    stack = _painted(read, image.symbols["__stack_bottom"], image.symbols["__stack_top"], STACK_PAINT)
    deepest = np.flatnonzero(~stack)
    return int(stack.size - deepest[0] // 4 * 4) if deepest.size else 0


def _painted(read: Callable[[int, int], bytes], start: int, end: int, paint: bytes) -> np.ndarray:
    """Return for every byte whether its paint is intact, bool[n]."""
    memory = np.frombuffer(read(start, (end - start) & ~3), np.uint8)
    return np.equal(memory, np.resize(np.frombuffer(paint, np.uint8), memory.size))
