"""The frames in flight: sent in order, not yet acknowledged, within the agent's window (docs/link.md)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SentRequest:
    """A request that was sent: its sequence number, its name and its bytes on the wire."""

    seq: int
    name: str
    wire: bytes

    def is_before(self, expected: int) -> bool:
        """Return whether an agent that expects this number next has accepted the request (numbers wrap at 2^16)."""
        return 0 < ((expected - self.seq) & 0xFFFF) < 0x8000


@dataclass
class InFlight:
    """The frames of a stream that are not yet acknowledged; `window` is the limit of their encoded bytes."""

    window: int
    frames: deque[SentRequest] = field(default_factory=deque)

    def has_room(self, size: int) -> bool:
        """Return whether a frame of `size` bytes fits the window; a single frame always does."""
        return not self.frames or sum(len(sent.wire) for sent in self.frames) + size <= self.window

    def has(self, seq: int) -> bool:
        """Return whether the frame with this number is in flight."""
        return any(sent.seq == seq for sent in self.frames)

    def acknowledge(self, expected: int) -> bool:
        """Remove the frames before the expected number; return whether there were any."""
        before = len(self.frames)
        while self.frames and self.frames[0].is_before(expected):
            self.frames.popleft()
        return len(self.frames) < before


def longest_wire(values: Mapping[str, Any]) -> int:
    """Return the largest encoded size, in bytes, of a frame whose body has these fields."""
    size = 16 + sum(len(value) if isinstance(value, (bytes, bytearray)) else 4 for value in values.values())
    return size + size // 254 + 2
