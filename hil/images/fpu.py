"""Find instructions of a floating-point unit in an image for a core that has none, or none of double precision.

Build attributes are merged from all objects that were linked, also from those of a library of which the linker then
dropped everything. So an image is refused for the instructions that are in it, if its mapping symbols tell code from
data, else for its attributes.

Sources: Addenda to the ABI for the Arm architecture, 3.3.5 and 3.3.6; ARM DDI 0403E.e, A6.4 to A6.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from elftools.elf.elffile import ELFFile

from hil.images.armv6m import code_of, is_wide

FP_ARCH, HARD_FP = "TAG_FP_ARCH", "TAG_ABI_HARDFP_USE"
SINGLE_ONLY = 1  # of Tag_ABI_HardFP_use
NONE, UNUSED, DOUBLE = "none", "none used", "d16"  # names in the catalogue, as of -mfpu; `-sp-` is single precision


def wants_fpu(attributes: Mapping[str, int]) -> bool:
    """Return whether code was compiled for a floating-point unit."""
    return attributes.get(FP_ARCH, 0) > 0


def wants_double(attributes: Mapping[str, int]) -> bool:
    """Return whether code was compiled for a unit of double precision."""
    return wants_fpu(attributes) and attributes.get(HARD_FP, 0) != SINGLE_ONLY


def has_double(fpu: str) -> bool:
    """Return whether a unit of the catalogue has double precision."""
    return fpu.endswith(DOUBLE) and "-sp-" not in fpu


def has_mapping(elf: ELFFile) -> bool:
    """Return whether mapping symbols tell code from data."""
    return next(code_of(elf), None) is not None


def instructions_of(elf: ELFFile, double: bool) -> Iterator[int]:
    """Yield the address of every floating-point instruction; with `double`, of those of double precision only.

    Loads, stores and moves of double registers are also those of a unit of single precision.
    """
    for base, halfwords in code_of(elf):
        index = 0
        while index < len(halfwords):
            first = halfwords[index]
            if is_wide(first):
                second = halfwords[index + 1] if index + 1 < len(halfwords) else 0
                unit = first & 0xEC00 == 0xEC00 and second & 0x0E00 == 0x0A00  # coprocessors 10 and 11
                computes = first & 0xEF00 == 0xEE00 and not second & 0x0010
                if unit and (not double or (computes and second & 0x0100)):
                    yield base + 2 * index
                index += 1
            index += 1
