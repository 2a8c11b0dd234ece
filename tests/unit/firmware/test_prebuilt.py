"""The committed images: the manifest tells the truth about them, and they fit the boards they are for."""

from __future__ import annotations

import hashlib
import os
import re
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import xxhash
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from host_agent import FIRMWARE, tool

from hil import boards
from hil.images import image_of
from hil.link.generate import header
from hil.link.messages import description
from hil.training.trial.second_sources.counter import SLEEP_TICK
from tests.built_firmware import CHECKED, built_firmware

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PREBUILT = FIRMWARE / "prebuilt"


@dataclass(frozen=True)
class Memories:
    """Where the manuals let a board's image, its data with the stack, and its arena lie: first address and size in bytes.

    `vectors` is the offset of the vector table in the image; `dma` is where what a DMA works in lies apart from the data.
    """

    image: tuple[int, int]
    data: tuple[int, int]
    arena: tuple[int, int]
    vectors: int = 0
    dma: tuple[int, int] | None = None


# Every board's image is held against the catalogue. These facts were typed a second time, not from there; a board needs none here.
# STM32H7B3: RM0455, memory map. STM32F746: RM0385, memory map (one range of RAM: data and stack take the lowest 30 KB of DTCM, what the
# DMA sends the last 512 bytes of SRAM2). RP2040: its data sheet, 2.2 (one memory, of which data and stack take the lowest 26 KB) and 2.8.1 (the
# second stage of the boot before the vectors). RP2350: its data sheet, address map (one memory, of which data and stack take the lowest
# 32 KB). nRF52840: Product Specification, memory
# (one memory, of which data and stack take the lowest 30 KB). AN385, AN386, AN500: Arm DAI 0385, 0386 and 0500, memory map; AN505:
# Arm DAI 0505, memory map, by Secure aliases.
# i.MX RT1062: IMXRT1060RM, chapter 3, with FlexRAM as the port cuts it; the flash without what a Teensy 4.0's loader keeps, the vectors behind
# the headers of the boot ROM.
TWICE = {
    "stm32h7b3": Memories(
        (0x0800_0000, 2 << 20), (0x2000_0000, 128 << 10), (0x2400_0000, 1 << 20), dma=(0x3000_0000, 64 << 10)
    ),
    "stm32f746": Memories(
        (0x0800_0000, 1 << 20), (0x2000_0000, 30 << 10), (0x2000_7800, (290 << 10) - 512), dma=(0x2004_FE00, 512)
    ),
    "rp2040": Memories(
        (0x1000_0000, 2 << 20),
        (0x2000_0000, 26 << 10),
        (0x2000_6800, 238 << 10),
        vectors=256,
        dma=(0x2000_0000, 26 << 10),
    ),
    "rp2350": Memories(
        (0x1000_0000, 4 << 20), (0x2000_0000, 32 << 10), (0x2000_8000, 488 << 10), dma=(0x2000_0000, 32 << 10)
    ),
    "nrf52840": Memories((0, 1 << 20), (0x2000_0000, 30 << 10), (0x2000_7800, 226 << 10)),
    "imxrt1062": Memories(
        (0x6000_0000, 1984 << 10),
        (0x2000_0000, 64 << 10),
        (0x2020_0000, 896 << 10),
        vectors=0x1400,
        dma=(0x2000_0000, 64 << 10),
    ),
    "mps2-an385": Memories((0, 4 << 20), (0x2000_0000, 128 << 10), (0x2002_0000, (4 << 20) - (128 << 10))),
    "mps2-an386": Memories((0, 4 << 20), (0x2000_0000, 128 << 10), (0x2002_0000, (4 << 20) - (128 << 10))),
    "mps2-an505": Memories((0x1000_0000, 4 << 20), (0x3800_0000, 128 << 10), (0x3802_0000, (4 << 20) - (128 << 10))),
    "mps2-an500": Memories((0, 4 << 20), (0x2000_0000, 128 << 10), (0x2002_0000, (4 << 20) - (128 << 10))),
}

KERNELS = ("kernels-cortex-m7", "kernels-cortex-m4", "kernels-cortex-m0plus")


