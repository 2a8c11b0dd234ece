"""The agent of the Pico on USB: its image on the virtual chip, at the port of a strict host that was written from USB's texts alone."""

from __future__ import annotations

import random

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from hil.images.images import Image, read_elf
from hil.link.frames import LinkFrame, parse
from hil.link.messages import decode, description, encode
from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.chip.machine import Pace
from hil.standins.virtual.chip.rp2040.chip import Rp2040
from hil.standins.virtual.chip.w25q import UNIQUE_ID
from hil.standins.virtual.usb.session import UsbSession
from hil.standins.virtual.usb.steps import MS, Program, Sleep
from hil.standins.virtual.usb.wire import Token
from tests.built_firmware import built_firmware
from tests.unit.virtual.usb_device import Computer, DeviceOfRegisters

XIP, RESETS, USBCTRL, PLL_USB = 0x1000_0000, 0x4000C000, 1 << 24, 1 << 13
HELLO, ECHO, BOOT_LOADER = (description().requests[name] for name in ("hello", "echo", "boot_loader"))
FAULT = description().controls["fault"].id
BOOTED = "boot ROM: the program has started the boot loader: the chip waits in USB boot"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    return read_elf(built_firmware(tmp_path_factory) / "build/rp2040.elf")


class Desk(Computer):
    """A computer with a Pico at its USB port, and something at the Pico's UART."""

    def __init__(self, image: Image, plugged: bool = True) -> None:
        super().__init__(DeviceOfRegisters())
        self.uart, self.faults = bytearray(), []  # type: ignore[var-annotated]
        rng = np.random.default_rng(1)
        self.chip = chip = Rp2040(rng, self.uart.append, lambda *_: None, self.faults.append, 921_600)
        chip.flash.array[:] = 0xFF
        for address, data in image.segments:
            chip.flash.array[address - XIP : address - XIP + len(data)] = np.frombuffer(data, np.uint8)
        chip.core.code_changed()
        self.session = UsbSession(chip.clock, chip.usb, chip.core.break_soon, self, self.log.append)
        chip.sources.insert(0, self.session)
        chip.power_on()
        if plugged:
            self.plug()
            self.opens()
        else:
            self.pass_ms(50)

    def plug(self) -> None:
        self.session.plug()
        self.pass_ms(600)
        assert self.session.device is not None and not self.session.complaints, self.log

    def opens(self) -> None:
        self.terminal.is_open, self.terminal.baud = True, 921_600
        self.pass_ms(10)

    def pass_ms(self, ms: float) -> None:
        """Let virtual time pass."""
        clock, until = self.chip.clock, self.chip.clock.now + int(ms * MS)
        while clock.now < until and self.chip.fault is None:
            if self.chip.advance() is Pace.WAIT:
                events = [source.next_event() for source in self.chip.sources]
                clock.wait_until(min([until, *(at for at in events if at is not None)]))

    def ask(self, frame: LinkFrame, ms: float = 20) -> list[LinkFrame]:
        """Send a frame by USB; return what comes back there."""
        self.terminal.given = b""
        self.terminal.waiting += frame.encode()
        self.pass_ms(ms)
        return frames(self.terminal.given)

    def ask_by_uart(self, frame: LinkFrame) -> list[LinkFrame]:
        self.uart.clear()
        self.chip.uart0.feed(frame.encode())
        self.pass_ms(20)
        return frames(bytes(self.uart))

    def good(self) -> bool:
        return self.session.complaints == [] and self.faults == [] and self.chip.fault is None


def frames(data: bytes) -> list[LinkFrame]:
    found = [parse(part) for part in data.split(b"\0") if part]
    assert None not in found
    return [frame for frame in found if frame is not None]


def hello(nonce: int = 0x42) -> LinkFrame:
    return LinkFrame(
        HELLO.id, nonce & 0xFF, 0, encode(HELLO.request, {"nonce": nonce, "protocol": description().protocol})
    )


@pytest.fixture
def desk(image: Image) -> Desk:
    return Desk(image)


def test_the_agent_is_enumerated_and_greets_on_usb(desk: Desk, image: Image) -> None:
    assert desk.session.device is not None
    assert list(desk.session.device.strings) == ["trainrig", "trainrig agent", UNIQUE_ID.hex().upper()]
    (reply,) = desk.ask(hello())
    said = decode(HELLO.reply, reply.body)
    assert said["image_digest"] == image.digest and said["board"].rstrip(b"\0") == b"rp2040"
    assert desk.uart == b"" and desk.good()


@pytest.mark.parametrize("length", [0, 1, 40, 49, 50, 51, 100, 1024])
def test_an_echo_of_any_length_comes_back(desk: Desk, length: int) -> None:
    """Also where the last packet is full, so that an empty one has to follow: 64 bytes of frame are 50 or so of body."""
    desk.ask(hello())
    body = random.Random(length).randbytes(length)
    assert desk.ask(LinkFrame(ECHO.id, 0x42, 1, body)) == [LinkFrame(ECHO.id | 0x80, 0x42, 1, body)]
    assert desk.good()


