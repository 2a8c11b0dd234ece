"""What a bad line does to the bytes of one direction; written from docs/link.md alone. One idea a class, each with its moment.

All of them take the bytes as they come and return what is left of them. `unasked` is what a line says of itself.
"""

from __future__ import annotations

import random
import struct
import time
from dataclasses import dataclass, field

from cobs import cobs

from .frame import Frame

ACK, NAK = 0x40, 0x41


class Harm:
    """A line that does no harm: the base of those that do.

    Attributes:
        portion: bytes that it takes at a time, at most.
    """

    portion = 4096

    def through(self, data: bytes) -> bytes:
        """Return what becomes of bytes that were sent."""
        return data

    def unasked(self) -> bytes:
        """Return bytes that nobody has sent; called whenever somebody looks whether any have come."""
        return b""


@dataclass
class Swallow(Harm):
    """A line that takes some values for itself, as software flow control does with XON and XOFF."""

    values: bytes

    def through(self, data: bytes) -> bytes:
        return data.translate(None, self.values)


@dataclass
class LongPieces(Harm):
    """A port that loses a byte of each piece longer than `most`, as a J-Link that is also a drive (Zephyr, nordic_segger.rst)."""

    most: int
    rng: random.Random

    def through(self, data: bytes) -> bytes:
        if len(data) <= self.most:
            return data
        lost = self.rng.randrange(len(data))
        return data[:lost] + data[lost + 1 :]


@dataclass
class Cut(Harm):
    """Nothing comes through any more once `after` bytes have."""

    after: int

    def through(self, data: bytes) -> bytes:
        part, self.after = data[: self.after], max(0, self.after - len(data))
        return part


@dataclass
class Flip(Harm):
    """Every bit is the other one with some chance."""

    chance: float
    rng: random.Random

    def through(self, data: bytes) -> bytes:
        bits = len(data) * 8
        number = int.from_bytes(data, "big")
        at = self._next()
        while at < bits:
            number ^= 1 << at
            at += 1 + self._next()
        return number.to_bytes(len(data), "big")

    def _next(self) -> int:
        """Return how many bits stay as they are before the next that does not."""
        return int(self.rng.expovariate(self.chance)) if self.chance else 1 << 62


@dataclass
class Lose(Harm):
    """Every byte is lost with some chance."""

    chance: float
    rng: random.Random

    def through(self, data: bytes) -> bytes:
        return bytes(byte for byte in data if self.rng.random() >= self.chance)


@dataclass
class Chatter(Harm):
    """Another program writes to the line: text, or frames of a session that is none."""

    words: bytes = b"log: all is well\r\n\0"

    def unasked(self) -> bytes:
        return self.words


@dataclass
class Echoes(Harm):
    """Once `after` bytes have come through, the last `kept` of them again as often as somebody looks, and nothing else."""

    after: int
    kept: int = 64
    _last: bytes = b""

    def through(self, data: bytes) -> bytes:
        part, self.after = data[: self.after], max(0, self.after - len(data))
        self._last = (self._last + part)[-self.kept :]
        return part

    def unasked(self) -> bytes:
        return b"" if self.after else self._last


@dataclass
class Slow(Harm):
    """A line of so many bytes a second, whatever speed the port was opened with."""

    bytes_per_s: float
    portion = 64  # both directions pass side by side

    def through(self, data: bytes) -> bytes:
        time.sleep(len(data) / self.bytes_per_s)
        return data


@dataclass
class Gibberish(Harm):
    """What a port at another speed reads: other bytes, and fewer of them."""

    rng: random.Random
    fewer: int = 4

    def through(self, data: bytes) -> bytes:
        return self.rng.randbytes(-(-len(data) // self.fewer))


@dataclass
class Only(Harm):
    """Once `after` frames have come, in the place of every answer the same control frame, again and again: endless naks, or endless acks.

    Its number and what it expects are those of the last honest frame.
    """

    kind: int
    after: int
    expected: int = 1
    _frames: int = 0
    _session: int = 0
    _seq: int = 0
    _part: bytes = field(default=b"")

    def through(self, data: bytes) -> bytes:
        *whole, self._part = (self._part + data).split(b"\0")
        out = b""
        for encoded in filter(None, whole):
            self._frames += 1
            if self._frames <= self.after:
                _, self._session, self._seq = struct.unpack_from("<BBH", cobs.decode(encoded))
                out += encoded + b"\0"
        return out

    def unasked(self) -> bytes:
        return control(self.kind, self._session, self._seq, self.expected) if self._frames > self.after else b""


def control(kind: int, session: int, seq: int, expected: int) -> bytes:
    """Return an ack or nak as docs/link.md has it."""
    return Frame(kind, session, seq, struct.pack("<H", expected)).encoded()