@pytest.fixture(scope="module")
def manifest() -> dict[str, dict[str, object]]:
    """Return the manifest of the committed images."""
    return tomllib.loads((PREBUILT / "MANIFEST.toml").read_text())


@pytest.fixture(params=boards.names())
def image(request: pytest.FixtureRequest) -> str:
    """Return the name of each image in turn."""
    return request.param


@pytest.fixture
def elf(image: str) -> Iterator[ELFFile]:
    """Return the committed image as an ELF file."""
    with (PREBUILT / f"{image}.elf").open("rb") as file:
        yield ELFFile(file)


def loaded(elf: ELFFile) -> list[tuple[int, bytes]]:
    """Return load address and bytes of every segment that is programmed, by address."""
    segments = [s for s in elf.iter_segments() if s["p_type"] == "PT_LOAD" and s["p_filesz"]]
    return sorted((s["p_paddr"], s.data()) for s in segments)


def symbol(elf: ELFFile, name: str) -> int:
    """Return the value of a symbol that the image must have."""
    found = elf.get_section_by_name(".symtab").get_symbol_by_name(name)
    assert found, f"no symbol {name}"
    return found[0]["st_value"]


def inside(start: int, end: int, memory: tuple[int, int]) -> bool:
    """Tell whether [start, end) lies in a memory."""
    return memory[0] <= start <= end <= memory[0] + memory[1]


def memories(board: str, kind: str) -> list[tuple[int, int]]:
    """Return the memories of a kind that the catalogue has, those that follow each other as one: first address and size."""
    joined: list[tuple[int, int]] = []
    for region in sorted(boards.load(board).memory, key=lambda region: region.start):
        if region.kind == kind and joined and sum(joined[-1]) == region.start:
            joined[-1] = joined[-1][0], joined[-1][1] + region.size
        elif region.kind == kind:
            joined.append((region.start, region.size))
    return joined


def test_manifest_describes_the_committed_files(
    manifest: dict[str, dict[str, object]], image: str, elf: ELFFile
) -> None:
    entry = manifest[image]
    assert entry["sha256"] == hashlib.sha256((PREBUILT / f"{image}.elf").read_bytes()).hexdigest()
    data = b"".join(content for _, content in loaded(elf))
    assert (entry["image_base"], entry["image_size"]) == (loaded(elf)[0][0], len(data))
    assert entry["image_digest"] == xxhash.xxh32_intdigest(data, seed=0)
    sizes = {name: elf.get_section_by_name(f".{name}")["sh_size"] for name in ("text", "data", "bss")}
    assert sizes == {name: entry[name] for name in sizes}
    assert set(manifest) == {*boards.names(), *KERNELS}


@pytest.mark.parametrize("name", KERNELS)
def test_an_image_of_kernels_holds_every_kernel(name: str) -> None:
    with (PREBUILT / f"{name}.elf").open("rb") as file:
        there = {s.name for s in ELFFile(file).get_section_by_name(".symtab").iter_symbols()}
    headers = [path.read_text() for path in (FIRMWARE / "kernels").glob("*.h")]
    public = "\n".join(text for text in headers if "rivate to" not in text[: text.index("*/")])
    kernels = set(re.findall(r"^(?!static|INLINED|typedef|#)\w[\w ]*[ *](\w+)\(", public, re.M))
    assert len(kernels) > 100 and kernels <= there


def test_segments_follow_each_other_without_gaps_in_the_flash(image: str, elf: ELFFile) -> None:
    start = end = loaded(elf)[0][0]
    for address, data in loaded(elf):
        assert address == end
        assert len(data) % 16 == 0
        end += len(data)
    assert (symbol(elf, "__image_start"), symbol(elf, "__image_end")) == (start, end)
    assert any(start == memory[0] and inside(start, end, memory) for memory in memories(image, "flash"))
    if image in TWICE:
        assert start == TWICE[image].image[0] and inside(start, end, TWICE[image].image)


