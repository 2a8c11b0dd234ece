"""The worst data cache that a Cortex-M7 may have: it holds every line that it may hold, and evicts none by itself.

The manual lets the core fetch any line of Normal cacheable memory at any time, by speculation too, and keep it (ARM DDI
0403E.e, A3.5 and B2.2; ARM DDI 0489, L1 memory system). So every line is held from the moment on at which it becomes
cacheable, and again at once after it was invalidated. A program that is right with this cache is right with any.

Unicorn executes on the core's view of a memory, so that the core's accesses cost nothing. A hidden copy has what the
other side of the cache has. It is consulted when something other than the core accesses memory, at cache maintenance
and when attributes change. A byte that the core has written is one that differs from the line's last clean content.
That misses a store of the value that was there.

One eviction is modelled, because it hides a fault otherwise: if something else writes a line with bytes that the core
has written, the line is evicted over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

LINE_BITS = 5
LINE = 1 << LINE_BITS  # bytes of a line (ARM DDI 0489, L1 caches)
UNCACHED, WRITE_THROUGH, WRITE_BACK = 0, 1, 2


@dataclass(frozen=True)
class CacheShape:
    """Sets and ways of a data cache; `from_ccsidr` reads them from CCSIDR (ARM DDI 0403E.e, B4.8.3)."""

    sets: int
    ways: int

    @classmethod
    def from_ccsidr(cls, value: int) -> CacheShape:
        return cls((value >> 13 & 0x7FFF) + 1, (value >> 3 & 0x3FF) + 1)


class CachedMemory:
    """A memory behind the data cache.

    Args:
        base: address of its first byte, a multiple of a line.
        view: what the core sees, uint8[bytes]; changed in place.
        writable: whether the core can write it. Of others no line is ever written back.
    """

    def __init__(self, base: int, view: np.ndarray, writable: bool) -> None:
        self.base, self.view, self.writable = base, view, writable
        self.kinds = np.zeros(view.size // LINE, np.uint8)  # attributes that hold now
        self._held = np.zeros_like(self.kinds, bool)
        # Where a line is cached, the view is the cache, and `_hidden` the memory; elsewhere the other way around.
        self._hidden: np.ndarray | None = None
        self._clean = view[:0]

    def contains(self, address: int) -> bool:
        return 0 <= address - self.base < self.view.size

    def change(self, kinds: np.ndarray) -> bool:
        """Let new attributes hold, uint8[lines]; return whether the view has changed."""
        old, self.kinds = self.kinds, kinds.copy()
        caching, leaving = (old == UNCACHED) & (kinds != UNCACHED), (old != UNCACHED) & (kinds == UNCACHED)
        if self.writable and (caching.any() or (old != kinds).any()):
            self._allocate()
            self._write_through(old == WRITE_THROUGH)
        new = caching & ~self._held
        self._held |= caching
        if self._hidden is None:
            return False
        hidden, view, clean = self._lines()
        hidden[new], clean[new] = view[new], view[new]
        swapped = caching & ~new | leaving
        before = view[swapped]
        view[swapped] = hidden[swapped]
        hidden[swapped] = before
        return bool((before != view[swapped]).any())

    def forget(self) -> None:
        """Hold nothing, with all lines uncached: the supply was off."""
        self.change(np.zeros_like(self.kinds))
        self._held[:] = False

    # the other side

    def load(self, offset: int, size: int) -> tuple[bytes, int]:
        """Return what memory has, and how many of these bytes differ from what the core has written."""
        first, end = offset // LINE, -(-(offset + size) // LINE)
        if self._hidden is None or not self.kinds[first:end].any():
            return self.view[offset : offset + size].tobytes(), 0
        self._written_through(first, end)
        cached = np.repeat(self.kinds[first:end] != UNCACHED, LINE)[offset - first * LINE :][:size]
        here = slice(offset, offset + size)
        stale = cached & (self._clean[here] != self.view[here]) & (self._hidden[here] != self.view[here])
        return np.where(cached, self._hidden[here], self.view[here]).tobytes(), int(np.count_nonzero(stale))

    def store(self, offset: int, data: bytes) -> int:
        """Write memory; return how many lines with bytes that the core had written were evicted over it."""
        if not data:
            return 0
        first, end = offset // LINE, -(-(offset + len(data)) // LINE)
        if not self.kinds[first:end].any() and (self._hidden is not None or not self._held[first:end].any()):
            self.view[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
            return 0
        self._allocate()
        self._written_through(first, end)
        dirty = self._dirty(first, end)
        hidden, view, clean = self._lines()
        bytes_in = np.frombuffer(data, np.uint8)
        for line in range(first, end):
            begin, stop = max(line * LINE, offset), min((line + 1) * LINE, offset + len(data))
            new = bytes_in[begin - offset : stop - offset]
            if self.kinds[line] == UNCACHED:
                self.view[begin:stop] = new
            elif dirty[line - first]:
                hidden[line] = clean[line] = view[line]
            else:
                assert self._hidden is not None
                self._hidden[begin:stop] = new
        return int(np.count_nonzero(dirty))

    # maintenance

    def maintain(self, lines: np.ndarray, clean: bool, invalidate: bool) -> int:
        """Clean lines, then invalidate them; int64[n] line numbers.

        Return how many bytes that the core had written are lost.
        """
        lines = lines[self._held[lines]]
        cached = self.kinds[lines] != UNCACHED
        again, gone = lines[cached], lines[~cached]
        if invalidate:
            self._held[gone] = False
        if self._hidden is None:
            return 0
        if self.writable:
            self._write_through(again[self.kinds[again] == WRITE_THROUGH])
        hidden, view, last = self._lines()
        lost = 0
        for inside, cache, memory in ((again, view, hidden), (gone, hidden, view)):
            written = self.writable & (cache[inside] != last[inside])
            lost += int(np.count_nonzero(written))
            if clean:
                dirty = inside[written.any(axis=1)]
                memory[dirty] = last[dirty] = cache[dirty]
        if invalidate:
            view[again] = last[again] = hidden[again]  # the line is fetched again at once
        return lost if invalidate and not clean else 0

    # what the lines have

    def _allocate(self) -> None:
        if self._hidden is None:
            self._hidden, self._clean = self.view.copy(), self.view.copy()

    def _lines(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        assert self._hidden is not None
        return self._hidden.reshape(-1, LINE), self.view.reshape(-1, LINE), self._clean.reshape(-1, LINE)

    def _dirty(self, first: int, end: int) -> np.ndarray:
        """Return which lines of a range have bytes in the cache that memory has not; bool[lines]."""
        _, view, clean = self._lines()
        back = self.kinds[first:end] == WRITE_BACK
        return np.asarray(self.writable & back & (view[first:end] != clean[first:end]).any(axis=1))

    def _write_through(self, lines: np.ndarray) -> None:
        """Let memory have what the core has written to write-through lines; bool[lines] or int64[n] line numbers."""
        hidden, view, clean = self._lines()
        written = view[lines] != clean[lines]
        hidden[lines] = np.where(written, view[lines], hidden[lines])
        clean[lines] = view[lines]

    def _written_through(self, first: int, end: int) -> None:
        through = np.flatnonzero(self.kinds[first:end] == WRITE_THROUGH) + first
        if through.size and self.writable:
            self._write_through(through)


class DataCache:
    """The data cache in front of the memories of a chip.

    Args:
        memories: those that can be cacheable; TCMs are not among them.
        shape: sets and ways.
        report: called with a sentence about each access that sees or loses something.
    """

    def __init__(self, memories: list[CachedMemory], shape: CacheShape, report: Callable[[str], None]) -> None:
        self.memories, self.shape = memories, shape
        self._report = report
        self._ways_done: dict[tuple[int, bool, bool], int] = {}  # ways by set and operation
        self._sets_invalidated: set[int] = set()

    def at(self, address: int) -> CachedMemory | None:
        """Return the memory at an address that may be cached, or None."""
        return next((memory for memory in self.memories if memory.contains(address)), None)

    @property
    def invalidated(self) -> bool:
        """Whether every set and way was invalidated since `begin`."""
        return len(self._sets_invalidated) == self.shape.sets

    def begin(self) -> None:
        """After a reset the cache has undefined lines again (ARM DDI 0489, L1 caches)."""
        self._sets_invalidated.clear()
        self._ways_done.clear()

    def load(self, address: int, size: int, who: str) -> bytes | None:
        """Return what something other than the core reads, or None if no cacheable memory is there."""
        memory = self.at(address)
        if memory is None:
            return None
        data, stale = memory.load(address - memory.base, size)
        if stale:
            self._report(
                f"{who} reads 0x{address:08X} and sees {stale} of {size} bytes as before the core wrote them: clean "
                "these lines of the data cache first (ARM DDI 0489, L1 caches; ARM AN321)"
            )
        return data

    def store(self, address: int, data: bytes, who: str) -> bool:
        """Write as something other than the core does; return False if no cacheable memory is there."""
        memory = self.at(address)
        if memory is None:
            return False
        lost = memory.store(address - memory.base, data)
        if lost:
            self._report(
                f"{who} writes 0x{address:08X} and loses {lost} lines: the core has written them, and the data cache "
                "evicts them over the new bytes; clean them before the transfer (ARM DDI 0489, L1 caches)"
            )
        return True

    def by_address(self, address: int, clean: bool, invalidate: bool) -> None:
        """Clean or invalidate the line at an address (ARM DDI 0403E.e, B2.2.7)."""
        memory = self.at(address)
        if memory is None:
            return
        lost = memory.maintain(np.array([(address - memory.base) // LINE]), clean, invalidate)
        if lost:
            self._report(
                f"{lost} bytes that the core has written are lost: the line at 0x{address & -LINE:08X} is invalidated "
                "without being cleaned (ARM DDI 0489, L1 caches)"
            )

    def by_set(self, operand: int, clean: bool, invalidate: bool) -> None:
        """Clean or invalidate a set and way (ARM DDI 0403E.e, B4.8.8): the lines of a set after its last way."""
        ways_at = 32 - (self.shape.ways - 1).bit_length()
        number, way = operand >> 5 & self.shape.sets - 1, operand >> ways_at
        key = number, clean, invalidate
        self._ways_done[key] = self._ways_done.get(key, 0) | 1 << way
        if self._ways_done[key] != (1 << self.shape.ways) - 1:
            return
        del self._ways_done[key]
        if invalidate:
            self._sets_invalidated.add(number)
        lost = sum(memory.maintain(lines, clean, invalidate) for memory, lines in self._of_set(number))
        if lost:
            self._report(
                f"{lost} bytes that the core has written are lost: set {number} is invalidated without being cleaned "
                "(ARM DDI 0489, L1 caches)"
            )

    def _of_set(self, number: int) -> Iterator[tuple[CachedMemory, np.ndarray]]:
        for memory in self.memories:
            first = (number - memory.base // LINE) % self.shape.sets
            yield memory, np.arange(first, memory.kinds.size, self.shape.sets)
