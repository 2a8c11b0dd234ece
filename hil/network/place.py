"""Placing buffers in one arena by their lifetimes (docs/memory.md, placement)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Protocol, TypeVar


class Placeable(Protocol):
    """A buffer that lives from one slot to another, and shares memory with none that lives in one of these slots."""

    @property
    def size(self) -> int:
        """Bytes, a multiple of 8."""
        ...

    @property
    def offset(self) -> int:
        """Where it lies in the arena."""
        ...

    @property
    def first(self) -> int:
        """The first slot in which it lives."""
        ...

    @property
    def last(self) -> int:
        """The last slot in which it lives."""
        ...

    def moved(self, offset: int) -> Any:
        """Return the same buffer at another offset."""
        ...


SIZE, OFFSET = attrgetter("size"), attrgetter("offset")
P = TypeVar("P", bound=Placeable)


def place(wanted: Sequence[P], placed: Sequence[P] = ()) -> tuple[P, ...]:
    """Return `placed` and then `wanted`, largest first, each at the lowest offset that its lifetime allows."""
    done = list(placed)
    by_offset = sorted(done, key=OFFSET)
    for buffer in sorted(wanted, key=SIZE, reverse=True):
        moved = buffer.moved(_lowest(buffer, by_offset))
        done.append(moved)
        insort(by_offset, moved, key=OFFSET)
    return tuple(done)


def end_of(buffers: Sequence[Placeable]) -> int:
    """Return the bytes of arena that placed buffers need."""
    return max([buffer.offset + buffer.size for buffer in buffers], default=0)


def _lowest(buffer: Placeable, by_offset: Sequence[Placeable]) -> int:
    first, last, size, offset = buffer.first, buffer.last, buffer.size, 0
    for other in by_offset:
        if other.first <= last and first <= other.last:
            if offset + size <= other.offset:
                break
            offset = max(offset, other.offset + other.size)
    return offset
