"""Placing buffers in one arena by their lifetimes (docs/memory.md, placement)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar


class Placeable(Protocol):
    """A buffer that knows which others it may not share memory with."""

    @property
    def size(self) -> int:
        """Bytes, a multiple of 8."""
        ...

    @property
    def offset(self) -> int:
        """Where it lies in the arena."""
        ...

    def overlaps(self, other: Any) -> bool:
        """Whether both live at some time."""
        ...

    def moved(self, offset: int) -> Any:
        """Return the same buffer at another offset."""
        ...


P = TypeVar("P", bound=Placeable)


def place(wanted: Sequence[P], placed: Sequence[P] = ()) -> tuple[P, ...]:
    """Return `placed` and then `wanted`, largest first, each at the lowest offset that its lifetime allows."""
    done = list(placed)
    for buffer in sorted(wanted, key=lambda buffer: -buffer.size):
        done.append(buffer.moved(_lowest(buffer, done)))
    return tuple(done)


def end_of(buffers: Sequence[Placeable]) -> int:
    """Return the bytes of arena that placed buffers need."""
    return max((buffer.offset + buffer.size for buffer in buffers), default=0)


def _lowest(buffer: Placeable, placed: Sequence[Placeable]) -> int:
    offset = 0
    for other in sorted((other for other in placed if buffer.overlaps(other)), key=lambda other: other.offset):
        if offset + buffer.size <= other.offset:
            break
        offset = max(offset, other.offset + other.size)
    return offset
