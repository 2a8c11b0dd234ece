"""Use of SRAM: watermarks of arena and stack, reported by the agent and read back through the probe; rows of all RAM.

Arena and stack are painted with a known word before training. A peak is the distance from the start of use to the last
word whose paint changed (the stack grows downwards). A used byte at the very edge that equals its paint is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass

import numpy as np

from hil.images import Image
from hil.images.ram_map import ARENA, STACK, UNCLAIMED, Claim, static_bytes

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

    def larger(self, other: Watermarks) -> Watermarks:
        """Return the larger value of both, field by field."""
        return Watermarks(*map(max, astuple(self), astuple(other)))


@dataclass(frozen=True)
class RamRow:
    """One claim on RAM, and how many of its bytes are used; None: unclaimed RAM that was not compared."""

    claim: Claim
    used: int | None


@dataclass(frozen=True)
class RamUse:
    """All RAM of a board, and what the firmware uses of it.

    Attributes:
        marks: the watermarks.
        rows: one for each claim (`ram_map`).
    """

    marks: Watermarks
    rows: tuple[RamRow, ...] = ()

    @property
    def sections(self) -> int:
        """Bytes of the image's own sections and segments, outside static memory, DMA section, arena and stack."""
        return sum(row.used or 0 for row in self.rows if row.claim.is_own_part)

    @property
    def unclaimed(self) -> int | None:
        """Bytes of unclaimed RAM that were written; None if none of it was compared."""
        compared = [row.used for row in self.rows if row.claim.owner == UNCLAIMED and row.used is not None]
        return sum(compared) if compared else None

    @property
    def total(self) -> int:
        """Bytes of RAM that the firmware uses."""
        marks = self.marks
        return marks.static + marks.arena_peak + marks.stack_peak + self.sections + (self.unclaimed or 0)


def ram_use(marks: Watermarks, claims: Iterable[Claim], written: Mapping[int, int]) -> RamUse:
    """Return the use of all RAM.

    Args:
        marks: the watermarks; the arena is used from its start, the stack from its end.
        claims: of `ram_map`.
        written: bytes that were written by the address of each unclaimed area that was compared, rounded up to a word.
    """
    claims = tuple(claims)
    arena = min((claim.start for claim in claims if claim.owner == ARENA), default=0) + marks.arena_peak
    stack = max((claim.end for claim in claims if claim.owner == STACK), default=0) - marks.stack_peak

    def used(claim: Claim) -> int | None:
        if claim.owner == ARENA:
            return min(max(arena - claim.start, 0), claim.size)
        if claim.owner == STACK:
            return min(max(claim.end - stack, 0), claim.size)
        return written.get(-(-claim.start // 4) * 4) if claim.owner == UNCLAIMED else claim.size

    return RamUse(marks, tuple(RamRow(claim, used(claim)) for claim in claims))


def through_probe(read: Callable[[int, int], bytes], image: Image) -> Watermarks:
    """Read the watermarks from the board's memory by `read(address, size)`; addresses are the ELF file's symbols."""
    at = image.symbols
    arena = _painted(read, at["__arena_start"], at["__arena_end"], ARENA_PAINT)
    used = np.flatnonzero(~arena)
    return Watermarks(
        static=static_bytes(image), arena_peak=int(used[-1] + 1) if used.size else 0, stack_peak=stack_peak(read, image)
    )


def stack_peak(read: Callable[[int, int], bytes], image: Image) -> int:
    """Return the bytes of stack whose paint changed, from the top down; the whole stack if its bottom was used."""
    stack = _painted(read, image.symbols["__stack_bottom"], image.symbols["__stack_top"], STACK_PAINT)
    deepest = np.flatnonzero(~stack)
    return int(stack.size - deepest[0] // 4 * 4) if deepest.size else 0


def _painted(read: Callable[[int, int], bytes], start: int, end: int, paint: bytes) -> np.ndarray:
    """Return for every byte whether its paint is intact, bool[n]."""
    memory = np.frombuffer(read(start, (end - start) & ~3), np.uint8)
    return np.equal(memory, np.resize(np.frombuffer(paint, np.uint8), memory.size))
