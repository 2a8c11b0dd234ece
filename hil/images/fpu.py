"""Find floating-point instructions that the unit of a core does not have.

Build attributes are merged from all objects that were linked, also from those of a library of which the linker then
dropped everything. So an image is refused for the instructions that are in it, if its mapping symbols tell code from
data, else for its attributes.

Sources: Addenda to the ABI for the Arm architecture, 3.3.5 and 3.3.6; ARM DDI 0403E.e, A6.4 to A6.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from elftools.elf.elffile import ELFFile

from hil.images.armv6m import code_of, is_wide

FP_ARCH, HARD_FP = "TAG_FP_ARCH", "TAG_ABI_HARDFP_USE"
FIRST_FPV5 = 7  # of Tag_FP_arch: 7 and 8 are FPv5, with 32 and with 16 double registers
SINGLE_ONLY = 1  # of Tag_ABI_HardFP_use
NONE, UNUSED = "none", "none used"  # names in the catalogue; others are as of -mfpu


class Needs(Enum):
    """What an instruction needs of a floating-point unit; the value is its name in messages."""

    ANY = "a floating-point unit"
    FPV5 = "a floating-point unit of version FPv5"
    DOUBLE = "a double-precision floating-point unit"


def lacks(fpu: str) -> frozenset[Needs]:
    """Return what a unit of the catalogue does not have; nothing is known of one that nobody declared."""
    if fpu in ("", UNUSED):
        return frozenset()
    if fpu == NONE:
        return frozenset(Needs)
    return frozenset([Needs.FPV5] * fpu.startswith("fpv4") + [Needs.DOUBLE] * ("-sp-" in fpu))


def needs_by_attributes(attributes: Mapping[str, int]) -> tuple[Needs, ...]:
    """Return what code was compiled for, the most demanding first."""
    version = attributes.get(FP_ARCH, 0)
    if version == 0:
        return ()
    double = attributes.get(HARD_FP, 0) != SINGLE_ONLY
    return (Needs.DOUBLE,) * double + (Needs.FPV5,) * (version >= FIRST_FPV5) + (Needs.ANY,)


def has_mapping(elf: ELFFile) -> bool:
    """Return whether mapping symbols tell code from data."""
    return next(code_of(elf), None) is not None


def first_of(elf: ELFFile, wanted: frozenset[Needs]) -> tuple[int, Needs] | None:
    """Return the address of the first instruction that needs one of these, with what it needs; None without one."""
    for base, halfwords in code_of(elf):
        index = 0
        while index < len(halfwords):
            first = halfwords[index]
            if is_wide(first):
                second = halfwords[index + 1] if index + 1 < len(halfwords) else 0
                found = [each for each in needs_of(first, second) if each in wanted]
                if found:
                    return base + 2 * index, found[0]
                index += 1
            index += 1
    return None


def needs_of(first: int, second: int) -> tuple[Needs, ...]:
    """Return what a 32-bit instruction of these halfwords needs, the most demanding first.

    Loads, stores and moves of double registers are also those of a unit of single precision. FPv5 has added VSEL,
    VMAXNM, VMINNM, and VRINT and VCVT with a rounding mode in the instruction (A6.4, table A6-2, and A7.7).
    """
    if first & 0xEC00 != 0xEC00 or second & 0x0E00 != 0x0A00:  # not coprocessor 10 or 11
        return ()
    computes = first & 0xEF00 == 0xEE00 and not second & 0x0010
    widens = first & 0xFFBF == 0xEEB7 and second & 0x00C0 == 0x00C0  # VCVT between the precisions, in both directions
    double = computes and (second & 0x0100 != 0 or widens)
    rounds = first & 0xFFBF == 0xEEB6 and second & 0x0040 != 0  # VRINTR, VRINTZ
    rounds |= first & 0xFFBF == 0xEEB7 and second & 0x00C0 == 0x0040  # VRINTX
    fpv5 = computes and (first & 0xFF00 == 0xFE00 or rounds)
    return (Needs.DOUBLE,) * double + (Needs.FPV5,) * fpv5 + (Needs.ANY,)
