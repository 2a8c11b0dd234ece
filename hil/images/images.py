"""Load firmware images: prebuilt ones, verified against their manifest, or the user's own ELF file."""

from __future__ import annotations

import hashlib
import io
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import xxhash
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from hil.boards.catalogue import Board, load, names
from hil.boards.cores import CORES, core_of
from hil.bounded_read import packaged_toml, read_file
from hil.errors import Blocked, RigError
from hil.images import own_image
from hil.images.armv6m import foreign_instructions
from hil.images.debug_info import DebugInfo
from hil.images.source_lines import SourceLines
from hil.images.symbols import Symbol, symbols_of
from hil.packaged import packaged_folder

LARGEST = 256 << 20  # bytes of an ELF file, including debug information
AGENT = ("agent_poll", "hil_agent_poll")  # one of them is in every firmware with the agent
CURE = "give the path of an ELF file"
PREBUILT = packaged_folder("prebuilt", "firmware/prebuilt")


@dataclass(frozen=True)
class Image:
    """An ELF file of the firmware. Segments, symbols and line tables are read on first use.

    Attributes:
        path: of the ELF file.
        sha256: of the ELF file.
        own: whether it is the user's own firmware, which is not in the manifest.
        cargo: (address, bytes) to program in addition to the firmware, such as a network file that stays in flash.
    """

    path: Path
    sha256: str
    own: bool = False
    cargo: tuple[tuple[int, bytes], ...] = ()

    def carrying(self, address: int, data: bytes) -> Image:
        """Return the same firmware with more data for the flash."""
        return replace(self, cargo=(*self.cargo, (address, data)))

    @property
    def flashed(self) -> list[tuple[int, bytes]]:
        """(address, bytes) of everything to program into the flash, lowest address first."""
        return sorted([*self.segments, *self.cargo])

    def pages(self, start: int, size: int, page: int) -> dict[int, bytes]:
        """Return `flashed` in whole pages by address, ascending; unused bytes are 0xFF.

        Raises Blocked if bytes lie outside the flash of `size` bytes at `start`.
        """
        pages: dict[int, bytearray] = {}
        for address, data in self.flashed:
            if not start <= address <= address + len(data) <= start + size:
                raise Blocked(
                    "flash",
                    f"{self.path.name} has bytes at 0x{address:08X}, outside the flash "
                    f"(0x{start:08X}, {size:,} bytes): link it for this board.",
                )
            for place, byte in enumerate(data, address):
                offset = (place - start) % page
                pages.setdefault(place - offset, bytearray(b"\xff" * page))[offset] = byte
        return {address: bytes(data) for address, data in sorted(pages.items())}

    @cached_property
    def segments(self) -> list[tuple[int, bytes]]:
        """(load address, file bytes) of every loadable segment, lowest address first."""
        with self.path.open("rb") as file:
            loads = [s for s in ELFFile(file).iter_segments("PT_LOAD") if s["p_filesz"]]
            return sorted((s["p_paddr"], s.data()) for s in loads)

    @cached_property
    def entry(self) -> int:
        """Address of the first instruction, without the Thumb bit."""
        with self.path.open("rb") as file:
            return int(ELFFile(file)["e_entry"]) & ~1

    @cached_property
    def table(self) -> list[Symbol]:
        """Every named symbol; empty if the file has no symbol table."""
        return _table_of(self.path, self.sha256)

    @property
    def has_agent(self) -> bool:
        """Whether the agent is in it: then it reports its own faults and answers every byte."""
        return any(symbol.name in AGENT for symbol in self.table)

    @cached_property
    def symbols(self) -> dict[str, int]:
        """Address of every named symbol, without the Thumb bit of functions. Raises RigError without a symbol table."""
        if not self.table:
            raise RigError(f"{self.path} has no symbol table: build it without `strip`.")
        return {symbol.name: symbol.address for symbol in self.table}

    def local_function(self, file: str, name: str) -> int | None:
        """Return the address of a static function of a source file, given without its folder; None without one.

        In a symbol table the local symbols of a file follow its own symbol (ELF specification 1.2, STT_FILE).
        """
        current = ""
        for symbol in self.table:
            if symbol.value == 0 and symbol.name.endswith(".c"):
                current = symbol.name
            elif symbol.is_function and (current, symbol.name) == (file, name):
                return symbol.address
        return None

    @property
    def digest(self) -> int:
        """XXH32 over the loaded bytes, gaps filled with 0xFF; the agent computes the same (docs/link.md, `hello`)."""
        base = self.segments[0][0]
        end = max(address + len(data) for address, data in self.segments)
        flat = bytearray(b"\xff" * (end - base))
        for address, data in self.segments:
            flat[address - base : address - base + len(data)] = data
        return xxhash.xxh32_intdigest(bytes(flat))

    @property
    def arena_size(self) -> int:
        """Size in bytes of the RAM that the firmware uses for training."""
        return self.symbols["__arena_end"] - self.symbols["__arena_start"]

    @cached_property
    def functions(self) -> list[tuple[int, str]]:
        """Address and name of every function, ascending. Static functions may share a name."""
        return sorted((symbol.address, symbol.name) for symbol in self.table if symbol.is_function)

    def function_at(self, address: int, call: bool = False) -> str:
        """Return `name+offset` of the function that contains `address`; the address itself if there is none.

        With `call`, the address is a return address: the function is that of the call before it. A call of a function
        that does not return may be the last instruction of its function.
        """
        at = address & ~1
        place = bisect_right(self.functions, (at - call, "\uffff")) - 1
        if place < 0:
            return f"0x{address:08X}"
        value, name = self.functions[place]
        return f"{name}+0x{at - value:X}"

    @cached_property
    def lines(self) -> SourceLines:
        """The line tables of the file."""
        return SourceLines(self.path)

    @cached_property
    def debug(self) -> DebugInfo:
        """Variables and types of the file."""
        return DebugInfo(self.path)

    def place(self, address: int, call: bool = False) -> str:
        """Return `0xADDRESS in function+offset (file.c:line)`, without the parts that the file does not contain.

        The Thumb bit is ignored. With `call`, the address is a return address; the line is that of the call before it.
        """
        words = f"0x{address & ~1:08X}"
        if not any(base <= (address & ~1) < base + len(data) for base, data in self.segments):
            return words
        line = self.lines.at((address & ~1) - call)
        return f"{words} in {self.function_at(address, call)}" + (f" ({line})" if line else "")


