"""Packets of the GDB Remote Serial Protocol: made, and read from a stream of bytes.

Source: Debugging with GDB, appendix "GDB Remote Serial Protocol", section Overview.
"""

from __future__ import annotations

import re
from typing import NamedTuple

ESCAPE, FLIP = 0x7D, 0x20  # `}`, and what it does to the byte after it
REPEAT, REPEAT_BASE = 0x2A, 29  # `*`, and what is subtracted from the byte after it
RESERVED = b"$#}*"
MOST_BYTES = 1 << 20  # of one packet; stubs have buffers of some kilobytes
STRAY = 4096  # bytes that belong to no packet, after which nobody waits for one
ACK, NAK = b"+", b"-"
DOLLAR, HASH = b"$#"


class Packet(NamedTuple):
    """A received packet: its decoded content, None if its checksum or coding is wrong."""

    body: bytes | None


def packet(body: bytes) -> bytes:
    """Return a packet with this content, escaped, with its checksum."""
    data = bytearray()
    for byte in body:
        data += bytes((ESCAPE, byte ^ FLIP)) if byte in RESERVED else bytes((byte,))
    return b"$%b#%02x" % (bytes(data), sum(data) & 0xFF)


def decoded(data: bytes) -> bytes | None:
    """Return the content of a packet without escapes and run-length encoding; None if the coding is wrong."""
    body = bytearray()
    rest = iter(data)
    for byte in rest:
        if byte not in (ESCAPE, REPEAT):
            body.append(byte)
            continue
        after = next(rest, None)
        if after is None or (byte == REPEAT and (not body or not 32 <= after <= 126)):
            return None
        body += bytes((after ^ FLIP,)) if byte == ESCAPE else body[-1:] * (after - REPEAT_BASE)
        if len(body) > MOST_BYTES:
            return None
    return bytes(body)


class PacketReader:
    """Finds packets and acknowledgements in bytes that come in any pieces.

    Attributes:
        stray: bytes that belong to no packet since the last whole one, at most `MOST_BYTES`.
    """

    def __init__(self) -> None:
        self._pending = bytearray()
        self.stray = b""

    def feed(self, data: bytes) -> list[Packet | bytes]:
        """Return what has become whole: packets, and `ACK` or `NAK`."""
        self._pending += data
        found: list[Packet | bytes] = []
        while self._pending:
            if self._pending[0] != DOLLAR:
                self._outside(found)
                continue
            end = self._pending.find(HASH)
            if 0 <= end <= len(self._pending) - 3:
                found.append(Packet(_checked(bytes(self._pending[1:end]), bytes(self._pending[end + 1 : end + 3]))))
                del self._pending[: end + 3]
                self.stray = b""
            elif len(self._pending) > MOST_BYTES:
                self._skip(len(self._pending))
            else:
                break
        return found

    def _outside(self, found: list[Packet | bytes]) -> None:
        """Take what comes before the next packet: an acknowledgement, or stray bytes."""
        first = bytes(self._pending[:1])
        if first in (ACK, NAK):
            found.append(first)
            del self._pending[:1]
            return
        ends = [at for at in map(self._pending.find, (b"$", ACK, NAK)) if at > 0]
        self._skip(min(ends, default=len(self._pending)))

    def _skip(self, count: int) -> None:
        self.stray = (self.stray + bytes(self._pending[:count]))[:MOST_BYTES]
        del self._pending[:count]


def _checked(data: bytes, checksum: bytes) -> bytes | None:
    right = re.fullmatch(rb"[0-9a-fA-F]{2}", checksum) and sum(data) & 0xFF == int(checksum, 16)
    return decoded(data) if right else None
