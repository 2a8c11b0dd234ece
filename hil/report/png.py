"""A small picture as a data URI, for pages that draw without a script (PNG, second edition, ISO/IEC 15948:2004)."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

SIGNATURE = b"\x89PNG\r\n\x1a\n"
DEPTH, INDEXED = 8, 3  # bits of a pixel, and the colour type in which a pixel is its place in the palette


def data_uri(rows: Sequence[bytes], palette: Sequence[tuple[int, int, int]]) -> str:
    """Return rows of pixels of equal length as a picture; a pixel is its place in the palette, and 0 is transparent."""
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), DEPTH, INDEXED, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)  # each row unfiltered
    colours = b"".join(bytes(colour) for colour in palette)
    parts = ((b"IHDR", header), (b"PLTE", colours), (b"tRNS", b"\0"), (b"IDAT", pixels), (b"IEND", b""))
    data = SIGNATURE + b"".join(_chunk(kind, content) for kind, content in parts)
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