@cache
def _table_of(path: Path, sha256: str) -> list[Symbol]:
    """Return the symbols of a file; `sha256` is that of its present content. One session asks for an image often.

    A program that is no ELF file, which a command may run, has none.
    """
    with path.open("rb") as file:
        try:
            return symbols_of(ELFFile(file)) or []
        except ELFError:
            return []


@cache
def _foreign_to_armv6m(path: Path, sha256: str) -> list[tuple[int, int]]:
    """Return the instructions of a file that Armv6-M does not have; `sha256` is that of its present content."""
    return list(foreign_instructions(path))


def image_of(board: str, elf: Path | None = None) -> Image:
    """Return the prebuilt image of a board, verified against the manifest, or the user's own `elf`.

    Raises:
        RigError: the file is missing, is not an ELF file, differs from the manifest, is not for the board
            (own_image.py), or has instructions that the board's core does not have.
    """
    image = _prebuilt(board) if elf is None else _own(elf, board)
    if core_of(board, load(board).core).is_armv6m:
        _check_armv6m(image, board)
    return image


def firmware_of(board: str, elf: Path | None = None) -> Image:
    """Return any firmware that may be flashed into a board and runs there, or the board's prebuilt image.

    Unlike `image_of`, it needs no symbols.

    Raises:
        RigError: as `image_of`, but for symbols.
    """
    if elf is None:
        return image_of(board)
    image = _own(elf, board, of_agent=False)
    if core_of(board, load(board).core).is_armv6m and any(symbol.name.startswith("$t") for symbol in image.table):
        _check_armv6m(image, board)
    return image


