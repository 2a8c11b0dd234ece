"""The frames in flight: sent in order, not yet acknowledged, within the agent's window (docs/link.md)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from hil.link.messages import Request


@dataclass(frozen=True)
class SentRequest:
    """A request that was sent: its sequence number, its description and its bytes on the wire."""

    seq: int
    request: Request
    wire: bytes

    @property
    def name(self) -> str:
        """The name of the request."""
        return self.request.name

    def is_before(self, expected: int) -> bool:
        """Return whether an agent that expects this number next has accepted the request (numbers wrap at 2^16)."""
        return 0 < ((expected - self.seq) & 0xFFFF) < 0x8000


@dataclass
class InFlight:
    """The frames of a stream that are not yet acknowledged.

    Attributes:
        window: limit of their encoded bytes.
        frames: the oldest first.
        sent_at: when the last acknowledged frame was sent, in seconds; None if it was sent more than once.
    """

    window: int
    frames: deque[SentRequest] = field(default_factory=deque)
    sent_at: float | None = None
    _times: dict[int, float] = field(default_factory=dict)  # by number, of frames that were sent once

    def has_room(self, size: int) -> bool:
        """Return whether a frame of `size` bytes fits the window; a single frame always does."""
        return not self.frames or sum(len(sent.wire) for sent in self.frames) + size <= self.window

    def add(self, sent: SentRequest, now: float) -> None:
        """Note a frame that is sent."""
        self.frames.append(sent)
        self._times[sent.seq] = now

    def repeated(self, seqs: Iterable[int]) -> None:
        """Note that frames were sent again."""
        for seq in seqs:
            self._times.pop(seq, None)

    def has(self, seq: int) -> bool:
        """Return whether the frame with this number is in flight."""
        return any(sent.seq == seq for sent in self.frames)

    def acknowledge(self, expected: int) -> bool:
        """Remove the frames before the expected number; return whether there were any."""
        before = len(self.frames)
        while self.frames and self.frames[0].is_before(expected):
            self.sent_at = self._times.pop(self.frames.popleft().seq, None)
        return len(self.frames) < before
