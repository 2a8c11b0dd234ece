"""A serial port behind a network in simulated time, with the agent's own code at the far end of the serial line."""

from __future__ import annotations

from .path import Path
from .simulated import BITS, CALL_S, READ_TIMEOUT_S, Agent, Clock, Direction, SimulatedPort


class ToServer(Direction):
    """Over the network first, then along the serial line."""

    path: Path

    def _put(self, data: bytes) -> None:
        for at, part in self.path.arrivals(self.clock.now, data):
            self._free_at = max(self._free_at, at) + len(part) * BITS / self.baud
            self._queue.append((self._free_at, part))


class FromServer(Direction):
    """Along the serial line, then over the network."""

    path: Path

    def _put(self, data: bytes) -> None:
        if data:
            self._free_at = max(self._free_at, self.clock.now) + len(data) * BITS / self.baud
            self._queue += self.path.arrivals(self._free_at, data)


class NetworkPort(SimulatedPort):
    """A port on a network: a read ends when something arrives, which is when the agent sent it plus the way."""

    cure = "look."

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; none when the time-out has passed."""
        until = self.clock.now + READ_TIMEOUT_S
        self._run()
        while not self._readable and self.clock.now < until:
            ahead = [queue[0][0] for queue in (self.to_board._queue, self.to_host._queue) if queue]
            self.clock.now = max(self.clock.now, min([until, *ahead]))
            self._run()
        self.clock.now += CALL_S
        data, self._readable = self._readable[:size], self._readable[size:]
        return data


def port_over(
    agent: Agent, clock: Clock, round_s: float, loss: float = 0.0, seed: int = 0, jitter_s: float = 0.0
) -> NetworkPort:
    """Return a port with this round trip to an agent, at 921,600 baud."""
    ends = ToServer(clock), FromServer(clock)
    for number, end in enumerate(ends):
        end.path = Path(round_s / 2, jitter_s, loss, 2 * seed + number)
    return NetworkPort(agent, clock, *ends)
