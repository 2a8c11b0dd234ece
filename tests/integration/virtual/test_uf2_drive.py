"""The drive of the virtual Pico's boot ROM: the rig's own UF2 route programs it, as it would a real one."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
import serial

from hil import boards
from hil.images import Image
from hil.standins.virtual.usb.boot_drive import RP2040_FAMILY, blocks_of
from hil.targets.uf2 import Uf2, uf2_of
from tests.integration.virtual.board_process import VirtualBoard
from tests.integration.virtual.test_usb_echo import DATA, built, echo

XIP, SIZE = 0x10000000, 0x200000


def image_with(address: int, data: bytes) -> Image:
    image = Image(Path("bytes.elf"), "0" * 64)
    image.__dict__["segments"] = [(address, data)]
    return image


@pytest.mark.parametrize("seed", range(4))
def test_a_file_is_whole_only_with_its_last_block_in_any_order(seed: int) -> None:
    chance = random.Random(seed)
    data = chance.randbytes(chance.randint(1, 20_000))
    file = uf2_of(image_with(XIP + 4096 * seed, data), RP2040_FAMILY, XIP, SIZE)
    blocks = [file[i : i + 512] for i in range(0, len(file), 512)]
    chance.shuffle(blocks)
    assert blocks_of(b"".join(blocks[:-1]), RP2040_FAMILY) is None
    assert blocks_of(file[:-1], RP2040_FAMILY) is None and blocks_of(file, 0x12345678) is None
    pages = blocks_of(b"".join(blocks), RP2040_FAMILY)
    assert pages is not None
    whole = b"".join(pages[address] for address in sorted(pages))
    assert whole[: len(data)] == data and min(pages) == XIP + 4096 * seed


def test_an_empty_pico_is_programmed_by_its_drive_and_comes_back_as_a_serial_port(tmp_path: Path) -> None:
    flash = built(tmp_path)
    folder = tmp_path / "with space"
    board = VirtualBoard("--usb", str(folder), board="rp2040")
    try:
        drive = board.line()["uf2_drive"]
        route = Uf2(boards.load("rp2040"), None, Path(drive["mounts"]), Path(drive["devices"]))
        assert route.waits() and not os.path.lexists(board.said["serial"])
        route.program(image_with(XIP, flash))
        lines = [board.line(), board.line()]
        assert {"uf2_drive": None} in lines
        assert [line["usb"]["serial_number"] for line in lines if "usb" in line] == ["E660C0D1C7654321"]
        assert not route.waits()
        echo(board.said["serial"], DATA[:5000])
    finally:
        board.stop()
    assert sorted(one.name for one in folder.iterdir()) == ["by-id", "by-path"]


def test_a_program_that_calls_the_boot_rom_comes_back_as_a_drive(tmp_path: Path) -> None:
    flash, folder = tmp_path / "flash.bin", tmp_path / "serial"
    flash.write_bytes(built(tmp_path).ljust(SIZE, b"\xff"))
    board = VirtualBoard("--usb", str(folder), "--flash", str(flash), board="rp2040")
    try:
        assert board.line()["usb"]
        with serial.Serial(board.said["serial"], 1200):
            lines = [board.line(), board.line()]
        assert {"usb": None} in lines
        drive = next(line["uf2_drive"] for line in lines if "uf2_drive" in line)
        Uf2(boards.load("rp2040"), None, Path(drive["mounts"])).program(image_with(XIP, flash.read_bytes()[:8192]))
        lines = [board.line(), board.line()]
        assert {"uf2_drive": None} in lines and any(line.get("usb") for line in lines)
        echo(board.said["serial"], b"back")
    finally:
        board.stop()