def test_data_stack_and_arena_are_in_ram_and_apart(image: str, elf: ELFFile) -> None:
    stack = symbol(elf, "__stack_bottom"), symbol(elf, "__stack_top")
    static = symbol(elf, "__static_start"), symbol(elf, "__static_end")
    arena = symbol(elf, "__arena_start"), symbol(elf, "__arena_end")
    dma = symbol(elf, "__dma_start"), symbol(elf, "__dma_end")
    ram = memories(image, "ram")
    for part in (stack, static, arena, dma):
        assert any(inside(*part, memory) for memory in ram), part
    assert stack[0] in [memory[0] for memory in ram], "an overflow of the stack must run out of its memory"
    assert stack[0] < stack[1] <= static[0] <= static[1]
    assert arena[0] < arena[1] and (static[1] <= arena[0] or arena[1] <= stack[0])
    assert stack[1] % 8 == 0, "AAPCS"
    if image in TWICE:
        facts = TWICE[image]
        assert stack[0] == facts.data[0] and inside(stack[0], static[1], facts.data)
        assert arena == (facts.arena[0], sum(facts.arena))
        assert inside(*dma, facts.dma or facts.data) and (dma[0] < dma[1]) == (facts.dma is not None)
    assert dma[1] <= stack[0] or static[1] <= dma[0], "the DMA writes its own bytes only"


FIRST = {"stm32h7b3": "supply_start"}  # which touches no RAM (RM0455, PWR: system supply startup)


def test_vector_table_is_sane(image: str, elf: ELFFile) -> None:
    base, data = loaded(elf)[0]
    at = symbol(elf, "__vectors") - base
    if image in TWICE:
        assert at == TWICE[image].vectors
    stack, reset = struct.unpack_from("<2I", data, at)
    assert stack == symbol(elf, "__stack_top")
    assert reset == symbol(elf, FIRST.get(image, "reset_handler"))
    assert elf["e_entry"] == symbol(elf, "reset_handler"), "where the host writes RAM before the program does"
    handlers = struct.unpack_from("<15I", data, at + 4)
    assert all(handler & 1 for handler in handlers), "Thumb"
    assert all(inside(handler & ~1, handler + 1, (base, len(data))) for handler in handlers)
    fault = symbol(elf, "fault_handler")
    assert handlers[2:6] == (fault,) * 4, "HardFault, MemManage, BusFault and UsageFault report themselves"


def test_line_tables_stay_in_the_file_and_no_path_is_in_it(image: str, elf: ELFFile) -> None:
    debug = {section.name: section for section in elf.iter_sections() if section.name.startswith(".debug")}
    assert {".debug_line", ".debug_frame"} <= set(debug)
    assert not [name for name, section in debug.items() if section["sh_flags"] & SH_FLAGS.SHF_ALLOC], (
        "nothing of it is flashed"
    )
    content = (PREBUILT / f"{image}.elf").read_bytes()
    for part in (content, *(section.data() for section in debug.values())):  # `data` unpacks what is compressed
        assert b"/home/" not in part and b"/tmp/" not in part and os.fsencode(FIRMWARE) not in part


@pytest.mark.parametrize("path", sorted(PREBUILT.glob("kernels-*.elf")), ids=lambda path: path.stem)
def test_an_image_of_kernels_has_no_debug_information(path: Path) -> None:
    with path.open("rb") as file:
        assert not [section.name for section in ELFFile(file).iter_sections() if section.name.startswith(".debug")]


@pytest.mark.parametrize("board", ["stm32h7b3", "stm32f746", "rp2040", "rp2350"])
def test_board_header_and_catalogue_name_the_same_marker_and_baud(board: str) -> None:
    text = (FIRMWARE / f"ports/{board}/board.h").read_text()
    constants = dict(re.findall(r"#define BOARD_(\w+) (\w+)", text))
    entry = boards.load(board)
    port = constants.get("MARKER_PORT", "GP").replace("GPIO", "P")
    assert entry.marker == port + constants["MARKER_PIN"].rstrip("u")
    assert entry.baud == int(constants["BAUD"].rstrip("u"))


@pytest.mark.parametrize(
    ("board", "header"), [("mps2-an505", "mps2-an505/board.h"), ("mps2-an386", "mps2/armv7m_image.h")]
)
def test_an_fpga_image_has_the_clock_and_the_baud_rate_of_the_catalogue(board: str, header: str) -> None:
    """The UART divides the clock by 16 at least (ARM DDI 0479, APB UART); a receiver takes 2 % of error."""
    constants = dict(re.findall(r"#define BOARD_(\w+) (\w+)", (FIRMWARE / "ports" / header).read_text()))
    clock, divisor = (int(constants[name].rstrip("u")) for name in ("CLOCK_HZ", "BAUD_DIVISOR"))
    entry = boards.load(board)
    assert clock == entry.clock_hz and divisor >= 16 and clock / divisor == pytest.approx(entry.baud, rel=0.02)


