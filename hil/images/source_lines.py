"""Find the source line of an instruction in the line tables of an ELF file (DWARF 5, section 6.2)."""

from __future__ import annotations

import bisect
import posixpath
import re
from pathlib import Path
from typing import Any, NamedTuple

from elftools.elf.elffile import ELFFile


class LineTableRow(NamedTuple):
    """A row of a line table: from this address on, the code is of this line; an empty file ends a sequence."""

    address: int
    file: str
    line: int


class SourceLines:
    """The line tables of one ELF file, which may have none."""

    def __init__(self, path: Path) -> None:
        # A sequence may begin at the address at which another ends: sort the end first.
        self._rows = sorted(line_rows(path), key=lambda row: (row.address, bool(row.file)))
        self._starts = [row.address for row in self._rows]

    def at(self, address: int) -> str | None:
        """Return `folder/file.c:line` of the instruction at an address, None if no table contains it."""
        place = bisect.bisect_right(self._starts, address) - 1
        if place < 0 or not self._rows[place].file:
            return None
        return f"{self._rows[place].file}:{self._rows[place].line}"


def line_rows(path: Path) -> list[LineTableRow]:
    """Return the rows of all line tables of an ELF file, sequence by sequence; empty if it has none."""
    rows: list[LineTableRow] = []
    with path.open("rb") as file:
        elf = ELFFile(file)
        if elf.has_dwarf_info():
            dwarf = elf.get_dwarf_info()
            for unit in dwarf.iter_CUs():
                program = dwarf.line_program_for_CU(unit)
                if program is not None:
                    rows += _rows(program)
    return rows


def _rows(program: Any) -> list[LineTableRow]:
    """Return the rows of a compilation unit, without those of functions that the linker has dropped.

    A dropped function keeps its sequence at address 0, where no image has code.
    """
    rows: list[LineTableRow] = []
    sequence: list[LineTableRow] = []
    files: dict[int, str] = {}
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if state.file not in files:
            files[state.file] = _file(program, state.file)
        name = "" if state.end_sequence else files[state.file]
        sequence.append(LineTableRow(state.address, name, state.line))
        if state.end_sequence:
            rows += sequence if sequence[0].address else []
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
