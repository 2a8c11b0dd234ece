"""The agent on the chip's own USB: its image on the virtual chip, at the port of a strict host that was written from USB's texts alone."""

from __future__ import annotations

import random

import pytest
from elftools.elf.elffile import ELFFile

from hil.images.images import Image, read_elf
from hil.link.frames import LinkFrame
from hil.link.messages import decode, description
from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.chip.imxrt1062.chip import BOARD_NUMBER
from hil.standins.virtual.chip.machine import Pace
from hil.standins.virtual.chip.w25q import UNIQUE_ID
from hil.standins.virtual.usb.steps import MS, Program, Sleep
from hil.standins.virtual.usb.wire import FULL, Token
from tests.built_firmware import built_firmware
from tests.integration.virtual.usb_desk import HELLO, PICO, TEENSY, Desk, Kind, frames, hello

RESETS, USBCTRL, PLL_USB = 0x4000C000, 1 << 24, 1 << 13
ECHO, BOOT_LOADER = (description().requests[name] for name in ("echo", "boot_loader"))
FAULT = description().controls["fault"].id
NUMBERS = {"rp2040": UNIQUE_ID.hex().upper(), "imxrt1062": f"{BOARD_NUMBER & 0xFFFFFF:08X}"}
both = pytest.mark.parametrize("kind", [PICO, TEENSY], ids=lambda kind: kind.board)
pico = pytest.mark.parametrize("kind", [PICO], ids=lambda kind: kind.board)
teensy = pytest.mark.parametrize("kind", [TEENSY], ids=lambda kind: kind.board)


@pytest.fixture
def image(tmp_path_factory: pytest.TempPathFactory, kind: Kind) -> Image:
    return read_elf(built_firmware(tmp_path_factory) / f"build/{kind.board}.elf")


@pytest.fixture
def desk(kind: Kind, image: Image) -> Desk:
    return Desk(kind, image)


@both
def test_the_agent_is_enumerated_and_greets_on_usb(desk: Desk, image: Image) -> None:
    assert desk.session.device is not None
    board = desk.kind.board
    assert list(desk.session.device.strings) == ["trainrig", "trainrig agent", NUMBERS[board]]
    (reply,) = desk.ask(hello())
    said = decode(HELLO.reply, reply.body)
    assert said["image_digest"] == image.digest and said["board"].rstrip(b"\0") == board.encode()
    assert desk.uart == b"" and desk.good()


@both
@pytest.mark.parametrize("length", [0, 1, 40, 49, 50, 51, 100, 497, 498, 499, 1024])
def test_an_echo_of_any_length_comes_back(desk: Desk, length: int) -> None:
    """Also where the last packet is full, so that an empty one has to follow: 64 and 512 bytes of frame are 50 or 498 or so of body."""
    desk.ask(hello())
    body = random.Random(length).randbytes(length)
    assert desk.ask(LinkFrame(ECHO.id, 0x42, 1, body)) == [LinkFrame(ECHO.id | 0x80, 0x42, 1, body)]
    assert desk.good()


@pico
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


@pico
def test_a_packet_that_nobody_reads_costs_no_interrupts(desk: Desk) -> None:
    """The start of each frame interrupts only while a packet waits for one; one that is available does not."""
    desk.ask(hello())
    port = desk.session.port
    assert port is not None and port._reader is not None
    desk.session.host.stop(port._reader)
    assert desk.ask(LinkFrame(ECHO.id, 0x42, 1, b"unread")) == []
    assert not desk.chip.usb.wants_frames and desk.good()


@both
def test_it_answers_on_the_port_on_which_it_is_asked(desk: Desk) -> None:
    for nonce in (1, 3):
        assert len(desk.ask(hello(nonce))) == 1 and desk.uart == b""
        desk.terminal.given = b""
        assert len(desk.ask_by_uart(hello(nonce + 1))) == 1 and desk.terminal.given == b""
        desk.uart.clear()
    assert desk.good()


@pico
def test_without_a_cable_the_controller_stays_in_reset(image: Image) -> None:
    desk = Desk(PICO, image, plugged=False)
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


