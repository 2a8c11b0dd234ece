"""SRAM watermarks: static bytes, arena peak and stack peak, said by the agent and read back through the probe.

Arena and stack are painted with a known word before training; a peak is the distance from the start of use to the
last word that lost its paint (the stack grows downwards).
A byte that was used and happens to hold its paint again, at the very edge, makes a peak too small by what is equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hil.boards import Image

ARENA_PAINT = 0xA5C3965A.to_bytes(4, "little")  # firmware/net/engine.c
STACK_PAINT = 0xC5C5C5C5.to_bytes(4, "little")  # firmware/agent/memory.c


@dataclass(frozen=True)
class Watermarks:
    """Bytes of SRAM in use: `static` is .data, .bss and what only a DMA needs apart (.dma), the peaks are painted memory that lost its paint."""

    static: int
    arena_peak: int
    stack_peak: int

    @property
    def total(self) -> int:
        """All SRAM that the firmware needs."""
        return self.static + self.arena_peak + self.stack_peak


def through_probe(read: Callable[[int, int], bytes], image: Image) -> Watermarks:
    """Read the watermarks from the board's memory; addresses are the ELF file's symbols.

    Args:
        read: reads (address, size) through the probe.
        image: the ELF file that runs.
    """
    at = image.symbols
    arena = _painted(read, at["__arena_start"], at["__arena_end"], ARENA_PAINT)
    stack = _painted(read, at["__stack_bottom"], at["__stack_top"], STACK_PAINT)
    used, deepest = np.flatnonzero(~arena), np.flatnonzero(~stack)
    return Watermarks(
        static=at["__static_end"] - at["__static_start"] + at["__dma_end"] - at["__dma_start"],
        arena_peak=int(used[-1] + 1) if used.size else 0,
        stack_peak=int(stack.size - deepest[0] // 4 * 4) if deepest.size else 0,
    )


def _painted(read: Callable[[int, int], bytes], start: int, end: int, paint: bytes) -> np.ndarray:
    """Say of every byte whether it still has its paint."""
    memory = np.frombuffer(read(start, (end - start) & ~3), np.uint8)
    return memory == np.resize(np.frombuffer(paint, np.uint8), memory.size)
