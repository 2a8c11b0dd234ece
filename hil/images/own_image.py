"""Check the user's own firmware before flashing: built for this board; for a trial also with the agent's symbols."""

from __future__ import annotations

from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import ARMAttributesSection

from hil.boards.catalogue import Board, names
from hil.boards.cores import core_of
from hil.errors import RigError
from hil.images import fpu
from hil.images.symbols import symbols_of

OF_BOARD = "__board_"  # prefix of a symbol that every port's memory.ld defines; the board's name follows
AREAS = tuple(f"__{area}" for area in (
    "image_start", "image_end", "static_start", "static_end", "arena_start", "arena_end", "stack_bottom", "stack_top",
))  # fmt: skip
NAMES = {  # of Tag_CPU_arch
    10: "Armv7",
    11: "Armv6-M",
    12: "Armv6S-M",
    13: "Armv7E-M",
    14: "Armv8-A",
    16: "Armv8-M",
    17: "Armv8-M",
    21: "Armv8.1-M",
}
PROFILE_M = (ord("M"), None)
DOCS = "see docs/own-firmware.md"


def check(path: Path, board: Board, also_ram: bool = False) -> None:
    """Check that an ELF file may be flashed into a board of the catalogue and run there, whatever it is.

    Args:
        path: of the file.
        board: catalogue entry.
        also_ram: whether it may load bytes into RAM: an emulator writes them at every reset.

    Raises:
        RigError: the file is for another processor or board, is not linked, has no loadable segment, or loads outside
            the flash.
    """
    with path.open("rb") as file:
        elf = ELFFile(file)
        _check_kind(elf, path, board)
        _check_board({symbol.name for symbol in symbols_of(elf) or ()}, path, board)
        _check_architecture(elf, path, board)
        _check_segments(elf, path, board, also_ram)


def check_core(path: Path, board: Board) -> None:
    """Check that the core of a board executes an ELF file. Raises RigError if it is for another processor."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        _check_kind(elf, path, board)
        _check_architecture(elf, path, board)


def check_symbols(path: Path) -> None:
    """Check that an ELF file has the symbols that the host reads in a trial. Raises RigError if it lacks some."""
    with path.open("rb") as file:
        table = symbols_of(ELFFile(file))
    if table is None:
        raise RigError(f"{path} has no symbol table: build it without `strip`.")
    symbols = {symbol.name for symbol in table}
    missing = [name for name in AREAS if name not in symbols]
    if missing:
        raise RigError(
            f"{path} does not define {', '.join(missing)}: "
            f"link it with ports/common/sections.ld, or define them, {DOCS}."
        )


def _check_kind(elf: ELFFile, path: Path, board: Board) -> None:
    if elf["e_machine"] != "EM_ARM" or elf.elfclass != 32 or not elf.little_endian:
        order = "little" if elf.little_endian else "big"
        found = f"{elf.get_machine_arch()}, {elf.elfclass} bits, {order}-endian"
        raise RigError(
            f"{path} is for another processor ({found}): compile it with arm-none-eabi-gcc for {board.core}."
        )
    if elf["e_type"] != "ET_EXEC":
        raise RigError(
            f"{path} is not linked for fixed addresses ({elf['e_type']}): link it with the board's memory.ld, {DOCS}."
        )


def _check_board(symbols: set[str], path: Path, board: Board) -> None:
    """Check the board symbol. Images of the project's ports have one; a firmware with its own port need not."""
    built = [name for name in names() if OF_BOARD + name.replace("-", "_") in symbols]
    if built and board.name not in built:
        raise RigError(
            f"{path} is built for {' and '.join(built)}, not for {board.name}: "
            f"give the image of this board, or --board={built[0]}."
        )


def _check_architecture(elf: ELFFile, path: Path, board: Board) -> None:
    attributes = _attributes(elf)
    architecture, profile = attributes.get("TAG_CPU_ARCH"), attributes.get("TAG_CPU_ARCH_PROFILE")
    known = core_of(board.name, board.core).architectures
    if architecture is not None and (architecture not in known or profile not in PROFILE_M):
        name = NAMES.get(architecture, f"Tag_CPU_arch {architecture}")
        raise RigError(
            f"{path} is compiled for {name}, which the {board.core} of {board.name} cannot execute: "
            f"compile it with -mcpu={board.core}."
        )
    _check_fpu(elf, attributes, path, board)


def _check_fpu(elf: ELFFile, attributes: dict[str, int], path: Path, board: Board) -> None:
    """Check that the core has the floating-point unit that the code uses."""
    lacking = fpu.lacks(board.fpu)
    needed = next((each for each in fpu.needs_by_attributes(attributes) if each in lacking), None)
    if needed is None:
        return
    place = ""
    if fpu.has_mapping(elf):
        found = fpu.first_of(elf, lacking)
        if found is None:  # only attributes of an object that the linker has dropped, or that does not use it
            return
        address, needed = found
        place = f" (the first such instruction is at 0x{address:08X})"
    unit = "-mfloat-abi=soft" if board.fpu == fpu.NONE else f"-mfpu={board.fpu}"
    raise RigError(
        f"{path} is compiled for {needed.value}{place}, and that of the {board.core} of {board.name} is {board.fpu}: "
        f"compile it and its libraries with -mcpu={board.core} {unit}."
    )


def _attributes(elf: ELFFile) -> dict[str, int]:
    """Return the build attributes of the file; empty if the section is missing."""
    section = elf.get_section_by_name(".ARM.attributes")
    if not isinstance(section, ARMAttributesSection):
        return {}
    return {
        each.tag: each.value
        for vendor in section.iter_subsections()
        for scope in vendor.iter_subsubsections()
        for each in scope.iter_attributes()
    }


def _check_segments(elf: ELFFile, path: Path, board: Board, also_ram: bool) -> None:
    loads = [(each["p_paddr"], each["p_filesz"]) for each in elf.iter_segments("PT_LOAD") if each["p_filesz"]]
    if not loads:
        raise RigError(
            f"{path} has no loadable segment: nothing would be flashed; link it with the board's memory.ld, {DOCS}."
        )
    flash = [region for region in board.memory if also_ram or (region.kind == "flash" and region.name != "rom")]
    for start, size in loads:
        if not any(region.start <= start and start + size <= region.start + region.size for region in flash):
            there = " and ".join(f"0x{region.start:08X}..0x{region.start + region.size - 1:08X}" for region in flash)
            raise RigError(
                f"{path} loads {size:,} bytes at 0x{start:08X}, outside the flash of {board.name} ({there}): "
                f"link it with the board's memory.ld, {DOCS}."
            )