@teensy
def test_at_high_speed_it_takes_and_sends_5_mb_each_second_of_bus_time(desk: Desk) -> None:
    """Out: what the agent decodes meanwhile, a frame that is too long. In: whole answers, with the agent's work on them."""
    begun, n = desk.chip.clock.now, 100_000
    desk.terminal.waiting += b"\x05" * n
    while desk.terminal.waiting:
        desk.pass_ms(0.1)
    assert n * PS_PER_S / (desk.chip.clock.now - begun) > 5_000_000
    desk.ask(LinkFrame(ECHO.id, 0, 0))
    desk.ask(hello(0x55))
    desk.terminal.given = b""
    for seq in range(1, 8):
        desk.terminal.waiting += LinkFrame(ECHO.id, 0x55, seq, bytes(i * seq % 251 for i in range(1024))).encode()
    marks, carried, clock, end = [], desk.session.host.carried, desk.chip.clock, desk.chip.clock.now + 20 * MS
    while clock.now < end:
        before = carried[Token.IN]
        if desk.chip.advance() is Pace.WAIT:
            clock.wait_until(min([end, *(at for one in desk.chip.sources if (at := one.next_event()) is not None)]))
        if carried[Token.IN] != before:
            marks.append((clock.now, carried[Token.IN]))
    (first, some), (last, all_of_it) = marks[0], marks[-1]
    assert len(frames(desk.terminal.given)) == 7 and desk.good()
    assert (all_of_it - some) * PS_PER_S / (last - first) > 5_000_000


@teensy
def test_at_a_host_of_full_speed_it_is_a_device_of_full_speed(desk: Desk) -> None:
    desk.session.host.fastest = FULL
    desk.session.plug(False)
    desk.pass_ms(20)
    desk.terminal.is_open = False
    desk.plug()
    desk.opens()
    assert "at full speed" in desk.log[-1]
    assert len(desk.ask(hello(7))) == 1 and desk.good()


@teensy
def test_without_a_cable_the_agent_answers_on_the_uart(kind: Kind, image: Image) -> None:
    desk = Desk(kind, image, plugged=False)
    assert len(desk.ask_by_uart(hello())) == 1
    desk.plug()  # later
    desk.opens()
    assert len(desk.ask(hello(2))) == 1
    desk.session.plug(False)
    desk.pass_ms(20)
    assert len(desk.ask_by_uart(hello(3))) == 1 and desk.good()


@teensy
def test_it_leaves_the_bus_when_its_boot_loader_is_asked_for(desk: Desk) -> None:
    leave_by_baud(desk)
    assert desk.session.device is None


def asleep() -> Program[None]:
    yield Sleep(50 * MS)


@both
def test_a_bus_that_sleeps_leaves_the_uart_to_the_agent(desk: Desk) -> None:
    desk.ask(hello(1))
    desk.session.host.start(asleep())
    desk.pass_ms(30)
    assert len(desk.ask_by_uart(hello(2))) == 1
    desk.pass_ms(200)
    assert len(desk.ask(hello(3))) == 1 and desk.good()


@both
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


@both
def test_the_boot_loader_by_request(desk: Desk) -> None:
    desk.ask(hello())
    assert desk.ask(LinkFrame(BOOT_LOADER.id, 0x42, 1), 200) == [LinkFrame(BOOT_LOADER.id | 0x80, 0x42, 1)]
    assert desk.faults == [desk.kind.booted] and desk.session.device is None


def leave_by_baud(desk: Desk) -> None:
    desk.terminal.baud = desk.kind.baud
    desk.pass_ms(30)
    assert desk.faults[-1:] != [desk.kind.booted], "the port is open"
    desk.terminal.is_open = False
    desk.pass_ms(100)
    assert desk.faults[-1:] == [desk.kind.booted] and desk.session.complaints == []


@both
def test_the_boot_loader_by_its_rate(desk: Desk) -> None:
    leave_by_baud(desk)


@pico  # the emulator needs minutes for a Teensy, whose core polls at 600 MHz then
@pytest.mark.parametrize(("code", "answers"), [(b"\x00\xde", [FAULT]), (b"\xfe\xe7", [])])
def test_a_program_that_faults_or_hangs_can_still_be_replaced(
    desk: Desk, image: Image, code: bytes, answers: list[int]
) -> None:
    """`udf #0`, or a branch to itself, in the place of agent_poll(): a fault is told by USB, then the rate is heard."""
    with image.path.open("rb") as file:
        (symbol,) = ELFFile(file).get_section_by_name(".symtab").get_symbol_by_name("agent_poll")
    place = (symbol["st_value"] & ~1) - desk.kind.flash
    desk.ask(hello())
    desk.chip.flash.array[place : place + 2] = list(code)
    desk.chip.core.code_changed()
    assert [frame.type for frame in desk.ask(LinkFrame(ECHO.id, 0x42, 1), 50)] == answers
    leave_by_baud(desk)
