"""The memory plan: buffers placed in one arena by their lifetimes (docs/memory.md, placement). It knows no method."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

Span = tuple[int, int]  # first and last slot
KEPT = "kept"  # name of the buffer of samples that stay, in front of all others (docs/link.md)
SIZE, OFFSET = attrgetter("size"), attrgetter("offset")


class ArenaBuffer(NamedTuple):
    """One buffer: `size` bytes, a multiple of 8, at `offset` of the arena, alive from slot `first` to slot `last`."""

    name: str
    size: int
    first: int
    last: int
    offset: int = 0

    @classmethod
    def of(cls, name: str, size: int, span: Span) -> ArenaBuffer:
        """Return a buffer of at least `size` bytes."""
        return cls(name, up(size, 8), *span)

    def moved(self, offset: int) -> ArenaBuffer:
        """Return the same buffer at another offset."""
        return ArenaBuffer(self.name, self.size, self.first, self.last, offset)


@dataclass(frozen=True)
class Start:
    """A part of a step whose buffers are placed together.

    Attributes:
        first: its first layer.
        kept: buffers of the start before that are still needed. They are moved to the beginning, end to end.
        passing: the other buffers, in the order of the document.
        prefix: whether it only prepares the starts after it.
    """

    first: int
    kept: tuple[ArenaBuffer, ...]
    passing: tuple[ArenaBuffer, ...]
    prefix: bool = False


class ArenaLayout:
    """Where the buffers of every start lie, in their order, counted from the end of what lives through all training."""

    def __init__(self, starts: Iterable[Start]) -> None:
        self._starts = tuple(starts)

    @cached_property
    def starts(self) -> tuple[tuple[Start, tuple[ArenaBuffer, ...]], ...]:
        """Every start with its placed buffers."""
        places: dict[str, int] = {}
        found = []
        for start in self._starts:
            kept: list[ArenaBuffer] = []
            for buffer in sorted(start.kept, key=lambda buffer: places.get(buffer.name, 0)):
                kept.append(buffer.moved(end_of(kept)))
            placed = place([buffer for buffer in start.passing if buffer.size], kept)
            places = {buffer.name: buffer.offset for buffer in placed}
            found.append((start, placed))
        return tuple(found)

    @cached_property
    def size(self) -> int:
        """Bytes that the largest start needs."""
        return max(end_of(buffers) for _, buffers in self.starts)

    @cached_property
    def least(self) -> int:
        """A lower bound of `size` without placing: the most bytes that live at once in the first full start."""
        start = next(start for start in self._starts if not start.prefix)
        changes: Counter[int] = Counter()
        for buffer in start.passing:
            changes[buffer.first] += buffer.size
            changes[buffer.last + 1] -= buffer.size
        return max(accumulate(changes[slot] for slot in sorted(changes)), default=0)


@dataclass(frozen=True)
class Plan:
    """The placed buffers, and the bytes of arena that they need.

    Attributes:
        standing: what lives through all of training, end to end from the beginning of the arena.
        layout: what is placed after it.
    """

    standing: tuple[ArenaBuffer, ...]
    layout: ArenaLayout

    @classmethod
    def of(cls, standing: Iterable[tuple[str, int]], end: int, layout: ArenaLayout) -> Plan:
        """Place what lives through all of training, which ends with slot `end`: names and bytes."""
        placed: list[ArenaBuffer] = []
        for name, size in standing:
            placed.append(ArenaBuffer.of(name, size, (0, end)).moved(end_of(placed)))
        return cls(tuple(placed), layout)

    def behind(self, kept: int) -> Plan:
        """Return the plan behind so many bytes of samples that stay in RAM; the same plan with none."""
        if not kept:
            return self
        last = max((buffer.last for buffer in self.standing), default=0)
        front = ArenaBuffer.of(KEPT, kept, (0, last))
        return Plan((front, *(each.moved(front.size + each.offset) for each in self.standing)), self.layout)

    @property
    def front(self) -> int:
        """Bytes of arena in front of the file and all buffers: those of samples that stay in RAM."""
        return sum(buffer.size for buffer in self.standing if buffer.name == KEPT)

    @property
    def total(self) -> int:
        """Bytes of arena."""
        return end_of(self.standing) + self.layout.size

    @cached_property
    def starts(self) -> tuple[tuple[Start, tuple[ArenaBuffer, ...]], ...]:
        """Every start with its placed buffers."""
        base = end_of(self.standing)
        return tuple(
            (start, tuple(each.moved(base + each.offset) for each in placed)) for start, placed in self.layout.starts
        )

    @property
    def buffers(self) -> tuple[ArenaBuffer, ...]:
        """The buffers of the start that reaches highest, with what lives through all of training."""
        return (*self.standing, *max((buffers for _, buffers in self.starts), key=end_of))

    def fits(self, arena: int) -> bool:
        """Return whether an arena of so many bytes holds it."""
        return end_of(self.standing) + self.layout.least <= arena and self.total <= arena

    def offset(self, name: str) -> int:
        """Return where a buffer lies in the arena, of those that live through all of training."""
        return next(buffer.offset for buffer in self.standing if buffer.name == name)


def up(size: int, to: int) -> int:
    """Return a size rounded up to a multiple."""
    return -(-size // to) * to


def place(wanted: Sequence[ArenaBuffer], placed: Sequence[ArenaBuffer] = ()) -> tuple[ArenaBuffer, ...]:
    """Return `placed` and then `wanted`, largest first, each at the lowest offset that its lifetime allows."""
    done = list(placed)
    by_offset = sorted(done, key=OFFSET)
    for buffer in sorted(wanted, key=SIZE, reverse=True):
        moved = buffer.moved(_lowest(buffer, by_offset))
        done.append(moved)
        insort(by_offset, moved, key=OFFSET)
    return tuple(done)


def end_of(buffers: Sequence[ArenaBuffer]) -> int:
    """Return the bytes of arena that placed buffers need."""
    return max([buffer.offset + buffer.size for buffer in buffers], default=0)


def _lowest(buffer: ArenaBuffer, by_offset: Sequence[ArenaBuffer]) -> int:
    first, last, size, offset = buffer.first, buffer.last, buffer.size, 0
    for other in by_offset:
        if other.first <= last and first <= other.last:
            if offset + size <= other.offset:
                break
            offset = max(offset, other.offset + other.size)
    return offset
