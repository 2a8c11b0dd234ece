"""Load firmware images: prebuilt ones, verified against their manifest, or the user's own ELF file."""

from __future__ import annotations

import hashlib
import io
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import xxhash
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from hil.boards.catalogue import load
from hil.bounded_read import packaged_toml, read_file
from hil.errors import Blocked, RigError
from hil.images import own_image
from hil.images.armv6m import foreign_instructions
from hil.images.source_lines import SourceLines
from hil.images.symbols import Symbol, symbols_of
from hil.packaged import packaged_folder

LARGEST = 256 << 20  # bytes of an ELF file, including debug information
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
        """Return the same firmware with additional data for the flash."""
        return replace(self, cargo=((address, data),))

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
    def table(self) -> list[Symbol]:
        """Every named symbol; empty if the file has no symbol table."""
        return _table_of(self.path, self.sha256)

    @cached_property
    def symbols(self) -> dict[str, int]:
        """Address of every named symbol, without the Thumb bit of functions. Raises RigError without a symbol table."""
        if not self.table:
            raise RigError(f"{self.path} has no symbol table: build it without `strip`.")
        return {symbol.name: symbol.address for symbol in self.table}

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

    def function_at(self, address: int) -> str:
        """Return `name+offset` of the function that contains `address`; the address itself if there is none."""
        place = bisect_right(self.functions, (address & ~1, "\uffff")) - 1
        if place < 0:
            return f"0x{address:08X}"
        value, name = self.functions[place]
        return f"{name}+0x{(address & ~1) - value:X}"

    @cached_property
    def lines(self) -> SourceLines:
        """The line tables of the file."""
        return SourceLines(self.path)

    def place(self, address: int, call: bool = False) -> str:
        """Return `0xADDRESS in function+offset (file.c:line)`, without the parts that the file does not contain.

        The Thumb bit is ignored. With `call`, the address is a return address; the line is that of the call before it.
        """
        words = f"0x{address & ~1:08X}"
        if not any(base <= (address & ~1) < base + len(data) for base, data in self.segments):
            return words
        line = self.lines.at((address & ~1) - call)
        return f"{words} in {self.function_at(address)}" + (f" ({line})" if line else "")


@cache
def _table_of(path: Path, sha256: str) -> list[Symbol]:
    """Return the symbols of a file; `sha256` is that of its present content. One session asks for an image often."""
    with path.open("rb") as file:
        return symbols_of(ELFFile(file)) or []


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
    if load(board).core == "cortex-m0plus":
        _check_armv6m(image, board)
    return image


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


def _own(path: Path, board: str) -> Image:
    read = _read(path)
    try:
        own_image.check(path, load(board))
    except ELFError as error:
        raise RigError(f"{path} is damaged ({error}): link it again.") from error
    return Image(read.path, read.sha256, own=True)


def _prebuilt(name: str) -> Image:
    manifest_path = PREBUILT / "MANIFEST.toml"
    if not manifest_path.is_file():
        raise RigError(
            f"{manifest_path} is missing: reinstall trainrig, or run `make -C firmware prebuilt` in the checkout."
        )
    manifest = packaged_toml(manifest_path)
    if name not in manifest:
        raise RigError(f"{manifest_path} lists no image for {name}: run `make -C firmware prebuilt`.")
    image = _read(PREBUILT / f"{name}.elf")
    if image.sha256 != manifest[name]["sha256"]:
        raise RigError(
            f"{image.path} does not match MANIFEST.toml (sha256 {image.sha256[:12]}, "
            f"expected {manifest[name]['sha256'][:12]}): "
            "restore both from version control, or run `make -C firmware prebuilt`."
        )
    return image


def _read(path: Path) -> Image:
    data = read_file(path, LARGEST, CURE)
    try:
        ELFFile(io.BytesIO(data))
    except ELFError as error:
        raise RigError(f"{path} is not an ELF file ({error}): give the linked firmware, not a .bin or .hex.") from error
    return Image(path, hashlib.sha256(data).hexdigest())
