"""A UF2 file from an image. Source: Microsoft, USB Flashing Format (UF2), "File format"; RP2040 data sheet, 2.8.4.2 (what its boot ROM takes)."""

from __future__ import annotations

import struct

from hil.errors import Blocked
from hil.images import Image

MAGIC, MAGIC_2, MAGIC_END = 0x0A324655, 0x9E5D5157, 0x0AB16F30
FAMILY_IS_PRESENT = 0x2000
PAYLOAD, DATA = 256, 476  # bytes used in a block, and its room
SECTOR = 4096  # RP2040-E14: a sector that is only partly filled may be erased again behind its first pages, so all of it is sent


def uf2_of(image: Image, family: int, start: int, size: int) -> bytes:
    """Return the blocks of an image, 512 bytes each, in order of addresses; what the image leaves of a sector is 0xFF.

    Args:
        image: the firmware.
        family: the chips that are to take it.
        start, size: the flash.

    Raises:
        Blocked: the image lies outside the flash.
    """
    sectors: dict[int, bytearray] = {}
    for address, data in image.flashed:
        if not start <= address <= address + len(data) <= start + size:
            raise Blocked(
                "flash",
                f"{image.path.name} has bytes at 0x{address:08X}, outside of the flash (0x{start:08X}, {size:,} bytes): link it for this board.",
            )
        for place, byte in enumerate(data, address):
            sectors.setdefault(place - place % SECTOR, bytearray(b"\xff" * SECTOR))[place % SECTOR] = byte
    pages = [
        (sector + offset, bytes(data[offset : offset + PAYLOAD]))
        for sector, data in sorted(sectors.items())
        for offset in range(0, SECTOR, PAYLOAD)
    ]
    return b"".join(_block(address, data, number, len(pages), family) for number, (address, data) in enumerate(pages))


def _block(address: int, data: bytes, number: int, total: int, family: int) -> bytes:
    head = struct.pack("<8I", MAGIC, MAGIC_2, FAMILY_IS_PRESENT, address, PAYLOAD, number, total, family)
    return head + data.ljust(DATA, b"\0") + struct.pack("<I", MAGIC_END)