def program_of(path: Path, board: Board | None = None) -> Image:
    """Return any program that a command runs: an ELF file for any processor, or another file.

    Args:
        path: of the file.
        board: whose core executes it; None: this computer, or what the command knows.

    Raises:
        RigError: the file is missing; or the board has a core that the rig knows, and the file is not for it.
    """
    if board is not None and board.core in CORES:
        image = read_elf(path)
        try:
            own_image.check_core(path, board)
        except ELFError as error:
            raise RigError(f"{path} is damaged ({error}): link it again.") from error
        return replace(image, own=True)
    return Image(path, hashlib.sha256(read_file(path, LARGEST, CURE)).hexdigest(), own=True)


def kernel_image(core: str) -> Image:
    """Return the prebuilt image with all kernels for a core, verified as `image_of` does."""
    image = _prebuilt(f"kernels-{core}")
    if core == "cortex-m0plus":
        _check_armv6m(image, core)
    return image


def _check_armv6m(image: Image, board: str) -> None:
    """Raise RigError if the image has instructions that the silicon does not have; an emulator may execute them."""
    for address, halfword in _foreign_to_armv6m(image.path, image.sha256):
        raise RigError(
            f"{image.path} has an instruction that the Cortex-M0+ of {board} does not have (0x{halfword:04X} at "
            f"0x{address:08X}, {image.function_at(address)}): compile it with -mcpu=cortex-m0plus."
        )


def _own(path: Path, board: str, of_agent: bool = True) -> Image:
    """Return the user's own image; `of_agent`, with what a trial needs of it."""
    read, entry = read_elf(path), load(board)
    try:
        own_image.check(path, entry, also_ram=not of_agent and "kernel" in entry.routes)
        if of_agent:
            own_image.check_symbols(path)
    except ELFError as error:
        raise RigError(f"{path} is damaged ({error}): link it again.") from error
    return Image(read.path, read.sha256, own=True)


def prebuilt_boards() -> list[str]:
    """Return the boards of the catalogue that have a prebuilt image, sorted. Raises RigError as `image_of`."""
    manifest = _manifest()
    return [name for name in names() if name in manifest]


def _manifest() -> dict[str, Any]:
    manifest_path = PREBUILT / "MANIFEST.toml"
    if not manifest_path.is_file():
        raise RigError(
            f"{manifest_path} is missing: reinstall trainrig, or run `make -C firmware prebuilt` in the checkout."
        )
    return packaged_toml(manifest_path)


def _prebuilt(name: str) -> Image:
    manifest = _manifest()
    if name not in manifest:
        raise RigError(
            f"there is no prebuilt image for {name} in {PREBUILT / 'MANIFEST.toml'}: give firmware of your own with "
            "--elf or with `elf` in its table of rig.toml, or run `make -C firmware prebuilt` in a checkout."
        )
    image = read_elf(PREBUILT / f"{name}.elf")
    if image.sha256 != manifest[name]["sha256"]:
        raise RigError(
            f"{image.path} does not match MANIFEST.toml (sha256 {image.sha256[:12]}, "
            f"expected {manifest[name]['sha256'][:12]}): "
            "restore both from version control, or run `make -C firmware prebuilt`."
        )
    return image


def read_elf(path: Path) -> Image:
    """Return an ELF file, whatever board it is for. Raises RigError if it is missing or no ELF file."""
    data = read_file(path, LARGEST, CURE)
    try:
        ELFFile(io.BytesIO(data))
    except ELFError as error:
        raise RigError(f"{path} is not an ELF file ({error}): give the linked firmware, not a .bin or .hex.") from error
    return Image(path, hashlib.sha256(data).hexdigest())
