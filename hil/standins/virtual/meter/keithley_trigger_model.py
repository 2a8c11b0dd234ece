"""Trigger model of Keithley's interactive instruments: the blocks that time buffered readings by digital edges.

Sources: 2450 Reference Manual (2450-901-01 Rev. B), 6-148, TRIGger:BLOCk:WAIT; 2461 Reference Manual (2461-901-01 A),
6-202 and 6-209.

- A measure or digitize block with an infinite count starts readings and continues with the next block. The readings go
  on until another such block replaces them, or stops them with the count 0.
- A wait block continues at the next edge of a digital line, or at once if an edge came after the last wait block ended.

Times are picoseconds of the instrument's own clock. The model runs only inside `advance`, up to the given time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np

INFINITE = -1


@dataclass(frozen=True)
class Readings:
    """Begin of each aperture, int64[n] ps; current [A] and voltage [V], float64[n]; source status, int64[n]."""

    begin: np.ndarray
    current: np.ndarray
    voltage: np.ndarray
    status: np.ndarray

    def take(self, chosen: slice | np.ndarray) -> Readings:
        """Return the chosen readings."""
        return Readings(self.begin[chosen], self.current[chosen], self.voltage[chosen], self.status[chosen])


class ReadingBuffer:
    """A reading buffer with a size in readings.

    When it is full, it discards new readings (`once`), or each new reading replaces the oldest one.

    Places are numbered from 1. In a buffer that fills continuously, the oldest reading may be at any place (Keithley's
    example of a DMM7510 that streams what it digitizes).
    """

    def __init__(self, size: int, once: bool) -> None:
        self.size, self.once = size, once
        self._columns = Readings(np.empty(size, np.int64), np.empty(size), np.empty(size), np.empty(size, np.int64))
        self.clear()

    def clear(self) -> None:
        self._added = 0

    def add(self, readings: Readings) -> None:
        """Store readings."""
        if self.once:
            readings = readings.take(slice(0, self.size - self._added))
        skipped = max(0, len(readings.begin) - self.size)
        first = (self._added + skipped) % self.size
        until_end = self.size - first
        for one in fields(Readings):
            column, new = getattr(self._columns, one.name), getattr(readings, one.name)[skipped:]
            column[first : first + len(new)] = new[:until_end]
            column[: max(0, len(new) - until_end)] = new[until_end:]
        self._added += len(readings.begin)

    def places(self, first: int, last: int) -> Readings:
        """Return the readings at places `first` to `last`."""
        return self._columns.take(slice(first - 1, last))

    def start(self) -> int:
        """Return the place of the oldest reading, or 0 if the buffer is empty."""
        return self._added % self.size + 1 if self._added > self.size else min(self._added, 1)

    def end(self) -> int:
        """Return the place of the latest reading, or 0 if the buffer is empty."""
        return (self._added - 1) % self.size + 1 if self._added else 0

    def __len__(self) -> int:
        return min(self._added, self.size)


@dataclass(frozen=True)
class TriggerBlock:
    """One block: `measure` (buffer, count), `wait`, or `delay` (delay [ps])."""

    kind: str
    buffer: str = ""
    count: int = 0
    delay: int = 0


class TriggerModel:
    """The trigger model and its reading buffers.

    Args:
        measure: returns the readings of the apertures that begin at int64[n] ps.
    """

    def __init__(self, measure: Callable[[np.ndarray], Readings]) -> None:
        self._measure = measure
        self.buffers: dict[str, ReadingBuffer] = {}
        self.load()

    def load(self) -> None:
        """Remove all blocks and stop."""
        self.blocks: dict[int, TriggerBlock] = {}
        self.abort()

    def abort(self) -> None:
        """Stop; the next start is at the first block."""
        self.running = False
        self._place, self._into, self._next = 1, "", 0

    def initiate(self, now: int, aperture: int, period: int) -> None:
        """Start at the first block. A reading takes `aperture`; `period` is the time between begins of readings."""
        self.abort()
        self.running = True
        self._time = self._seen = self.began = now
        self._aperture, self._period = aperture, period

    def advance(self, now: int, edges: Sequence[int]) -> None:
        """Run up to the time `now`; `edges` are the times of all edges of the digital line until then."""
        self._edges = edges
        while self.running:
            block = self.blocks.get(self._place)
            if block is None:
                self.abort()
            elif not self._execute(block, now):
                return

    def _execute(self, block: TriggerBlock, now: int) -> bool:
        """Execute one block up to `now`; return whether it has ended."""
        if block.kind == "measure":
            if not self._read_until(self._time, now):
                return False
            if not self._into:
                self._next = self._time
            self._into = block.buffer if block.count else ""
            if block.count > 0:
                self._time = self._next + block.count * self._period
                if not self._read_until(self._time, now):
                    return False
                self._into = ""
        else:
            leave = self._edge() if block.kind == "wait" else self._time + block.delay
            if leave is None or leave > now:
                self._read_until(now, now)
                return False
            self._time = leave
            if block.kind == "wait":
                self._seen = leave
        self._place += 1
        return True

    def _edge(self) -> int | None:
        """Return when a wait block ends: at the first edge since the start or the last wait block; None before it."""
        found = next((time for time in self._edges if time > self._seen), None)
        return None if found is None else max(found, self._time)

    def _read_until(self, end: int, now: int) -> bool:
        """Make the readings that begin before `end` and end by `now`; return whether these are all."""
        if not self._into or self._next >= end:
            return True
        wanted = -(-(end - self._next) // self._period)
        done = min(wanted, max(0, (now - self._aperture - self._next) // self._period + 1))
        if done:
            self.buffers[self._into].add(self._measure(self._next + self._period * np.arange(done, dtype=np.int64)))
            self._next += done * self._period
        return done == wanted
