"""A data cache that holds everything, byte by byte and line by line, as plain Python: an oracle for `data_cache`.

Unlike the model it notes every store of the core at once, and has cache and memory as two separate things.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LINE = 32
UNCACHED, WRITE_THROUGH, WRITE_BACK = 0, 1, 2


@dataclass
class HeldLine:
    """A line of the cache: its bytes, and which of them the core has stored and memory has not."""

    data: bytearray
    dirty: set[int] = field(default_factory=set)


class BruteForceCache:
    """A memory with the cache in front of it."""

    def __init__(self, contents: bytes) -> None:
        self.memory = bytearray(contents)
        self.kinds = [UNCACHED] * (len(contents) // LINE)
        self.lines: dict[int, HeldLine] = {}

    def _fetch(self, line: int) -> None:
        if self.kinds[line] != UNCACHED and line not in self.lines:
            self.lines[line] = HeldLine(self.memory[line * LINE : (line + 1) * LINE])

    def change(self, kinds: list[int]) -> None:
        self.kinds = list(kinds)
        for line in range(len(kinds)):
            self._fetch(line)

    def core_load(self, at: int) -> int:
        line = at // LINE
        return self.memory[at] if self.kinds[line] == UNCACHED else self.lines[line].data[at % LINE]

    def core_store(self, at: int, value: int) -> None:
        line = at // LINE
        if self.kinds[line] != UNCACHED:
            self.lines[line].data[at % LINE] = value
        if self.kinds[line] == WRITE_BACK:
            self.lines[line].dirty.add(at % LINE)
        else:
            self.memory[at] = value

    def _write_back(self, line: int) -> None:
        held = self.lines[line]
        if held.dirty:
            self.memory[line * LINE : (line + 1) * LINE] = held.data
            held.dirty.clear()

    def other_load(self, at: int) -> int:
        return self.memory[at]

    def other_store(self, at: int, data: bytes) -> None:
        touched = range(at // LINE, (at + len(data) - 1) // LINE + 1)
        evicted = [line for line in touched if self.kinds[line] == WRITE_BACK and self.lines[line].dirty]
        for i, byte in enumerate(data):
            self.memory[at + i] = byte
        for line in evicted:
            self._write_back(line)

    def maintain(self, line: int, clean: bool, invalidate: bool) -> None:
        if line not in self.lines:
            return
        if clean:
            self._write_back(line)
        if invalidate:
            del self.lines[line]
            self._fetch(line)
