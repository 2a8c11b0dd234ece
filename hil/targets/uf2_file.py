"""Make a UF2 file from an image.

Sources: Microsoft, USB Flashing Format (UF2), "File format"; RP2040 data sheet, 2.8.4.2 (what its boot ROM accepts).
"""

from __future__ import annotations

import struct

from hil.images import Image

MAGIC, MAGIC_2, MAGIC_END = 0x0A324655, 0x9E5D5157, 0x0AB16F30
FAMILY_IS_PRESENT = 0x2000
PAYLOAD, DATA = 256, 476  # bytes used of a block's data field, and the size of that field
SECTOR = 4096  # whole sectors are sent: a partly filled one may be erased again after its first pages (RP2040-E14)


def uf2_of(image: Image, family: int, start: int, size: int) -> bytes:
    """Return the UF2 blocks of an image, 512 bytes each, in order of addresses. Unused bytes of a sector are 0xFF.

    Args:
        image: the firmware.
        family: UF2 family id of the chip.
        start, size: address and bytes of the flash.

    Raises:
        Blocked: the image lies outside the flash.
    """
    pages = [
        (sector + offset, data[offset : offset + PAYLOAD])
        for sector, data in image.pages(start, size, SECTOR).items()
        for offset in range(0, SECTOR, PAYLOAD)
    ]
    return b"".join(_block(address, data, number, len(pages), family) for number, (address, data) in enumerate(pages))


def _block(address: int, data: bytes, number: int, total: int, family: int) -> bytes:
    head = struct.pack("<8I", MAGIC, MAGIC_2, FAMILY_IS_PRESENT, address, PAYLOAD, number, total, family)
    return head + data.ljust(DATA, b"\0") + struct.pack("<I", MAGIC_END)
