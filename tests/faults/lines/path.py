"""What a network does to the bytes of a TCP connection, from the standards alone (RFC 793, RFC 6298): it delays them, and loses none.

A lost segment is sent again when the sender's retransmission timer ends. TCP delivers in order, so all that was sent
after it waits for it. There is no fast retransmission here (RFC 5681), which would shorten some of the waits.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

SEGMENT = 1448  # bytes: Ethernet's 1,500 without the headers of IPv4 and TCP with time stamps
LEAST_RTO_S = 1.0  # RFC 6298, (2.4)
MOST_RTO_S = 60.0  # RFC 6298, (2.5)


@dataclass
class Path:
    """One direction.

    Args:
        one_way_s: delay of a segment.
        jitter_s: up to so much more, equally distributed; order is kept.
        loss: chance that a segment is lost, each time that it is sent.
        seed: of jitter and losses.
        least_rto_s: shortest retransmission time-out; Linux takes 0.2 s.

    Attributes:
        lost: number of segments that were lost.
    """

    one_way_s: float = 0.0
    jitter_s: float = 0.0
    loss: float = 0.0
    seed: int = 0
    least_rto_s: float = LEAST_RTO_S
    lost: int = 0
    _latest: float = 0.0
    _rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)

    def arrivals(self, now: float, data: bytes) -> list[tuple[float, bytes]]:
        """Return when each segment of what is sent now arrives."""
        found = []
        for at in range(0, len(data), SEGMENT):
            self._latest = max(self._latest, now + self._delay())
            found.append((self._latest, data[at : at + SEGMENT]))
        return found

    def _delay(self) -> float:
        delay = self.one_way_s + self._rng.uniform(0.0, self.jitter_s)
        # (2.2), (2.3): after steady samples of R the time-out is R + max(G, 4 * RTTVAR), with the jitter as the variation
        timeout = max(self.least_rto_s, 2 * self.one_way_s + 4 * self.jitter_s)
        while self._rng.random() < self.loss:
            self.lost += 1
            delay += timeout
            timeout = min(2 * timeout, MOST_RTO_S)  # (5.5)
        return delay
