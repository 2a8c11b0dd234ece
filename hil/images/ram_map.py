"""What an image claims of a board's RAM: the areas of its symbols, its own sections, and what nothing claims."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from hil.boards import Board, Region
from hil.images.images import Image

ARENA, STACK, STATIC, DMA, UNCLAIMED = "arena", "stack", "static", "dma", "unclaimed"
SECTION, SEGMENT = "section ", "segment "  # begin the owner of a part that is in none of these areas
OUTSIDE = "outside the catalogue"  # in the place of a memory's name
AREAS = {  # their symbols (firmware/ports/common/sections.ld); of two that overlap, the first owns the bytes
    ARENA: ("__arena_start", "__arena_end"),
    STACK: ("__stack_bottom", "__stack_top"),
    DMA: ("__dma_start", "__dma_end"),
    STATIC: ("__static_start", "__static_end"),
}


@dataclass(frozen=True)
class Claim:
    """A range of RAM with one owner.

    Attributes:
        memory: name in the catalogue, or `OUTSIDE`: the catalogue has no memory there.
        owner: `static`, `stack`, `arena`, `dma`, `section NAME`, `segment 0xADDRESS` or `unclaimed`.
        start, size: address, and size in bytes.
    """

    memory: str
    owner: str
    start: int
    size: int

    @property
    def end(self) -> int:
        """Address after the last byte."""
        return self.start + self.size

    @property
    def is_own_part(self) -> bool:
        """Whether it is a section or a segment of the image outside its areas: all of it counts as used."""
        return self.owner.startswith((SECTION, SEGMENT))


@dataclass(frozen=True)
class _Range:
    owner: str
    start: int
    end: int

    def covers(self, other: _Range) -> bool:
        return self.start <= other.start and other.end <= self.end


def ram_map(image: Image, board: Board) -> tuple[Claim, ...]:
    """Return the owner of every byte of the board's RAM, and of what the image allocates outside its memories.

    Every byte has one owner, so that sizes may be added. A section that lies in the arena or the stack, and is not the
    arena or the stack itself, owns its bytes.

    Returns:
        Claims by memory in the order of the catalogue, ascending, then those outside the catalogue.
    """
    owners = _owners(image)
    memories = [region for region in board.memory if region.kind == "ram"]
    claims = [
        claim
        for memory in memories
        for claim in _in_range(memory.name, memory.start, memory.start + memory.size, owners)
    ]
    outside = (claim for start, end in _gaps(board.memory) for claim in _in_range(OUTSIDE, start, end, owners))
    return (*claims, *(claim for claim in outside if claim.owner != UNCLAIMED))


def _owners(image: Image) -> list[_Range]:
    """Return what claims memory; of several that overlap, the first owns the bytes."""
    symbols = {symbol.name: symbol.address for symbol in image.table}
    areas = [
        _Range(owner, symbols[first], symbols[last])
        for owner, (first, last) in AREAS.items()
        if first in symbols and last in symbols
    ]
    parts = list(_allocated(image))
    painted = [area for area in areas if area.owner in (ARENA, STACK)]
    inside = [
        part
        for part in parts
        if part.owner.startswith(SECTION) and any(area.covers(part) and not part.covers(area) for area in painted)
    ]
    return [*inside, *areas, *parts]


def _allocated(image: Image) -> Iterator[_Range]:
    """Yield the allocated sections of a file, then its segments, which also cover what has no section header.

    A .tbss has an address, but no memory (Tool Interface Standard, ELF Specification 1.2; gABI, SHF_TLS).
    """
    with image.path.open("rb") as file:
        elf = ELFFile(file)
        for section in elf.iter_sections():
            flags, size = section["sh_flags"], section["sh_size"]
            thread_local = flags & SH_FLAGS.SHF_TLS and section["sh_type"] == "SHT_NOBITS"
            if flags & SH_FLAGS.SHF_ALLOC and size and not thread_local:
                yield _Range(f"{SECTION}{section.name}", section["sh_addr"], section["sh_addr"] + size)
        for segment in elf.iter_segments("PT_LOAD"):
            start, size = segment["p_vaddr"], segment["p_memsz"]
            if size:
                yield _Range(f"{SEGMENT}0x{start:08X}", start, start + size)


def static_bytes(image: Image) -> int:
    """Return the size of an image's static memory in bytes."""
    at = image.symbols
    return at["__static_end"] - at["__static_start"] + at.get("__dma_end", 0) - at.get("__dma_start", 0)


def _in_range(memory: str, start: int, end: int, owners: list[_Range]) -> Iterator[Claim]:
    """Yield the claims from `start` to `end`, without a gap; neighbours with one owner are one claim."""
    inner = {edge for each in owners for edge in (each.start, each.end) if start < edge < end}
    edges = sorted({start, end, *inner})
    last: Claim | None = None
    for first, following in itertools.pairwise(edges):
        owner = next((each.owner for each in owners if each.start <= first and following <= each.end), UNCLAIMED)
        if last is not None and last.owner == owner:
            last = Claim(memory, owner, last.start, following - last.start)
            continue
        if last is not None:
            yield last
        last = Claim(memory, owner, first, following - first)
    if last is not None:
        yield last


def _gaps(memories: Iterable[Region]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last address (exclusive) of every range without a memory."""
    end = 0
    for memory in sorted(memories, key=lambda memory: memory.start):
        if memory.start > end:
            yield end, memory.start
        end = max(end, memory.start + memory.size)
    yield end, 1 << 32
