"""An image as the files that programmers take: plain binary and Intel HEX."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

from elftools.common.exceptions import ELFError

from hil.errors import RigError
from hil.images.images import Image

ERASED = 0xFF  # of gaps
MOST_BYTES = 64 << 20  # of a binary: more is a gap between two memories


def extent(image: Image) -> tuple[int, int]:
    """Return the first address of what is flashed, and the bytes from there to its end.

    Raises RigError if the file is no ELF file, or has nothing to load.
    """
    try:
        flashed = image.flashed
    except ELFError as error:
        raise RigError(f"{image.path} is no ELF file ({error}): {{bin}} and {{hex}} are made from one.") from error
    if not flashed:
        raise RigError(f"{image.path} has no loadable segment: link it.")
    start = flashed[0][0]
    return start, max(address + len(data) for address, data in flashed) - start


def binary_of(image: Image) -> bytes:
    """Return what is flashed as one piece, gaps filled with 0xFF. Raises RigError if gaps make it larger than 64 MB."""
    start, size = extent(image)
    if size > MOST_BYTES:
        raise RigError(
            f"{image.path.name} has bytes from 0x{start:08X} to 0x{start + size - 1:08X}, which are too far apart for "
            "{bin}: write {hex} or {elf} in the command."
        )
    flat = bytearray([ERASED]) * size
    for address, data in image.flashed:
        flat[address - start : address - start + len(data)] = data
    return bytes(flat)


def hex_of(image: Image) -> str:
    """Return what is flashed as Intel HEX (Hexadecimal Object File Format Specification, revision A, 1988)."""
    from intelhex import IntelHex  # only some commands ask for it

    extent(image)
    records = IntelHex()
    for address, data in image.flashed:
        records.puts(address, data)
    text = io.StringIO()
    records.write_hex_file(text)
    return text.getvalue()


def differs(name: str, flashed: Iterable[tuple[int, bytes]], start: int, data: bytes) -> str | None:
    """Return where bytes that were read back differ from what was flashed, None if they hold all of it.

    Args:
        name: of the image.
        flashed: (address, bytes).
        start: address of the first byte that was read.
        data: the bytes from there.
    """
    for address, wanted in flashed:
        there = data[address - start : address - start + len(wanted)]
        if len(there) < len(wanted):
            return f"{len(data):,} bytes were read, which do not reach 0x{address + len(wanted) - 1:08X}"
        if there != wanted:
            at = next(index for index, (one, other) in enumerate(zip(there, wanted, strict=True)) if one != other)
            return f"0x{there[at]:02X} is at 0x{address + at:08X}, where {name} has 0x{wanted[at]:02X}"
    return None


def write_flash_file(image: Image, kind: str, folder: Path) -> Path:
    """Write `bin` or `hex` of an image into a folder, and return its path."""
    path = folder / f"{image.path.stem}.{kind}"
    if kind == "bin":
        path.write_bytes(binary_of(image))
    else:
        path.write_text(hex_of(image), encoding="ascii")
    return path
