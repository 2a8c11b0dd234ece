"""A compiled USB serial port (fixtures/usb_echo) on the virtual RP2040, and its port on this computer."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest
import pyvisa
import serial

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.usb.boot_drive import BootDrive
from hil.standins.virtual.usb.serial_ports import SerialPorts
from hil.standins.virtual.usb.session import UsbSession
from hil.targets.serial_port import open_serial
from tests.integration.virtual.board_process import VirtualBoard
from tests.unit.virtual.pico import Pico, image
from tests.unit.virtual.usb_device import Computer, DeviceOfRegisters

SOURCE = Path(__file__).resolve().parents[3] / "fixtures" / "usb_echo"
HANDLERS = {16 + 5: 16}  # USBCTRL_IRQ; the handler is 16 bytes behind the entry
DATA = bytes(i * 7 + (i >> 8) & 0xFF for i in range(30_000))
STREAM = 60_000


def compiled(folder: Path, name: str, options: str = "", source: Path = SOURCE) -> bytes:
    """Compile a firmware, `CHIP-NAME`; return its bytes."""
    if shutil.which("arm-none-eabi-gcc") is None:
        assert not os.environ.get("CI"), "CI must have arm-none-eabi-gcc"
        pytest.skip("the firmware is compiled: apt install gcc-arm-none-eabi make")
    target = folder / f"{name}.bin"
    command = ["make", "-s", "-C", str(source), f"BUILD={folder}", f"OPTIONS={options}", str(target)]
    subprocess.run(command, check=True)
    return target.read_bytes()


def built(folder: Path, name: str = "echo", stream: int = 0) -> bytes:
    """Compile the firmware for RP2040; return what stands in flash."""
    return image(compiled(folder, f"rp2040-{name}", f"-DSTREAM={stream}"), HANDLERS)


class Desk(Computer):
    """A computer with a Pico that runs firmware."""

    def __init__(self, flash: bytes, rough: int = 0, loses_every: int = 0) -> None:
        super().__init__(DeviceOfRegisters())
        self.pico = Pico()
        chip = self.pico.chip
        self.session = UsbSession(chip.clock, chip.usb, chip.core.break_soon, self, self.log.append)
        chip.sources.insert(0, self.session)
        self.session.rough, self.session.host.loses_every = rough, loses_every
        self.session.plug()
        self.pico.load(flash)
        self.pico.run(300_000)

    @property
    def seconds(self) -> float:
        return self.pico.chip.clock.now / PS_PER_S


@pytest.mark.parametrize(("rough", "loses_every"), [(0, 0), (1, 0), (0, 5)])
def test_firmware_is_enumerated_and_sends_every_byte_back(tmp_path: Path, rough: int, loses_every: int) -> None:
    desk = Desk(built(tmp_path), rough, loses_every)
    assert desk.session.device is not None and desk.session.device.strings[2] == "E660C0D1C7654321", desk.log
    desk.terminal.is_open = True
    desk.terminal.waiting += DATA
    desk.pico.run(300_000)
    assert desk.terminal.given == DATA
    assert desk.session.complaints == [] and desk.pico.log == [] and desk.pico.chip.fault is None


def test_firmware_streams_more_than_500_kb_each_second_of_bus_time(tmp_path: Path) -> None:
    desk = Desk(built(tmp_path, "stream", STREAM))
    begin = desk.seconds
    desk.terminal.is_open = True
    desk.pico.run(300_000)
    assert desk.terminal.given == bytes((i ^ i >> 8) & 0xFF for i in range(STREAM))
    assert 500_000 < STREAM / (desk.seconds - begin) <= 19 * 64 * 1000
    assert desk.session.complaints == []


@pytest.mark.parametrize(("nops", "good"), [(12, True), (3, True), (0, False)])
def test_available_too_soon_in_one_block_stops_the_chip(tmp_path: Path, nops: int, good: bool) -> None:
    """A cycle of clk_usb is 2.6 of clk_sys at 125 MHz: three."""
    text = (SOURCE / "rp2040.c").read_text()
    delay = text[text.index('__asm volatile("nop') : text.index("*control_of(index, half) = (uint16_t)(bits | AVAIL")]
    other = tmp_path / "source"
    shutil.copytree(SOURCE, other, ignore=shutil.ignore_patterns("build"))
    (other / "rp2040.c").write_text(text.replace(delay, _delay(nops)))
    desk = Desk(image(compiled(tmp_path, "rp2040-echo", source=other), HANDLERS))
    assert (desk.session.device is not None) == good
    assert good or "becomes AVAILABLE" in str(desk.pico.chip.fault)


def _delay(nops: int) -> str:
    return '__asm volatile("' + "nop; " * nops + '" ::: "memory");\n    '


def test_the_port_of_a_virtual_board_is_found_by_its_links_and_comes_back_under_another_name(tmp_path: Path) -> None:
    flash = tmp_path / "flash.bin"
    flash.write_bytes(built(tmp_path).ljust(2 << 20, b"\xff"))
    folder = tmp_path / "serial"
    board = VirtualBoard("--usb", str(folder), "--flash", str(flash), board="rp2040")
    try:
        first = board.line()["usb"]
        assert first["serial_number"] == "E660C0D1C7654321" and first["vendor"] == "1209"
        assert os.path.realpath(board.said["serial"]) == os.path.realpath(first["by_id"]) == first["port"]
        echo(board.said["serial"], DATA)
        with serial.Serial(board.said["serial"], 115200, timeout=10) as port:
            supply = pyvisa.ResourceManager("@py").open_resource(board.said["supply"])
            supply.write_termination = "\n"  # type: ignore[attr-defined]
            supply.write("OUTP OFF")  # type: ignore[attr-defined]
            assert board.line() == {"usb": None} and not os.path.lexists(board.said["serial"])
            with pytest.raises(serial.SerialException):
                while True:
                    port.read(1)
            supply.write("OUTP ON")  # type: ignore[attr-defined]
            second = board.line()["usb"]
        assert second["port"] != first["port"] and second["by_id"] == first["by_id"]
        echo(board.said["serial"], b"again")
    finally:
        board.stop()
    assert not os.path.lexists(first["by_id"])


def test_a_program_that_does_not_read_stops_the_device_and_loses_nothing(tmp_path: Path) -> None:
    """The rig's own way to open a port; 200 kB are more than terminal, host and device hold."""
    size, flash = 200_000, tmp_path / "flash.bin"
    flash.write_bytes(built(tmp_path, "stream", size).ljust(2 << 20, b"\xff"))
    board = VirtualBoard("--usb", str(tmp_path / "serial"), "--flash", str(flash), board="rp2040")
    try:
        assert board.line()["usb"]
        port = open_serial(board.said["serial"], 115200, keep=True)
        until = time.monotonic() + 120
        while port.in_waiting < 1000 and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1.0)  # not for a result: so that what can fill up is full
        data = b""
        while len(data) < size and time.monotonic() < until:
            data += port.read(65536)
        port.close()
        assert data == bytes((i ^ i >> 8) & 0xFF for i in range(size))
    finally:
        board.stop()


