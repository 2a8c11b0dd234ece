"""Find instructions in a firmware image that a Cortex-M0+ does not have. Emulators may execute them.

Source: ARM DDI 0419 (Armv6-M Architecture Reference Manual), A5.2 and A5.3, the encoding tables.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from hil.errors import RigError
from hil.images.symbols import symbols_of

_FOREIGN, _NARROW, _WIDE = range(3)  # by the first halfword of an instruction
CODE, DATA = "$t", "$d"  # mapping symbols: start of instructions, start of data (Arm ELF ABI, 5.5.5)


def foreign_instructions(path: Path) -> Iterator[tuple[int, int]]:
    """Yield (address, first halfword) of every instruction in an ELF file that Armv6-M does not define.

    Raises:
        RigError: the file has no mapping symbols, which distinguish code from data.
    """
    with path.open("rb") as file:
        elf = ELFFile(file)
        code = list(code_of(elf))
        if not code:
            raise RigError(
                f"{path} has no mapping symbols ($t, $d), so its code cannot be checked: "
                "link it without `strip --strip-all`."
            )
        kinds = _kinds()
        for base, halfwords in code:
            index = 0
            while index < len(halfwords):
                first = halfwords[index]
                kind = kinds[first]
                if kind == _FOREIGN or (
                    kind == _WIDE and not is_armv6m(first, halfwords[index + 1] if index + 1 < len(halfwords) else 0)
                ):
                    yield base + 2 * index, first
                index += 2 if kind == _WIDE else 1


@cache
def _kinds() -> bytes:
    """Return the kind of instruction that begins with each halfword; of a wide one the second halfword decides."""
    return bytes(_WIDE if is_wide(first) else _NARROW if is_armv6m(first, 0) else _FOREIGN for first in range(1 << 16))


def code_of(elf: ELFFile) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield (address, halfwords) of every stretch of instructions, without the data between them.

    Mapping symbols tell them apart; those of other sections, such as debug sections, have values that are no addresses.
    """
    marks = sorted(
        (each.section, each.value, each.name[:2]) for each in symbols_of(elf) or () if each.name[:2] in (CODE, DATA)
    )
    for number, section in enumerate(elf.iter_sections()):
        if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR and section["sh_type"] == "SHT_PROGBITS":
            base, data = section["sh_addr"], section.data()
            inside = [(value - base, kind) for place, value, kind in marks if place == number]
            for (first, kind), (end, _) in zip(inside, [*inside, (len(data), DATA)][1:], strict=True):
                size = (end - first) // 2
                if kind == CODE and size > 0:
                    yield base + first, struct.unpack_from(f"<{size}H", data, first)


def is_wide(first: int) -> bool:
    """Return whether a halfword begins a 32-bit instruction (A5.1)."""
    return first >> 11 in (0b11101, 0b11110, 0b11111)


def is_armv6m(first: int, second: int) -> bool:
    """Return whether Armv6-M defines the instruction at two halfwords; `second` matters for 32-bit instructions."""
    return _is_wide_armv6m(first, second) if is_wide(first) else first >> 12 != 0xB or _is_miscellaneous(first)


def _is_wide_armv6m(first: int, second: int) -> bool:
    """Return whether a 32-bit instruction is one of the few of Armv6-M (A5.3): BL, MSR, MRS, barriers, UDF.W."""
    branch_with_link = first >> 11 == 0b11110 and second & 0xD000 == 0xD000
    to_special = first & 0xFFF0 == 0xF380 and second & 0xFF00 == 0x8800
    from_special = first == 0xF3EF and second & 0xF000 == 0x8000
    barrier = first == 0xF3BF and second & 0xFFF0 in (0x8F40, 0x8F50, 0x8F60)
    undefined = first & 0xFFF0 == 0xF7F0 and second & 0xF000 == 0xA000
    return branch_with_link or to_special or from_special or barrier or undefined


def _is_miscellaneous(first: int) -> bool:
    """Return whether Armv6-M defines a halfword that begins with 0xB (A5.2.5).

    Armv7-M also has CBZ, CBNZ, IT and more forms of CPS there.
    """
    kind = first >> 8 & 0xF
    if kind == 0x6:
        return first in (0xB662, 0xB672)  # CPSIE i, CPSID i
    if kind == 0xA:
        return first >> 6 & 3 != 2  # REV, REV16, REVSH
    if kind == 0xF:
        return first & 0xF == 0  # a hint; all others are IT
    return kind in (0x0, 0x2, 0x4, 0x5, 0xC, 0xD, 0xE)
