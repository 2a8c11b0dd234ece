"""A frame on the wire as docs/link.md has it, for whoever must not take the rig's own word for it."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from cobs import cobs


@dataclass(frozen=True)
class Frame:
    """One frame: type, session, number and body."""

    type: int
    session: int
    seq: int
    body: bytes = b""

    def encoded(self) -> bytes:
        """Return the bytes on the wire, with the zero that ends them."""
        raw = struct.pack("<BBH", self.type, self.session, self.seq) + self.body
        return cobs.encode(raw + struct.pack("<I", zlib.crc32(raw))) + b"\0"


def decoded(encoded: bytes) -> Frame | None:
    """Return the frame of the bytes between two zeros, None where they are damaged."""
    try:
        raw = cobs.decode(encoded)
    except cobs.DecodeError:
        return None
    if len(raw) < 8 or zlib.crc32(raw[:-4]) != struct.unpack("<I", raw[-4:])[0]:
        return None
    return Frame(*struct.unpack("<BBH", raw[:4]), raw[4:-4])


def frames(data: bytes) -> list[Frame | None]:
    """Return all frames of a stream that ends with a zero."""
    return [decoded(part) for part in data.split(b"\0") if part]
