"""Frames on the wire: COBS, a header of four bytes and a CRC-32 (docs/link.md, section Frame)."""

from __future__ import annotations

import struct
import zlib
from collections import deque
from dataclasses import dataclass

from cobs import cobs

HEADER = struct.Struct("<BBH")
CRC = struct.Struct("<I")
LONGEST = 2048  # bytes without a delimiter after which what came is noise
KEPT = 8  # damaged frames that are kept for whoever asks what happened to them


@dataclass(frozen=True)
class Frame:
    """One frame: `type` and `session` are 8 bits, `seq` 16 bits, `body` at most 1024 bytes."""

    type: int
    session: int
    seq: int
    body: bytes = b""

    def encode(self) -> bytes:
        """Return the bytes for the wire, with the delimiter behind them."""
        content = HEADER.pack(self.type, self.session, self.seq) + self.body
        return cobs.encode(content + CRC.pack(zlib.crc32(content))) + b"\0"


def parse(encoded: bytes) -> Frame | None:
    """Return the frame of the bytes between two delimiters, or None when they are damaged."""
    try:
        raw = cobs.decode(encoded)
    except cobs.DecodeError:
        return None
    if len(raw) < HEADER.size + CRC.size:
        return None
    content, (crc,) = raw[: -CRC.size], CRC.unpack(raw[-CRC.size :])
    if zlib.crc32(content) != crc:
        return None
    return Frame(*HEADER.unpack_from(content), content[HEADER.size :])


class FrameReader:
    """Cut a stream of bytes into frames; damaged ones are counted and dropped.

    Attributes:
        damaged: how many there were.
        broken: the bytes of the last of them.
        values: of all bytes that came.
    """

    def __init__(self) -> None:
        self._pending = bytearray()
        self.damaged = 0
        self.broken: deque[bytes] = deque(maxlen=KEPT)
        self.values: set[int] = set()

    def feed(self, data: bytes) -> list[Frame]:
        """Take bytes in and return the frames that they complete."""
        self._pending += data
        self.values.update(data)
        *complete, rest = bytes(self._pending).split(b"\0")
        self._pending = bytearray(rest[-LONGEST:])
        frames = []
        for encoded in complete:
            if not encoded:
                continue
            frame = parse(encoded)
            if frame is None:
                self.damaged += 1
                self.broken.append(encoded)
            else:
                frames.append(frame)
        return frames
