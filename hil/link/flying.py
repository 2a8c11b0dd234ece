"""The frames of a stream that are on their way: in order, as many as the agent's window takes (docs/link.md)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Sent:
    """A request that was sent: its number, its name, and its bytes on the wire."""

    seq: int
    name: str
    wire: bytes

    def is_before(self, expected: int) -> bool:
        """Whether an agent that expects this number next has taken it (numbers wrap at 2^16)."""
        return 0 < ((expected - self.seq) & 0xFFFF) < 0x8000


@dataclass
class Flying:
    """Args:
    window: encoded bytes that may be on their way.
    """

    window: int
    frames: deque[Sent] = field(default_factory=deque)

    def has_room(self, size: int) -> bool:
        """Whether a frame of `size` bytes may be sent; a single one always may."""
        return not self.frames or sum(len(sent.wire) for sent in self.frames) + size <= self.window

    def has(self, seq: int) -> bool:
        """Whether a number is on its way."""
        return any(sent.seq == seq for sent in self.frames)

    def acknowledge(self, expected: int) -> bool:
        """Drop what the agent has taken; return whether that was anything."""
        before = len(self.frames)
        while self.frames and self.frames[0].is_before(expected):
            self.frames.popleft()
        return len(self.frames) < before


def longest_wire(values: Mapping[str, Any]) -> int:
    """Return how many encoded bytes a frame with a body of these fields can have."""
    size = 16 + sum(len(value) if isinstance(value, (bytes, bytearray)) else 4 for value in values.values())
    return size + size // 254 + 2
