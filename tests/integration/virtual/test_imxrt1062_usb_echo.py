"""A compiled USB serial port (fixtures/usb_echo) on the virtual i.MX RT1062: both speeds, the data cache, the loader chip."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
import serial

from hil import boards
from hil.images import Image
from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.inject import parse_injection
from hil.standins.virtual.usb.bad_host import UsbFaults
from hil.standins.virtual.usb.enumeration import Device
from hil.standins.virtual.usb.session import UsbSession
from hil.standins.virtual.usb.wire import FULL, HIGH, Speed
from hil.targets.halfkay import HalfKay
from tests.integration.virtual.board_process import VirtualBoard
from tests.integration.virtual.test_usb_echo import compiled, echo
from tests.unit.virtual.teensy import Teensy, image
from tests.unit.virtual.usb_device import Terminal

DATA = bytes(i * 7 + (i >> 8) & 0xFF for i in range(30_000))
STREAM = 200_000
FLASH, SIZE = 0x60000000, 2 << 20


class Desk:
    """A computer with a Teensy that runs firmware."""

    def __init__(
        self, flash: bytes, fastest: Speed = HIGH, rough: int = 0, loses_every: int = 0, fault: str | None = None
    ) -> None:
        self.teensy, self.terminal = Teensy(), Terminal()
        self.log: list[str] = []
        self.appeared: list[Device] = []
        self.vanished = 0
        self.chip = chip = self.teensy.chip
        self.session = UsbSession(chip.clock, chip.usb, chip.core.break_soon, self, self.log.append)
        faults = UsbFaults(self.session, chip.clock, [parse_injection(fault)] if fault else [], self.log.append)
        chip.sources[:0] = [self.session, faults]
        host = self.session.host
        host.fastest, self.session.rough, host.loses_every = fastest, rough, loses_every
        self.session.plug()
        self.teensy.load(flash)
        self.teensy.run(300_000)

    def appear(self, device: Device) -> Terminal:
        self.appeared.append(device)
        return self.terminal

    def vanish(self) -> None:
        self.vanished += 1

    def echoes(self, data: bytes = DATA) -> float:
        """Send data, which must come back; return how long it took [s]."""
        begin = self.chip.clock.now
        self.terminal.is_open = True
        self.terminal.waiting += data
        self.teensy.run(300_000)
        assert self.terminal.given == data, (len(self.terminal.given), self.log, self.teensy.log)
        return (self.chip.clock.now - begin) / PS_PER_S

    @property
    def good(self) -> bool:
        return self.session.complaints == [] and self.teensy.log == [] and self.chip.fault is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("echo")


def built(folder: Path, name: str = "echo", options: str = "") -> bytes:
    return image(compiled(folder, f"imxrt1062-{name}", options))


@pytest.mark.parametrize(
    ("fastest", "rough", "loses_every"), [(HIGH, 0, 0), (FULL, 0, 0), (HIGH, 2, 0), (FULL, 1, 3), (HIGH, 0, 3)]
)
def test_firmware_is_enumerated_and_sends_every_byte_back(
    folder: Path, fastest: Speed, rough: int, loses_every: int
) -> None:
    desk = Desk(built(folder), fastest, rough, loses_every)
    assert desk.session.device is not None and desk.session.device.strings[2] == "0123456", desk.log
    assert desk.session.device.speed is fastest and desk.log[-1].endswith(f"at {fastest.name} speed")
    desk.echoes(DATA if fastest is HIGH else DATA[:6000])
    assert desk.good, (desk.session.complaints, desk.teensy.log)


def test_a_device_that_forces_full_speed_gets_it(folder: Path) -> None:
    desk = Desk(built(folder, "full", "-DFULL_SPEED=1"))
    assert desk.session.device is not None and desk.session.device.speed is FULL
    desk.echoes(DATA[:3000])
    assert desk.good


def test_firmware_streams_more_than_5_mb_each_second_of_bus_time(folder: Path) -> None:
    desk = Desk(built(folder, "stream", f"-DSTREAM={STREAM}"))
    begin = desk.chip.clock.now
    desk.terminal.is_open = True
    desk.teensy.run(300_000)
    assert desk.terminal.given == bytes((i ^ i >> 8) & 0xFF for i in range(STREAM))
    assert 5_000_000 < STREAM / ((desk.chip.clock.now - begin) / PS_PER_S) <= 13 * 512 * 8000
    assert desk.good


@pytest.mark.parametrize("fault", ["usb_reset:9000", "usb_unplug:9000:0.5", "usb_suspend:9000:0.1"])
def test_after_a_reset_in_mid_transfer_the_port_is_back(folder: Path, fault: str) -> None:
    desk = Desk(built(folder), fault=fault)
    desk.terminal.is_open = True
    desk.terminal.waiting += DATA
    desk.teensy.run(300_000)
    assert desk.log[-2 if "suspend" not in fault else -1].startswith("injected") or "injected" in "".join(desk.log)
    assert desk.session.device is not None and desk.good
    if "suspend" in fault:
        assert desk.terminal.given == DATA and desk.vanished == 0
        return
    assert len(desk.appeared) == 2 and desk.vanished == 1
    desk.terminal.given.clear()
    desk.terminal.waiting.clear()
    desk.echoes(DATA[:5000])


def test_with_the_data_cache_on_it_needs_its_maintenance(folder: Path) -> None:
    desk = Desk(built(folder, "cached", "-DCACHE=1"))
    desk.echoes(DATA[:10_000])
    assert desk.good
    careless = Desk(built(folder, "careless", "-DCACHE=1 -DCARE=0"))
    assert careless.session.device is None and not careless.good


def test_a_descriptor_of_64_bytes_fails_at_high_speed(folder: Path, tmp_path: Path) -> None:
    source = Path(__file__).resolve().parents[3] / "fixtures/usb_echo"
    for name in ("imxrt1062.c", "imxrt1062.ld", "Makefile"):
        text = (source / name).read_text().replace("is_high == (kind == 2)", "false && is_high == (kind == 2)")
        (tmp_path / name).write_text(text)
    desk = Desk(image(compiled(tmp_path, "imxrt1062-echo", source=tmp_path)))
    assert desk.session.device is None
    assert any("has packets of 64 bytes, at high speed they have 512" in one for one in desk.session.complaints)


# the loader chip


class Hid:
    """The part of hidapi that the rig uses, over the port of a virtual board's HalfKay."""

    def __init__(self, record: dict[str, Any]) -> None:
        host, port = record["server"].split(":")
        self._record, self._address = record, (host, int(port))
        self.here = True

    def enumerate(self, vendor: int, product: int) -> list[dict[str, Any]]:
        same = (f"{vendor:04x}", f"{product:04x}") == (self._record["vendor"], self._record["product"])
        usage = {"usage_page": 0xFF9C, "usage": self._record["usage"]}
        return [{"path": b"x", "serial_number": "1", **usage}] if same and self.here else []

    def device(self) -> Hid:
        return self

    def open_path(self, _path: bytes) -> None:
        self._socket = socket.create_connection(self._address)
        self._answers = self._socket.makefile("r")

    def write(self, data: bytes) -> int:
        self._socket.sendall(data[1:].hex().encode() + b"\n")
        answer = self._answers.readline().strip()
        assert answer == "ok", answer
        return len(data)

    def close(self) -> None:
        self._answers.close()
        self._socket.close()


