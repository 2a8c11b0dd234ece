"""A Teensy with nothing but its USB cable, from empty to reprogrammed through HalfKay: no probe, no adapter, no button."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hil import boards
from hil.images.images import Image, read_elf
from hil.link.messages import decode
from hil.targets import halfkay
from hil.targets.halfkay import BLOCK, HEADER, PRODUCT, START, VENDOR, HalfKay
from tests.built_firmware import built_firmware
from tests.integration.virtual.usb_desk import HELLO, TEENSY, Desk, hello


class LoaderOfDesk:
    """HalfKay of the Teensy on a desk, and the module `hid` through which it is reached: it writes the virtual chip's flash."""

    def __init__(self, desk: Desk, there: bool = False) -> None:
        self._desk, self._there, self._erased = desk, there, False

    def enumerate(self, vendor_id: int, product_id: int) -> list[dict[str, Any]]:
        assert (vendor_id, product_id) == (VENDOR, PRODUCT)
        there = self._there or TEENSY.booted in self._desk.faults
        return [{"path": b"", "serial_number": "0012AB34", "usage_page": 0xFF9C, "usage": 0x24}] if there else []

    def device(self) -> LoaderOfDesk:
        return self

    def open_path(self, path: bytes) -> None:
        self._erased = False

    def close(self) -> None:
        pass

    def write(self, data: bytes) -> int:
        flash, offset = self._desk.chip.flash.array, int.from_bytes(data[1:4], "little")
        if offset == START:
            self._there = False
            self._desk.faults.clear()
            self._desk.chip.core.code_changed()
            self._desk.chip.power_on()
            return len(data)
        if not self._erased:
            flash[:], self._erased = 0xFF, True
        flash[offset : offset + BLOCK] &= np.frombuffer(data[1 + HEADER :], np.uint8)
        return len(data)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    return read_elf(built_firmware(tmp_path_factory) / "build/imxrt1062.elf")


def greets(desk: Desk, image: Image) -> None:
    desk.pass_ms(600)
    desk.opens()
    (reply,) = desk.ask(hello())
    assert decode(HELLO.reply, reply.body)["image_digest"] == image.digest and desk.good()


def test_an_empty_teensy_becomes_an_agent_and_is_programmed_again(
    monkeypatch: pytest.MonkeyPatch, image: Image
) -> None:
    monkeypatch.setattr(halfkay, "RETRY_S", 0.0)
    desk = Desk(TEENSY, None, plugged=False)
    loader = HalfKay(boards.load("imxrt1062"), None, LoaderOfDesk(desk, there=True))
    desk.session.plug()
    loader.program(image)
    greets(desk, image)
    assert not loader.waits()
    desk.terminal.baud = TEENSY.baud
    desk.pass_ms(30)
    desk.terminal.is_open = False
    desk.pass_ms(100)
    assert loader.waits() and desk.session.device is None
    loader.program(image)
    greets(desk, image)
