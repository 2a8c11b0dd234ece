"""The quick reader of symbols against pyelftools, and damaged tables."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from hil.errors import RigError
from hil.images import image_of
from hil.images.symbols import symbols_of

PATH = image_of("rp2040").path
SPECIAL = {"SHN_UNDEF": 0, "SHN_ABS": 0xFFF1, "SHN_COMMON": 0xFFF2}  # numbers of no section


def test_they_are_those_that_pyelftools_reads() -> None:
    with PATH.open("rb") as file:
        elf = ELFFile(file)
        theirs = [
            (
                s.name,
                s["st_value"],
                s["st_info"]["type"] == "STT_FUNC",
                SPECIAL.get(s["st_shndx"], s["st_shndx"]),
                s["st_size"],
            )
            for s in elf.get_section_by_name(".symtab").iter_symbols()
            if s.name
        ]
        assert [tuple(symbol) for symbol in symbols_of(elf) or ()] == theirs and len(theirs) > 500


@pytest.mark.parametrize("name", [0x00FF_FFFF, 0xFFFF_FFFF])
def test_a_name_outside_the_strings_is_damage(name: int, tmp_path: Path) -> None:
    data = bytearray(PATH.read_bytes())
    with PATH.open("rb") as file:
        at = ELFFile(file).get_section_by_name(".symtab")["sh_offset"]
    struct.pack_into("<I", data, at + 16 * 5, name)
    (tmp_path / "mine.elf").write_bytes(data)
    with pytest.raises(
        RigError,
        match=r"mine\.elf is damaged \(its symbol table is truncated, or names a string that its string table lacks\)",
    ):
        image_of("rp2040", tmp_path / "mine.elf")
