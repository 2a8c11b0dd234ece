"""A Pico with nothing but its USB cable, from empty to reprogrammed, by the rig's own route: no probe, no adapter, no button."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from hil import boards
from hil.images.images import Image, read_elf
from hil.targets.boot_loader import ByBootLoader, FromBootLoader, ask_agent
from hil.targets.serial_port import open_serial
from hil.targets.uf2 import Uf2
from tests.built_firmware import built_firmware
from tests.integration.virtual.board_process import VirtualBoard

PICO = boards.load("rp2040")


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    return read_elf(built_firmware(tmp_path_factory) / "build/rp2040.elf")


def until_the_port_comes(board: VirtualBoard) -> None:
    while not board.line().get("usb"):
        pass


def test_an_empty_pico_becomes_an_agent_and_is_programmed_again(tmp_path: Path, image: Image) -> None:
    folder, told = tmp_path / "serial", []  # type: ignore[var-annotated]
    board = VirtualBoard("--usb", str(folder), board="rp2040")
    try:
        assert board.line()["uf2_drive"]
        loader = Uf2(PICO, None, folder / "mounts", folder / "devices")
        assert FromBootLoader(loader).program(image)
        until_the_port_comes(board)
        with contextlib.closing(open_serial(board.said["serial"], PICO.baud)) as port:
            route = ByBootLoader(PICO, port, loader, told.append)
            assert not route.program(image) and route.verified == "agent", "it runs it already"
            assert route.program(image, always=True) and told == []
        until_the_port_comes(board)
        with contextlib.closing(open_serial(board.said["serial"], PICO.baud)) as port:
            said = ask_agent(port)
            assert said is not None and said["image_digest"] == image.digest
    finally:
        board.stop()