def test_the_second_boot_stage_is_sealed() -> None:
    """RP2040 data sheet, 2.8.1.3.1. The oracle is zlib's CRC-32: the same polynomial, bits reflected and the result inverted."""
    with (PREBUILT / "rp2040.elf").open("rb") as file:
        stage = loaded(ELFFile(file))[0][1][:256]
    mirrored = bytes(int(f"{byte:08b}"[::-1], 2) for byte in stage[:252])
    expected = int(f"{zlib.crc32(mirrored) ^ 0xFFFF_FFFF:032b}"[::-1], 2)
    assert struct.unpack("<I", stage[252:]) == (expected,)


def test_the_boot_rom_of_an_rp2350_finds_the_program() -> None:
    """By one block of metadata in the first 4 KB (RP2350 data sheet, metadata block details), read as the boot ROM does.

    Items follow a marker, each with its size in words; the last says how many words were before it, and where the next block is.
    """
    with (PREBUILT / "rp2350.elf").open("rb") as file:
        start = loaded(ELFFile(file))[0][1][:4096]
    (at,) = [n for n in range(0, 4096, 4) if start[n : n + 4] == bytes.fromhex("d3deffff")]
    items, place = {}, at + 4
    while start[place] != 0xFF:
        assert start[place] < 0x80, "an item whose size takes one byte"
        items[start[place]] = start[place : place + 4 * start[place + 1]]
        place += 4 * start[place + 1]
    words, following, end = struct.unpack_from("<xHxiI", start, place)
    assert (4 * words, following, end) == (place - at - 4, 0, 0xAB123579), "it is the only block of its loop"
    assert set(items) == {0x42}, (
        "the type of the image; without an entry point, the vector table at the start of the flash is"
    )
    (flags,) = struct.unpack_from("<2xH", items[0x42])
    executable, secure, arm, rp2350 = flags & 0xF, flags >> 4 & 3, flags >> 8 & 7, flags >> 12 & 7
    assert (executable, secure, arm, rp2350, flags >> 15) == (1, 2, 0, 1, 0)


def test_message_header_is_the_generated_one() -> None:
    assert (FIRMWARE / "agent/messages.h").read_text() == header(description())


def test_sources_build_to_the_committed_images(tmp_path_factory: pytest.TempPathFactory) -> None:
    tool("make"), tool("arm-none-eabi-gcc")
    said = (built_firmware(tmp_path_factory) / CHECKED).read_text()
    assert said.endswith("The prebuilt images are what these sources build.\n0\n"), said


@pytest.mark.tier("nightly")
def test_check_names_the_image_that_differs(tmp_path: Path) -> None:
    tool("arm-none-eabi-gcc")
    copy = tmp_path / "firmware"
    copy.mkdir()
    subprocess.run(["cp", "-r", *map(str, FIRMWARE.iterdir()), str(copy)], check=True)
    source = copy / "ports/mps2-an500/board.h"
    source.write_text(source.read_text().replace('"mps2-an500"', '"mps2-an501"'))
    two = "IMAGES=mps2-an500 mps2-an386"
    run = subprocess.run(
        [tool("make"), "-C", str(copy), "check", two, f"PYTHON={sys.executable}"], capture_output=True, text=True
    )
    assert run.returncode != 0
    assert "prebuilt/mps2-an500.elf is not what these sources build (sections .text)" in run.stdout
    assert "prebuilt/mps2-an386" not in run.stdout


def test_only_a_firmware_that_sleeps_by_milliseconds_of_the_core_has_the_handler_of_these():
    """The rig reads SysTick's reload value where the image has this symbol; an i.MX RT1062 sleeps by a clock of 100 kHz."""
    by_core = {name for name in boards.names() if SLEEP_TICK in image_of(name).symbols}
    assert by_core == {"stm32h7b3", "stm32f746"}