def whole(data: bytes) -> Image:
    one = Image(Path("bytes.elf"), "0" * 64)
    one.__dict__["segments"] = [(FLASH, data)]
    return one


def test_134_baud_leads_to_halfkay_and_a_new_program_brings_the_port_back(folder: Path, tmp_path: Path) -> None:
    first = built(folder)
    second = first.replace(b"0123456\0", b"7654321\0")
    assert second != first
    flash = tmp_path / "flash.bin"
    flash.write_bytes(first.ljust(SIZE, b"\xff"))
    board = VirtualBoard("--usb", str(tmp_path / "serial"), "--flash", str(flash), board="imxrt1062")
    try:
        assert board.line()["usb"]["serial_number"] == "0123456"
        echo(board.said["serial"], DATA[:5000])
        with serial.Serial(board.said["serial"], 134):
            lines = [board.line(), board.line()]
        assert {"usb": None} in lines
        hid = Hid(next(line["halfkay"] for line in lines if "halfkay" in line))
        loader = HalfKay(boards.load("imxrt1062"), None, hid)
        assert loader.waits()
        loader.program(whole(second))
        lines = [board.line(), board.line()]
        assert {"halfkay": None} in lines
        assert [line["usb"]["serial_number"] for line in lines if "usb" in line] == ["7654321"]
        echo(board.said["serial"], DATA[:5000])
    finally:
        board.stop()
    there = flash.read_bytes()
    assert there[: len(second)] == second and there[len(second) : 0x1F0000].count(0xFF) == 0x1F0000 - len(second)
