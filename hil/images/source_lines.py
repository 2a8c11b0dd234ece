"""Find the source line of an instruction in the line tables of an ELF file (DWARF 5, section 6.2)."""

from __future__ import annotations

import bisect
import posixpath
import re
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

Row = tuple[int, str, int]  # first address, file, line; an empty file ends a sequence


class SourceLines:
    """The line tables of one ELF file, which may have none."""

    def __init__(self, path: Path) -> None:
        rows: list[Row] = []
        with path.open("rb") as file:
            elf = ELFFile(file)
            if elf.has_dwarf_info():
                dwarf = elf.get_dwarf_info()
                for unit in dwarf.iter_CUs():
                    program = dwarf.line_program_for_CU(unit)
                    if program is not None:
                        rows += _rows(program)
        # A sequence may begin at the address at which another ends: sort the end first.
        self._rows = sorted(rows, key=lambda row: (row[0], bool(row[1])))
        self._starts = [row[0] for row in self._rows]

    def at(self, address: int) -> str | None:
        """Return `folder/file.c:line` of the instruction at an address, None if no table contains it."""
        place = bisect.bisect_right(self._starts, address) - 1
        if place < 0 or not self._rows[place][1]:
            return None
        _, file, line = self._rows[place]
        return f"{file}:{line}"


def _rows(program: Any) -> list[Row]:
    """Return the rows of a compilation unit, without those of functions that the linker has dropped.

    A dropped function keeps its sequence at address 0, where no image has code.
    """
    rows: list[Row] = []
    sequence: list[Row] = []
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        sequence.append((state.address, "" if state.end_sequence else _file(program, state.file), state.line))
        if state.end_sequence:
            rows += sequence if sequence[0][0] else []
            sequence = []
    return rows


def _file(program: Any, number: int) -> str:
    """Return the path of a file as given to the compiler, without leading `../` (a library's build folder).

    File numbers start at 0 in DWARF 5 and at 1 in earlier versions (6.2.4).
    """
    header = program.header
    first = 0 if header.version >= 5 else 1
    entry = header.file_entry[number - first]
    folders = header.include_directory
    folder = folders[entry.dir_index - first] if entry.dir_index >= first else b""
    path = posixpath.normpath(posixpath.join(folder.decode(), entry.name.decode()))
    return re.sub(r"^(\.\./)+", "", path)
