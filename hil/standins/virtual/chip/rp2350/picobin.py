"""Search for an image that the RP2350's boot ROM starts (data sheet, 5.9; pico-bootrom-rp2350, src/main/arm).

The ROM looks for a loop of blocks that begins in the first 4 KB of flash (s_varm_crit_next_block) and takes the last
IMAGE_DEF in it that fits (s_varm_crit_prefer_new_image_def). Not modelled, and therefore refused with a reason: a
partition table, a load map, a rolling window, hashes, try before you buy, and images for the RISC-V cores.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

START, END = 0xFFFFDED3, 0xAB123579
SEARCH, BLOCK_MAX, IMAGE_DEF_MAX = 0x1000, 0x280, 0x180
_LAST, _IMAGE_TYPE, _VECTOR_TABLE, _ENTRY_POINT, _PARTITION_TABLE = 0xFF, 0x42, 0x03, 0x44, 0x0A
_HARMLESS = (0x48, 0x7E)  # VERSION, which matters with a roll-back version only, and IGNORED
_REFUSED = {0x05: "a rolling window", 0x06: "a load map", 0x47: "a hash", 0x09: "a signature", 0x4B: "a hash",
            0x0C: "a salt"}  # fmt: skip
_EXE, _NON_SECURE, _ARM, _RP2350, _TBYB = 1, 1, 0, 1, 1 << 15
_SIZES = {_VECTOR_TABLE: (2,), _ENTRY_POINT: (3, 4)}


class NoImage(Exception):
    """The ROM does not start the flash; the message says why."""


@dataclass(frozen=True)
class Image:
    """What the ROM starts: addresses of the vector table and of the first instruction, and the stack with its limit."""

    vectors: int
    entry: int
    stack: int
    limit: int = 0


Items = tuple[tuple[int, ...], ...]  # words of each item


@dataclass(frozen=True)
class _Block:
    place: int  # offset in flash
    items: Items
    next: int  # offset of the next block from this one


def find_image(flash: bytes, base: int) -> Image:
    """Return the image in a flash whose first byte the core sees at `base`; raise NoImage if there is none."""
    chosen: Items | None = None
    for block in _loop(flash):
        header = block.items[0][0] if block.items else 0
        if header & 0x7F == _PARTITION_TABLE:
            raise NoImage(f"the block at 0x{block.place:X} is a partition table, which this model does not have")
        fits = sum(map(len, block.items)) < IMAGE_DEF_MAX // 4
        if header & 0xFFFF == 0x100 | _IMAGE_TYPE and header >> 16 & 0xF == _EXE and fits:
            chosen = block.items
    if chosen is None:
        raise NoImage("no IMAGE_DEF of an executable in the block loop")
    _check(chosen[0][0] >> 16)
    return _image(chosen[1:], flash, base)


def _check(flags: int) -> None:
    """Raise NoImage for an executable that the ROM of this chip in the Arm state does not start."""
    if flags >> 12 & 7 != _RP2350:
        raise NoImage(f"the image is for chip {flags >> 12 & 7}, not for the RP2350 ({_RP2350})")
    if flags >> 8 & 7 != _ARM:
        raise NoImage("the image is not for the Arm cores; the model has no others")
    if flags >> 4 & 3 == _NON_SECURE:
        raise NoImage("the image is marked as Non-secure, and the ROM starts a Secure one")
    if flags & _TBYB:
        raise NoImage("the image is marked 'try before you buy', which is started by a flash update only")


def _image(items: Items, flash: bytes, base: int) -> Image:
    vectors, entry = base, None
    for item in items:
        kind = item[0] & 0x7F
        if kind in _REFUSED:
            raise NoImage(f"the image has {_REFUSED[kind]}, which this model does not have")
        if len(item) not in _SIZES.get(kind, (len(item),)):
            raise NoImage(f"an item of kind 0x{kind:02X} has {len(item)} words")
        if kind == _VECTOR_TABLE:
            vectors = item[1]
        elif kind == _ENTRY_POINT:
            entry = item[1:]
        elif kind not in _HARMLESS:
            raise NoImage(f"the image has an item of kind 0x{kind:02X}, which this model does not have")
    if entry is not None:
        return Image(vectors, entry[0], *entry[1:])
    place = vectors - base
    if not 0 <= place <= len(flash) - 8:
        raise NoImage(f"the vector table at 0x{vectors:08X} is outside the flash")
    stack, first = struct.unpack_from("<2I", flash, place)
    return Image(vectors, first, stack)


def _loop(flash: bytes) -> list[_Block]:
    """Return the blocks of the loop, from the first on; raise NoImage if it is not closed or not valid."""
    first = next((block for at in range(0, SEARCH, 4) if (block := _maybe(flash, at))), None)
    if first is None:
        raise NoImage(f"no block begins in the first {SEARCH} bytes of the flash")
    blocks, at = [first], first.place + first.next
    while at != first.place:
        block = _maybe(flash, at) if at > first.place else None
        if block is None or not block.next:
            raise NoImage(f"the block loop is broken at 0x{at:X}: no valid block that leads on")
        blocks.append(block)
        if len(blocks) > len(flash) // 16:
            raise NoImage("the block loop does not come back to its first block")
        at = block.place + block.next
    return blocks


def _maybe(flash: bytes, at: int) -> _Block | None:
    """Return the block that begins at an offset in flash; None if there is no valid one."""
    words = struct.unpack_from(f"<{min(BLOCK_MAX, len(flash) - at) // 4}I", flash, at) if at + 16 <= len(flash) else ()
    if not words or words[0] != START:
        return None
    items: list[tuple[int, ...]] = []
    place = 1
    while place < len(words) - 2:
        header = words[place]
        size = header >> 8 & (0xFFFF if header & 0x80 else 0xFF)
        if header & 0xFF == _LAST:
            closed = place - 1 == size and words[place + 2] == END
            offset = words[place + 1] - (words[place + 1] >> 31 << 32)
            return _Block(at, tuple(items), offset // 4 * 4) if closed else None
        if not size or place + size > len(words):
            return None
        items.append(words[place : place + size])
        place += size
    return None
