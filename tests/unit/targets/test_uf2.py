"""UF2: the file against a reader of its own, the drive against a folder that behaves as one, picotool against a script."""

from __future__ import annotations

import dataclasses
import os
import random
import struct
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from hil import boards
from hil.errors import Blocked
from hil.images import Image, image_of
from hil.targets import uf2
from hil.targets.uf2 import Uf2, uf2_of
from hil.targets.uf2_drives import drives

PICO, PICO_2 = boards.load("rp2040"), boards.load("rp2350")
XIP, SIZE = 0x1000_0000, 0x20_0000
INFO_2 = "UF2 Bootloader v1.0\nModel: Raspberry Pi RP2350\nBoard-ID: RP2350\n"
INFO = "UF2 Bootloader v2.0\r\nModel: Raspberry Pi RP2\r\nBoard-ID: RPI-RP2\r\n"


def image_with(*segments: tuple[int, bytes]) -> Image:
    image = Image(Path("bytes.elf"), "0" * 64)
    image.__dict__["segments"] = sorted(segments)
    return image


def flashed(blocks: bytes, family: int) -> tuple[dict[int, bytes], list[int]]:
    """Do with a file what a boot ROM does: return what each erased sector holds, and the sectors in the order of their first page."""
    sectors: dict[int, bytearray] = {}
    assert len(blocks) % 512 == 0
    for place in range(0, len(blocks), 512):
        block = blocks[place : place + 512]
        first, second, flags, address, used, number, total, theirs = struct.unpack_from("<8I", block)
        assert (first, second, block[508:]) == (0x0A324655, 0x9E5D5157, bytes.fromhex("306fb10a"))
        assert (flags, theirs, used, address % 256) == (0x2000, family, 256, 0)
        assert (number, total) == (place // 512, len(blocks) // 512)
        base = address - address % 4096
        sectors.setdefault(base, bytearray(4096))  # zeros: a page that is never sent shows
        sectors[base][address - base : address - base + 256] = block[32 : 32 + 256]
    return {base: bytes(data) for base, data in sectors.items()}, list(sectors)


@pytest.mark.parametrize("seed", range(8))
def test_a_file_holds_the_image_and_whole_sectors(seed: int) -> None:
    chance = random.Random(seed)
    ends = sorted(chance.sample(range(SIZE), 2 * chance.randint(1, 4)))
    segments = [
        (XIP + start, chance.randbytes(min(end - start, 9000)))
        for start, end in zip(ends[::2], ends[1::2], strict=True)
    ]
    sectors, order = flashed(uf2_of(image_with(*segments), 0xE48BFF56, XIP, SIZE), 0xE48BFF56)
    assert order == sorted(order)
    flash = bytearray(b"\xff" * SIZE)
    for address, data in segments:
        flash[address - XIP : address - XIP + len(data)] = data
    touched = {(address + n) // 4096 * 4096 for address, data in segments for n in range(len(data))}
    assert set(sectors) == touched
    for base, data in sectors.items():
        assert data == flash[base - XIP : base - XIP + 4096]


@pytest.mark.parametrize("address", [XIP - 1, XIP + SIZE - 1, 0x2000_0000])
def test_bytes_outside_of_the_flash_are_refused(address: int) -> None:
    with pytest.raises(Blocked, match=f"bytes at 0x{address:08X}, outside the flash"):
        uf2_of(image_with((address, bytes(2))), 1, XIP, SIZE)


@pytest.fixture
def no_usb(tmp_path: Path) -> Path:
    return tmp_path / "usb"


def mounted(tmp_path: Path, *names: str, info: str = INFO) -> Path:
    """Write a table of mounts with drives of these names."""
    lines = ["proc /proc proc rw 0 0"]
    for name in names:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "INFO_UF2.TXT").write_text(info)
        lines.append(f"/dev/sda1 {str(folder).replace(' ', chr(92) + '040')} vfat rw 0 0")
    table = tmp_path / "mounts"
    table.write_text("\n".join(lines) + "\n")
    return table


def attached(usb: Path, count: int, product: str = "0003") -> Path:
    for number in range(count):
        folder = usb / f"1-{number}"
        folder.mkdir(parents=True)
        (folder / "idVendor").write_text("2e8a\n")
        (folder / "idProduct").write_text(product + "\n")
    return usb


def test_the_drive_takes_the_file_and_goes(tmp_path: Path, no_usb: Path) -> None:
    table = mounted(tmp_path, "RPI RP2")  # a space in a mount's name is written \040
    loader = Uf2(PICO, None, table, no_usb)
    assert loader.waits()
    image = image_of("rp2040")
    taken: list[bytes] = []

    def boot_rom() -> None:
        file, note = tmp_path / "RPI RP2" / "TRAINRIG.UF2", tmp_path / "RPI RP2" / "INFO_UF2.TXT"
        while not taken:
            data = file.read_bytes() if file.exists() else b""
            if data and struct.unpack_from("<I", data + bytes(32), 24)[0] * 512 == len(
                data
            ):  # as many blocks as it says
                taken.append(data)
                note.unlink()
            time.sleep(0.01)

    rom = threading.Thread(target=boot_rom, daemon=True)
    rom.start()
    loader.program(image)
    rom.join(5)
    sectors, _ = flashed(taken[0], 0xE48BFF56)
    for address, data in image.segments:
        held = b"".join(sectors[base] for base in sorted(sectors))
        start = address - min(sectors)
        assert held[start : start + len(data)] == data
    assert not loader.waits()


def test_a_drive_that_stays_is_blocked(tmp_path: Path, no_usb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uf2, "GONE_S", 0.2)
    loader = Uf2(PICO, None, mounted(tmp_path, "RPI-RP2"), no_usb)
    with pytest.raises(Blocked, match="is still mounted .* after it was written: hold BOOTSEL"):
        loader.program(image_of("rp2040"))


def test_two_in_their_boot_rom_cannot_be_told_apart(tmp_path: Path, no_usb: Path) -> None:
    with pytest.raises(
        Blocked, match="2 RP2040s wait in their boot ROM, where the rig cannot distinguish them: leave only rp2040"
    ):
        Uf2(PICO, None, mounted(tmp_path, "A", "B"), no_usb).waits()
    with pytest.raises(Blocked, match="2 RP2040s wait"):
        Uf2(PICO, None, tmp_path / "none", attached(no_usb, 2)).waits()
    with pytest.raises(Blocked, match="remove `loader` from its table"):
        Uf2(PICO, "E0C9125B0D9B")


def test_other_boot_loaders_are_none_of_ours(tmp_path: Path, no_usb: Path) -> None:
    table = mounted(tmp_path, "ARDUINO", info=INFO.replace("RPI-RP2", "SAMD21G18A-Zero-v0"))
    assert [drive.board_id for drive in drives(table)] == ["SAMD21G18A-Zero-v0"]
    assert not Uf2(PICO, None, table, attached(no_usb, 1, product="000f")).waits()


@pytest.mark.parametrize(("board", "other"), [(PICO, PICO_2), (PICO_2, PICO)], ids=["rp2040", "rp2350"])
def test_a_board_waits_only_in_the_boot_rom_of_its_own_chip(
    tmp_path: Path, board: boards.Board, other: boards.Board
) -> None:
    """Their names and numbers: RP2040 data sheet, 2.8.4.1 and 2.8.4.2; RP2350: pico-bootrom-rp2350, nsboot."""
    note, product = {"rp2040": (INFO, "0003"), "rp2350": (INFO_2, "000f")}[board.name]
    table, usb = mounted(tmp_path, "DRIVE", info=note), attached(tmp_path / "usb", 1, product)
    assert Uf2(board, None, table, tmp_path / "none").waits()
    assert not Uf2(other, None, table, tmp_path / "none").waits()
    with pytest.raises(Blocked, match=f"2 {board.chip[:6]}s wait"):
        Uf2(board, None, tmp_path / "none", attached(tmp_path / "two", 2, product)).waits()
    assert not Uf2(other, None, tmp_path / "none", usb).waits()


def test_a_program_for_an_rp2350_is_of_the_family_of_its_secure_arm_cores(tmp_path: Path, no_usb: Path) -> None:
    """The number as the Pico SDK has it (boot/uf2.h): the boot ROM ignores blocks of a family that it does not take."""
    table = mounted(tmp_path, "RP2350", info=INFO_2)
    taken: list[bytes] = []

    def boot_rom() -> None:
        file, note = tmp_path / "RP2350" / "TRAINRIG.UF2", tmp_path / "RP2350" / "INFO_UF2.TXT"
        while not taken:
            if file.exists() and len(data := file.read_bytes()) == 16 * 512:
                taken.append(data)
                note.unlink()
            time.sleep(0.01)

    rom = threading.Thread(target=boot_rom, daemon=True)
    rom.start()
    Uf2(PICO_2, None, table, no_usb).program(image_with((XIP + 0x3F_F000, bytes(range(256)))))
    rom.join(5)
    sectors, _ = flashed(taken[0], 0xE48B_FF59)
    assert sectors == {XIP + 0x3F_F000: bytes(range(256)) + b"\xff" * 3840}, "the last sector of 4 MB"


def test_a_chip_without_such_a_boot_rom_is_named() -> None:
    with pytest.raises(Blocked, match=r"boot ROM of the nRF52840-QIAA of mine, but those of RP2040 and RP2350: remove"):
        Uf2(dataclasses.replace(PICO, name="mine", chip="nRF52840-QIAA"))


def test_a_note_that_goes_on_is_read_up_to_a_cap(tmp_path: Path) -> None:
    table = mounted(tmp_path, "RPI RP2")
    os.truncate(tmp_path / "RPI RP2" / "INFO_UF2.TXT", 64 << 20)
    tracemalloc.start()
    try:
        assert [drive.board_id for drive in drives(table)] == ["RPI-RP2"]
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("fails", [False, True])
def test_picotool_loads_what_no_drive_takes(
    tmp_path: Path, no_usb: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin") + os.pathsep + "/bin")
    loader = Uf2(PICO, None, tmp_path / "none", attached(no_usb, 1))
    assert not loader.waits(), "nothing here can reach it"
    tool = tmp_path / "bin" / "picotool"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/said\n' + ("echo no device >&2; exit 1\n" if fails else ""))
    tool.chmod(0o755)
    assert loader.waits()
    image = image_of("rp2040")
    if fails:
        with pytest.raises(Blocked, match=r"picotool could not load rp2040\.elf \(no device\)"):
            loader.program(image)
    else:
        loader.program(image)
    assert (tmp_path / "said").read_text().split() == ["load", "-v", "-x", str(image.path), "-t", "elf"]