def test_it_takes_and_sends_500_kb_each_second_of_bus_time(desk: Desk) -> None:
    """The agent decodes all of it meanwhile: a frame that is too long, which it drops."""
    carried, begun, n = desk.session.host.carried, desk.chip.clock.now, 40_000
    desk.terminal.waiting += b"\x05" * n
    while desk.terminal.waiting:
        desk.pass_ms(0.1)
    assert n * PS_PER_S / (desk.chip.clock.now - begun) > 500_000
    desk.ask(LinkFrame(ECHO.id, 0, 0))
    desk.ask(hello())
    marks = []
    desk.terminal.waiting += LinkFrame(ECHO.id, 0x42, 1, bytes(1024)).encode()
    while len(marks) < 2 or carried[Token.IN] - marks[0][1] < 1000:
        before = carried[Token.IN]
        desk.pass_ms(0.02)
        if carried[Token.IN] != before:
            marks.append((desk.chip.clock.now, carried[Token.IN]))
    (first, some), (last, all_of_it) = marks[0], marks[-1]
    assert (all_of_it - some) * PS_PER_S / (last - first) > 500_000
    assert desk.good()


def test_a_packet_that_nobody_reads_costs_no_interrupts(desk: Desk) -> None:
    """The start of each frame interrupts only while a packet waits for one; one that is available does not."""
    desk.ask(hello())
    port = desk.session.port
    assert port is not None and port._reader is not None
    desk.session.host.stop(port._reader)
    assert desk.ask(LinkFrame(ECHO.id, 0x42, 1, b"unread")) == []
    assert not desk.chip.usb.wants_frames and desk.good()


def test_it_answers_on_the_port_on_which_it_is_asked(desk: Desk) -> None:
    for nonce in (1, 3):
        assert len(desk.ask(hello(nonce))) == 1 and desk.uart == b""
        desk.terminal.given = b""
        assert len(desk.ask_by_uart(hello(nonce + 1))) == 1 and desk.terminal.given == b""
        desk.uart.clear()
    assert desk.good()


def test_without_a_cable_the_controller_stays_in_reset(image: Image) -> None:
    desk = Desk(image, plugged=False)
    assert len(desk.ask_by_uart(hello())) == 1
    assert desk.chip.bus.read(RESETS, 4) & (USBCTRL | PLL_USB) == USBCTRL | PLL_USB
    desk.plug()  # later
    desk.opens()
    assert len(desk.ask(hello(2))) == 1
    desk.session.plug(False)
    desk.pass_ms(20)
    assert desk.chip.bus.read(RESETS, 4) & (USBCTRL | PLL_USB) == USBCTRL | PLL_USB
    assert len(desk.ask_by_uart(hello(3))) == 1
    desk.terminal.is_open = False
    desk.plug()
    desk.opens()
    assert len(desk.ask(hello(4))) == 1 and desk.good()


def asleep() -> Program[None]:
    yield Sleep(50 * MS)


def test_a_bus_that_sleeps_leaves_the_uart_to_the_agent(desk: Desk) -> None:
    desk.ask(hello(1))
    desk.session.host.start(asleep())
    desk.pass_ms(30)
    assert len(desk.ask_by_uart(hello(2))) == 1
    desk.pass_ms(200)
    assert len(desk.ask(hello(3))) == 1 and desk.good()


def test_it_is_enumerated_again_at_any_time(desk: Desk) -> None:
    desk.ask(hello(1))
    for after_ms in (0.3, 1.1, 2.2, 5):
        desk.terminal.waiting += LinkFrame(ECHO.id, 1, 1, bytes(range(1, 256)) * 4).encode()
        desk.pass_ms(after_ms)
        desk.session.enumerate_again()
        desk.terminal.waiting, desk.terminal.is_open = type(desk.terminal.waiting)(), False
        desk.pass_ms(600)
        desk.opens()
        assert desk.ask(hello(int(after_ms * 100)))[-1:] != [] and desk.good()


def test_the_boot_loader_by_request(desk: Desk) -> None:
    desk.ask(hello())
    assert desk.ask(LinkFrame(BOOT_LOADER.id, 0x42, 1), 200) == [LinkFrame(BOOT_LOADER.id | 0x80, 0x42, 1)]
    assert desk.faults == [BOOTED] and desk.session.device is None


def leave_by_baud(desk: Desk) -> None:
    desk.terminal.baud = 1200
    desk.pass_ms(30)
    assert desk.faults[-1:] != [BOOTED], "the port is open"
    desk.terminal.is_open = False
    desk.pass_ms(100)
    assert desk.faults[-1:] == [BOOTED] and desk.session.complaints == []


def test_the_boot_loader_by_1200_baud(desk: Desk) -> None:
    leave_by_baud(desk)


@pytest.mark.parametrize(("code", "answers"), [(b"\x00\xde", [FAULT]), (b"\xfe\xe7", [])])
def test_a_program_that_faults_or_hangs_can_still_be_replaced(
    desk: Desk, image: Image, code: bytes, answers: list[int]
) -> None:
    """`udf #0`, or a branch to itself, in the place of agent_poll(): a fault is told by USB, then 1,200 baud is heard."""
    with image.path.open("rb") as file:
        (symbol,) = ELFFile(file).get_section_by_name(".symtab").get_symbol_by_name("agent_poll")
    place = (symbol["st_value"] & ~1) - XIP
    desk.ask(hello())
    desk.chip.flash.array[place : place + 2] = list(code)
    desk.chip.core.code_changed()
    assert [frame.type for frame in desk.ask(LinkFrame(ECHO.id, 0x42, 1), 50)] == answers
    leave_by_baud(desk)
