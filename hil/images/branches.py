"""Find the conditional branches of an image. Each has two outcomes: the next instruction follows, or another one does.

Source: ARM DDI 0403E.e (Armv7-M Architecture Reference Manual), A5 (encodings), A7.7.12 (B), A7.7.21 (CBNZ, CBZ),
A7.3 and A7.7.38 (IT). Armv6-M has a part of these; Armv8-M adds no others that compilers use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from elftools.elf.elffile import ELFFile

from hil.images.armv6m import code_of, is_wide

# Instructions of 16 bits that branch, as (mask, value); in an IT block they are conditional.
NARROW = (
    (0xF800, 0xE000),  # B
    (0xFF00, 0x4700),  # BX, BLX
    (0xFF00, 0xBD00),  # POP with pc
    (0xFF87, 0x4687),  # MOV pc
    (0xFF87, 0x4487),  # ADD pc
)
WIDE = (  # of 32 bits, the first halfword in bits 31:16
    (0xF800_9000, 0xF000_9000),  # B, BL
    (0xFFD0_8000, 0xE890_8000),  # LDM, POP with pc
    (0xFFD0_8000, 0xE910_8000),  # LDMDB with pc
    (0xFF70_F000, 0xF850_F000),  # LDR pc
    (0xFFF0_FFE0, 0xE8D0_F000),  # TBB, TBH
)


class Branch(NamedTuple):
    """A conditional branch: its address, that of the next instruction, and where it goes if it is taken.

    The target is None if a register or the stack has it, as of a conditional return.
    """

    address: int
    following: int
    target: int | None


def conditional_branches(path: Path) -> list[Branch]:
    """Return every conditional branch of an ELF file by address; none if it has no mapping symbols (`code_of`)."""
    with path.open("rb") as file:
        return sorted(each for base, halfwords in code_of(ELFFile(file)) for each in _in_code(base, halfwords))


def _in_code(base: int, halfwords: Sequence[int]) -> Iterator[Branch]:
    index = conditional = 0  # `conditional`: how many of the next instructions are in an IT block
    while index < len(halfwords):
        first = halfwords[index]
        length = 2 if is_wide(first) else 1
        word = first << 16 | halfwords[index + 1] if length == 2 and index + 1 < len(halfwords) else first
        if conditional:
            conditional -= 1
            is_branch = any(word & mask == value for mask, value in (WIDE if length == 2 else NARROW))
        elif first >> 8 == 0xBF and first & 0xF:
            conditional = 4 - ((first & -first & 0xF).bit_length() - 1)
            is_branch = False
        else:
            is_branch = _is_conditional_wide(word) if length == 2 else _is_conditional_narrow(word)
        if is_branch:
            address = base + 2 * index
            offset = _wide_offset(word) if length == 2 else _narrow_offset(word)
            yield Branch(address, address + 2 * length, None if offset is None else address + 4 + offset)
        index += length


def _is_conditional_narrow(word: int) -> bool:
    """Return whether an instruction of 16 bits is B with a condition, CBZ or CBNZ."""
    return (word >> 12 == 0xD and word >> 8 & 0xF < 0xE) or word & 0xF500 == 0xB100


def _is_conditional_wide(word: int) -> bool:
    """Return whether an instruction of 32 bits is B with a condition (encoding T3)."""
    return word & 0xF800_D000 == 0xF000_8000 and word >> 22 & 0xF < 0xE


def _narrow_offset(word: int) -> int | None:
    """Return the offset from pc of a branch of 16 bits, None if the instruction does not have it."""
    if word >> 12 == 0xD:
        return 2 * _signed(word, 8)
    if word & 0xF500 == 0xB100:
        return 2 * (word >> 4 & 0x20 | word >> 3 & 0x1F)
    return 2 * _signed(word, 11) if word >> 11 == 0b11100 else None


def _wide_offset(word: int) -> int | None:
    """Return the offset from pc of a branch of 32 bits, None if the instruction does not have it (A7.7.12, A7.7.18)."""
    if word >> 27 != 0b11110 or not word & 0x8000:
        return None
    sign, high, low = word >> 26 & 1, word >> 16, word & 0x7FF
    j1, j2 = word >> 13 & 1, word >> 11 & 1
    if not word & 0x1000:
        return 2 * _signed(sign << 19 | j2 << 18 | j1 << 17 | (high & 0x3F) << 11 | low, 20)
    i1, i2 = 1 ^ j1 ^ sign, 1 ^ j2 ^ sign
    return 2 * _signed(sign << 23 | i1 << 22 | i2 << 21 | (high & 0x3FF) << 11 | low, 24)


def _signed(word: int, bits: int) -> int:
    """Return the lowest bits of a word as a number in two's complement."""
    low = word & (1 << bits) - 1
    return low - (1 << bits) if low >> (bits - 1) else low
