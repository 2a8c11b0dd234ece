"""Write the CRC-32 that the boot ROM checks into the last word of the second boot stage: `seal_boot2.py IMAGE.elf`.

RP2040 data sheet, 2.8.1.3.1: polynomial 0x04C11DB7, initial value 0xFFFFFFFF, not reflected, no final inversion, over
the first 252 bytes of the flash.
"""

import struct
import sys
from pathlib import Path

FLASH = 0x10000000
SIZE = 252


def crc32(data: bytes) -> int:
    """Return the CRC of the boot ROM, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc >> 31 else 0)) & 0xFFFFFFFF
    return crc


def file_offset(elf: bytes) -> int:
    """Return where in a 32-bit little-endian ELF file the segment that is loaded at the start of the flash lies."""
    (table,) = struct.unpack_from("<I", elf, 28)
    size, count = struct.unpack_from("<HH", elf, 42)
    for index in range(count):
        kind, offset, _, address = struct.unpack_from("<4I", elf, table + index * size)
        if kind == 1 and address == FLASH:
            return offset
    raise SystemExit("no segment of the image is loaded at the start of the flash")


def main(path: Path) -> None:
    """Seal one image in its place."""
    elf = bytearray(path.read_bytes())
    start = file_offset(elf)
    if any(elf[start + SIZE : start + SIZE + 4]):
        raise SystemExit("the second boot stage is larger than 252 bytes")
    struct.pack_into("<I", elf, start + SIZE, crc32(elf[start : start + SIZE]))
    path.write_bytes(elf)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
