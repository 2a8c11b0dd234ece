"""Read all symbols of an ELF file at once. pyelftools needs 0.1 ms for each, and an image has a thousand.

Source: Tool Interface Standard, ELF Specification 1.2, figure 1-15 (symbol table entry).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import StringTableSection, SymbolTableSection

ENTRY = struct.Struct("<IIIBBH")  # name, value, size, info, other, section
FUNCTION = 2  # type in the low four bits of `info` (figure 1-17)


class Symbol(NamedTuple):
    """One entry of the symbol table: `section` is its number, 0 for none; `size` in bytes, 0 if it is not known.

    The value of a function includes the Thumb bit.
    """

    name: str
    value: int
    is_function: bool
    section: int
    size: int = 0

    @property
    def address(self) -> int:
        """The value without the Thumb bit."""
        return self.value & ~1 if self.is_function else self.value


def symbols_of(elf: ELFFile) -> list[Symbol] | None:
    """Return the named symbols of a little-endian 32-bit file in table order; None if it has no symbol table.

    Raises:
        ELFError: the table is damaged.
    """
    table = elf.get_section_by_name(".symtab")
    if not isinstance(table, SymbolTableSection):
        return None
    entries, strings = table.data(), table.stringtable
    names = strings.data() if isinstance(strings, StringTableSection) else b""
    try:
        found = [
            (names[at : names.index(0, at)], value, info, section, size)
            for at, value, size, info, _, section in ENTRY.iter_unpack(entries)
        ]
    except (struct.error, ValueError):
        raise ELFError("its symbol table is truncated, or names a string that its string table lacks") from None
    return [
        Symbol(name.decode("utf-8", "replace"), value, info & 0xF == FUNCTION, section, size)
        for name, value, info, section, size in found
        if name
    ]
