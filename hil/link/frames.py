"""Frames on the wire: COBS, a header of four bytes and a CRC-32 (docs/link.md, section Frame)."""

from __future__ import annotations

import struct
import zlib
from collections import deque
from dataclasses import dataclass

from cobs import cobs

HEADER = struct.Struct("<BBH")
CRC = struct.Struct("<I")
LONGEST = 2048  # bytes kept while no delimiter arrives; older ones are noise
DAMAGED_KEPT = 8  # damaged frames kept for the diagnosis of a failed session
DAMAGED: bytes = cobs.encode(HEADER.pack(0, 0, 0) + CRC.pack(~zlib.crc32(bytes(HEADER.size)) & 0xFFFFFFFF)) + b"\0"
"""The bytes of a frame with a wrong CRC, which every agent answers with `nak`."""


@dataclass(frozen=True)
class LinkFrame:
    """One frame: `type` and `session` have 8 bits, `seq` has 16, `body` at most 1024 bytes."""

    type: int
    session: int
    seq: int
    body: bytes = b""

    def encode(self) -> bytes:
        """Return the bytes for the wire, with the delimiter at the end."""
        content = HEADER.pack(self.type, self.session, self.seq) + self.body
        encoded: bytes = cobs.encode(content + CRC.pack(zlib.crc32(content)))
        return encoded + b"\0"


def parse(encoded: bytes) -> LinkFrame | None:
    """Return the frame in the bytes between two delimiters, or None if they are damaged."""
    try:
        raw = cobs.decode(encoded)
    except cobs.DecodeError:
        return None
    if len(raw) < HEADER.size + CRC.size:
        return None
    content, (crc,) = raw[: -CRC.size], CRC.unpack(raw[-CRC.size :])
    if zlib.crc32(content) != crc:
        return None
    kind, session, seq = HEADER.unpack_from(content)
    return LinkFrame(kind, session, seq, content[HEADER.size :])


class FrameReader:
    """Split a stream of bytes into frames; drop and count damaged ones.

    Attributes:
        damaged: number of damaged frames.
        damaged_frames: encoded bytes of the last damaged frames.
        byte_values: every byte value received so far.
    """

    def __init__(self) -> None:
        self._pending = bytearray()
        self.damaged = 0
        self.damaged_frames: deque[bytes] = deque(maxlen=DAMAGED_KEPT)
        self.byte_values: set[int] = set()

    def feed(self, data: bytes) -> list[LinkFrame]:
        """Add received bytes and return the frames that they complete."""
        self._pending += data
        self.byte_values.update(data)
        *complete, rest = bytes(self._pending).split(b"\0")
        self._pending = bytearray(rest[-LONGEST:])
        frames = []
        for encoded in filter(None, complete):
            frame = parse(encoded)
            if frame is None:
                self.damaged += 1
                self.damaged_frames.append(encoded)
            else:
                frames.append(frame)
        return frames