def test_the_folder_of_the_links_keeps_what_is_not_theirs(tmp_path: Path) -> None:
    for name in ("devices/mine", "by-id/usb-mine", "RPI-RP2/mine", "mounts"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    ports = SerialPorts(tmp_path, lambda: None, lambda _record: None)
    drive = BootDrive(tmp_path, lambda _pages: None, lambda _record: None)
    ports.remove_links()
    drive.remove()
    for name in ("devices/mine", "by-id/usb-mine", "RPI-RP2/mine", "mounts"):
        assert (tmp_path / name).read_text() == name


def echo(path: str, data: bytes) -> None:
    with serial.Serial(path, 115200, timeout=30, exclusive=True) as port:
        writer = threading.Thread(target=port.write, args=(data,))
        writer.start()
        back = b""
        until = time.monotonic() + 120
        while len(back) < len(data) and time.monotonic() < until:
            back += port.read(min(4096, len(data) - len(back)))
        writer.join()
        assert back == data


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["stm32h7b3", "--usb", "x"], "has no USB controller; leave out --usb"),
        (["rp2040", "--inject", "usb_reset:5"], "no cable is plugged in; add --usb FOLDER"),
    ],
)
def test_what_a_virtual_board_cannot_do_with_usb_is_one_sentence(options: list[str], why: str) -> None:
    command = ["hil", "bench-server", "--board", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and why in done.stderr
