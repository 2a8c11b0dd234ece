"""The trigger model of the Keithley 2450 as far as it times buffered readings by digital edges.

Source: Keithley 2450 Reference Manual (2450-901-01), section 3 (trigger model) and TRIGger:BLOCk commands. A measure block
with an infinite count lets the following blocks run while readings go on, until another measure block takes over or stops
them; a wait block lets the model go on at the next edge of a digital line.

The instrument lives in the chip's virtual time and is brought up to it whenever somebody asks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from hil.standins.virtual.chip.clock import PS_PER_S

INFINITE = -1
DEAD_PS = PS_PER_S // 4000  # between two readings: the instrument's own work; of the order of its fastest rate


@dataclass(frozen=True)
class Reading:
    """One reading: begin of its aperture in virtual picoseconds, amperes, volts."""

    time: int
    current: float
    voltage: float


@dataclass
class Buffer:
    """A named reading buffer; when it is full the oldest reading goes."""

    size: int
    readings: deque[Reading] = field(default_factory=deque)

    def add(self, reading: Reading) -> None:
        """Store a reading."""
        if len(self.readings) == self.size:
            self.readings.popleft()
        self.readings.append(reading)


@dataclass(frozen=True)
class Block:
    """One block: `measure` (buffer, count), `wait` (line) or `delay` (picoseconds)."""

    kind: str
    buffer: str = ""
    count: int = 0
    line: int = 0
    delay: int = 0


class TriggerModel:
    """Args:
        measure: makes a reading of the aperture that begins at a time and is so many picoseconds long.
    """

    def __init__(self, measure: Callable[[int, int], Reading]) -> None:
        self._measure = measure
        self.buffers: dict[str, Buffer] = {}
        self.edges: deque[tuple[int, int]] = deque(maxlen=1000)  # (virtual time, line), as the chip's thread saw them
        self.load()

    def load(self) -> None:
        """Begin an empty model."""
        self.blocks: dict[int, Block] = {}
        self.abort()

    def abort(self) -> None:
        """Stop where it stands."""
        self.running = False
        self._place, self._into, self._next = 1, "", 0

    def initiate(self, now: int, aperture: int) -> None:
        """Start at the first block."""
        self.abort()
        self.running = True
        self._time = self._seen = now
        self._aperture = aperture

    def advance(self, now: int) -> None:
        """Do all that happens up to `now`."""
        while self.running:
            block = self.blocks.get(self._place)
            if block is None:
                self.abort()
            elif not self._execute(block, now):
                return

    def _execute(self, block: Block, now: int) -> bool:
        """Return whether the block was left."""
        if block.kind == "measure":
            if not self._read_until(self._time, now):
                return False
            if not self._into:
                self._next = self._time
            self._into = block.buffer if block.count else ""
            if block.count > 0:
                self._time = self._next + block.count * (self._aperture + DEAD_PS)
                if not self._read_until(self._time, now):
                    return False
                self._into = ""
        else:
            leave = self._edge_after(block.line) if block.kind == "wait" else self._time + block.delay
            if leave is None or leave > now:
                self._read_until(now, now)
                return False
            self._time = leave
            if block.kind == "wait":
                self._seen = leave
        self._place += 1
        return True

    def _edge_after(self, line: int) -> int | None:
        """Return the first edge since the model was started or last left a wait block."""
        return next((time for time, where in self.edges if where == line and time > self._seen), None)

    def _read_until(self, end: int, now: int) -> bool:
        """Make the readings that begin before `end`; return whether none of them reaches beyond `now`."""
        while self._into and self._next < end:
            if self._next + self._aperture > now:
                return False
            self.buffers[self._into].add(self._measure(self._next, self._aperture))
            self._next += self._aperture + DEAD_PS
        return True
