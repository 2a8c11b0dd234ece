"""Every byte of RAM has one owner; an image's own sections and segments are among them, wherever they lie."""

from __future__ import annotations

import io
import itertools
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from hil import boards
from hil.images import Image, image_of
from hil.images.ram_map import OUTSIDE, Claim, ram_map

H7 = boards.load("stm32h7b3")
HIDDEN = 8192
ALLOCATED, NOBITS, THREAD_LOCAL = 2, 8, 0x400  # ELF specification 1.2, figures 1-12 and 1-13; gABI, SHF_TLS


def section_header(elf: bytes, name: str) -> int:
    """Return the offset in the file of a section's header."""
    start, size = struct.unpack_from("<I", elf, 32)[0], struct.unpack_from("<H", elf, 46)[0]
    index = ELFFile(io.BytesIO(elf)).get_section_index(name)
    assert index is not None
    return int(start) + int(size) * index


def hidden_section(address: int, size: int = HIDDEN, flags: int = ALLOCATED) -> Callable[[bytearray], None]:
    """Make the section .ARM.attributes one of RAM, without bytes in the file."""

    def change(elf: bytearray) -> None:
        struct.pack_into("<4I", elf, section_header(bytes(elf), ".ARM.attributes") + 4, NOBITS, flags, address, 0)
        struct.pack_into("<I", elf, section_header(bytes(elf), ".ARM.attributes") + 20, size)

    return change


def hidden_segment(address: int, size: int = HIDDEN) -> Callable[[bytearray], None]:
    """Let the second program header, which is empty, allocate RAM that has no section header."""

    def change(elf: bytearray) -> None:
        start, entry = struct.unpack_from("<I", elf, 28)[0], struct.unpack_from("<H", elf, 42)[0]
        struct.pack_into("<2I", elf, start + entry + 8, address, address)
        struct.pack_into("<I", elf, start + entry + 20, size)

    return change


def changed(tmp_path: Path, change: Callable[[bytearray], None]) -> Image:
    elf = bytearray(image_of("stm32h7b3").path.read_bytes())
    change(elf)
    path = tmp_path / "mine.elf"
    path.write_bytes(elf)
    return image_of("stm32h7b3", path)


@pytest.mark.parametrize("name", boards.names())
def test_the_claims_of_a_prebuilt_image_are_all_ram_and_its_areas_are_whole(name: str) -> None:
    board, image = boards.load(name), image_of(name)
    claims = ram_map(image, board)
    for memory in (region for region in board.memory if region.kind == "ram"):
        its = [claim for claim in claims if claim.memory == memory.name]
        assert its[0].start == memory.start and its[-1].end == memory.start + memory.size
        assert all(one.end == following.start for one, following in itertools.pairwise(its))
    by_owner = {owner: sum(one.size for one in claims if one.owner == owner) for owner in {one.owner for one in claims}}
    at = image.symbols
    assert by_owner["arena"] == image.arena_size
    assert by_owner["stack"] == at["__stack_top"] - at["__stack_bottom"]
    assert by_owner["static"] == at["__static_end"] - at["__static_start"]
    assert not [claim for claim in claims if claim.is_own_part]


@pytest.mark.parametrize(
    "address", [0x3000_1000, 0x3000_F000, 0x2001_0000, 0x0000_0000, 0x3800_0000, 0x2400_0000, 0x2000_0000]
)
def test_a_section_of_ones_own_owns_its_bytes_in_every_memory_also_in_the_arena(address: int, tmp_path: Path) -> None:
    claims = ram_map(changed(tmp_path, hidden_section(address)), H7)
    own = [claim for claim in claims if claim.is_own_part]
    assert {claim.owner for claim in own} == {"section .ARM.attributes"}
    assert own[0].start == address and sum(claim.size for claim in own) == HIDDEN
    whole = sum(region.size for region in H7.memory if region.kind == "ram")
    assert sum(claim.size for claim in claims) == whole


def test_a_section_over_two_memories_is_in_both(tmp_path: Path) -> None:
    own = [claim for claim in ram_map(changed(tmp_path, hidden_section(0x3000_F000)), H7) if claim.is_own_part]
    assert [(claim.memory, claim.size) for claim in own] == [("ahb_sram1", 4096), ("ahb_sram2", 4096)]


def test_a_section_where_the_catalogue_has_no_memory_is_named(tmp_path: Path) -> None:
    claims = ram_map(changed(tmp_path, hidden_section(0x3880_0000, 4096)), H7)
    assert claims[-1] == Claim(OUTSIDE, "section .ARM.attributes", 0x3880_0000, 4096)


def test_a_segment_without_a_section_header_is_named(tmp_path: Path) -> None:
    own = [claim for claim in ram_map(changed(tmp_path, hidden_segment(0x3000_1000)), H7) if claim.is_own_part]
    assert own == [Claim("ahb_sram1", "segment 0x30001000", 0x3000_1000, HIDDEN)]


def test_what_lies_in_an_area_stays_in_it_and_what_takes_no_memory_claims_none(tmp_path: Path) -> None:
    static = image_of("stm32h7b3").symbols["__static_start"]
    changes = (
        hidden_section(static, 64),  # an input section of .bss that kept its header
        hidden_section(0x2400_0000, 1 << 20),  # the arena itself, as a section
        hidden_section(0x3000_1000, flags=ALLOCATED | THREAD_LOCAL),
        hidden_section(0x3000_1000, flags=0),
    )
    for change in changes:
        assert ram_map(changed(tmp_path, change), H7) == ram_map(image_of("stm32h7b3"), H7)
