"""Function names and source lines of an ELF file, for messages."""

from __future__ import annotations

import bisect
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from hil.errors import RigError
from hil.images.source_lines import SourceLines


class Symbols:
    """Function names and source lines of an ELF file.

    Args:
        path: ELF file, or None for no names.

    Raises:
        RigError: the file cannot be read.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._functions: list[tuple[int, int, str]] = []
        if path is None:
            return
        try:
            with path.open("rb") as file:
                for section in ELFFile(file).iter_sections():
                    if isinstance(section, SymbolTableSection):
                        self._take(section)
        except (OSError, ELFError) as error:
            raise RigError(f"--elf {path} cannot be read: {error}") from error
        self._functions.sort()

    def _take(self, table: SymbolTableSection) -> None:
        for symbol in table.iter_symbols():
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol.name:
                self._functions.append((symbol["st_value"] & ~1, symbol["st_size"], symbol.name))

    def line(self, address: int) -> str | None:
        """Return `file.c:line` of an instruction, or None if the file has no line for it.

        Every call reads the line tables of the file, which is slow: call it once for each fault.
        """
        return None if self._path is None else SourceLines(self._path).at(address)

    def name(self, address: int) -> str | None:
        """Return `function+offset` if the address is inside a known function, else None."""
        i = bisect.bisect_right(self._functions, (address, 1 << 32, "")) - 1
        if i < 0:
            return None
        start, size, name = self._functions[i]
        return f"{name}+0x{address - start:X}" if address < start + max(size, 2) else None
