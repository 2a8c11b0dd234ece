"""A serial port in simulated time, with the agent's own code, built for this computer, at its other end."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .harm import Harm

READ_TIMEOUT_S = 0.02
CALL_S = 0.0005  # what a call of the operating system takes
BITS = 10  # of a byte on the line


@dataclass
class Clock:
    """Time that passes while a port is read; it stands in for the module `time`."""

    now: float = 1000.0

    def monotonic(self) -> float:
        """Return the seconds since some moment."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class Agent(Protocol):
    """The agent's code in a process of its own."""

    def receive(self, data: bytes) -> tuple[bytes, list[str]]:
        """Give it bytes; return what it sends and what it did."""
        ...


@dataclass
class Direction:
    """One direction of a line: what is sent arrives after the time that its bits take, as far as it arrives at all."""

    clock: Clock
    harms: Sequence[Harm] = ()
    baud: float = 921_600.0
    sent: int = 0
    _queue: deque[tuple[float, bytes]] = field(default_factory=deque)
    _free_at: float = 0.0

    def send(self, data: bytes) -> None:
        """Take bytes in."""
        self.sent += len(data)
        for harm in self.harms:
            data = harm.through(data)
        self._put(data)

    def arrived(self) -> bytes:
        """Return what has arrived by now."""
        for harm in self.harms:
            self._put(harm.unasked())
        out = b""
        while self._queue and self._queue[0][0] <= self.clock.now:
            out += self._queue.popleft()[1]
        return out

    def _put(self, data: bytes) -> None:
        if data:
            self._free_at = max(self._free_at, self.clock.now) + len(data) * BITS / self.baud
            self._queue.append((self._free_at, data))


class SimulatedPort:
    """What pyserial has of a port; write and read let simulated time pass.

    Args:
        agent: at the other end.
        to_board, to_host: both directions.

    Attributes:
        events: what the agent did, in order.
    """

    def __init__(self, agent: Agent, clock: Clock, to_board: Direction, to_host: Direction) -> None:
        self.agent, self.clock, self.to_board, self.to_host = agent, clock, to_board, to_host
        self.events: list[str] = []
        self._readable = b""

    def write(self, data: bytes) -> int:
        """Send bytes to the agent."""
        self.clock.now += CALL_S
        self.to_board.send(data)
        return len(data)

    @property
    def in_waiting(self) -> int:
        """Return the bytes that can be read at once."""
        self._run()
        return len(self._readable)

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; none when the time-out has passed."""
        self._run()
        if not self._readable:
            self.clock.now += READ_TIMEOUT_S
            self._run()
        self.clock.now += CALL_S
        data, self._readable = self._readable[:size], self._readable[size:]
        return data

    def _run(self) -> None:
        data = self.to_board.arrived()
        if data:
            answer, events = self.agent.receive(data)
            self.events += events
            self.to_host.send(answer)
        self._readable += self.to_host.arrived()
