"""The USB controller of the i.MX RT1062 by register accesses and single transactions (UM10503, USB0: the same controller)."""

from __future__ import annotations

import struct
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.usb import wire
from hil.standins.virtual.usb.wire import Handshake, Packet, Token

from .teensy import Teensy, booted

USB, PHY, CCGR6, PLL_USB1, REG_3P0 = 0x402E0000, 0x400D9000, 0x400FC080, 0x400D8010, 0x400D8120
USBCMD, USBSTS, USBINTR, FRINDEX, ADDR, LIST, NAK, NAKEN, PORTSC1, OTGSC, MODE, SETUPSTAT, PRIME, FLUSH, STAT, COMPLETE, CTRL = (
    0x140, 0x144, 0x148, 0x14C, 0x154, 0x158, 0x178, 0x17C, 0x184, 0x1A4, 0x1A8, 0x1AC, 0x1B0, 0x1B4, 0x1B8, 0x1BC, 0x1C0,
)  # fmt: skip
HEADS, TD, DATA = 0x20200000, 0x20201000, 0x20210000  # in OCRAM
ACTIVE, BUFFER_ERROR, IOC, ZLT = 0x80, 0x20, 1 << 15, 1 << 29
SETUP = Packet(0, bytes([0x80, 6, 0, 1, 0, 0, 18, 0]))
EP1_OUT, EP1_IN = 1 << 1, 1 << 17
PRIME_TIME = 400_000


class Bus:
    """A bus without a host."""

    def __init__(self) -> None:
        self.changes, self.frames, self.micro, self.woken = 0, 0, 0, 0

    def changed(self) -> None:
        self.changes += 1

    def frame_number(self) -> int:
        return self.frames

    def microframe(self) -> int:
        return self.micro

    def wake_up(self) -> None:
        self.woken += 1


class Board:
    """A controller that is set up at high speed, with a bulk endpoint 1 of 512 bytes each way."""

    def __init__(self) -> None:
        self.teensy: Teensy = booted()
        self.teensy.write(0x400AC004, 1 << 31)  # TCM in sleep
        self.usb, self.bus, self.core = self.teensy.chip.usb, Bus(), self.teensy.chip.core

    def write(self, offset: int, value: int) -> None:
        self.teensy.write(USB + offset, value)

    def read(self, offset: int) -> int:
        return self.teensy.read(USB + offset)

    def power(self) -> None:
        self.teensy.write(PLL_USB1 + 4, 1 << 6)
        self.teensy.modify(CCGR6, 3, 3)
        self.teensy.write(REG_3P0 + 4, 1)
        self.teensy.write(PHY + 0x38, 1 << 31)
        self.teensy.write(PHY + 0x38, 1 << 30)
        self.teensy.write(PHY, 0)

    def start(self) -> Board:
        self.power()
        self.write(USBCMD, 0)
        self.write(USBCMD, 2)
        self.teensy.pass_time(2_000_000)
        self.write(MODE, 2 | 1 << 3)
        self.core.poke(HEADS, bytes(1024))
        for index, size in ((0, 64), (1, 64), (2, 512), (3, 512)):
            self.core.poke(HEADS + 64 * index, struct.pack("<I", size << 16 | ZLT))
        self.write(LIST, HEADS)
        self.write(USBINTR, 1 | 2 | 4 | 1 << 6 | 1 << 8)
        self.write(USBCMD, 1)
        self.usb.connect(self.bus)
        self.usb.bus_reset(True, wire.HIGH)
        self.usb.bus_reset(False, wire.HIGH)
        self.write(FLUSH, 0xFFFFFFFF)
        self.write(USBSTS, 0x1C7)
        self.write(CTRL + 4, 0x00C800C8)
        return self

    def descriptor(self, at: int, data: int, size: int, following: int = 1, flags: int = IOC) -> None:
        pages = [data, *((data & ~0xFFF) + 4096 * (i + 1) for i in range(4))]
        self.core.poke(at, struct.pack("<7I", following, size << 16 | flags | ACTIVE, *pages))

    def prime(self, index: int, at: int) -> None:
        self.core.poke(HEADS + 64 * index + 8, struct.pack("<2I", at, 0))
        self.write(PRIME, 1 << (index >> 1) << 16 * (index & 1))

    def primed(self, index: int, size: int, data: int = DATA, flags: int = IOC) -> None:
        self.descriptor(TD, data, size, flags=flags)
        self.prime(index, TD)
        self.teensy.pass_time(PRIME_TIME)

    def token(self, at: int = TD) -> int:
        return int.from_bytes(self.core.peek(at + 4, 4), "little")

    def send(self, packet: Packet, endpoint: int = 1) -> Handshake | None:
        answer = self.usb.token(Token.OUT, 0, endpoint)
        assert answer is None
        return self.usb.data(packet)

    def fetch(self, acked: bool = True, endpoint: int = 1) -> Packet | Handshake | None:
        answer = self.usb.token(Token.IN, 0, endpoint)
        if isinstance(answer, Packet):
            self.usb.handshake(acked)
        return answer

    def setup(self, packet: Packet = SETUP) -> Handshake | None:
        assert self.usb.token(Token.SETUP, 0, 0) is None
        return self.usb.data(packet)

    @property
    def asks(self) -> bool:
        return bool(self.teensy.chip.nvic.lines >> 16 + 113 & 1)


@cache
def shared() -> Board:
    """A board for many examples: `start` begins anew."""
    return Board()


@pytest.fixture
def board() -> Board:
    return Board().start()


# clocks and the PHY


def test_without_clocks_the_registers_are_out_of_reach() -> None:
    board = Board()
    board.teensy.modify(CCGR6, 3, 0)
    with pytest.raises(ModelFault, match=r"its clock is off; set CCM_CCGR6\.CG0 first"):
        board.read(USBCMD)
    board.teensy.modify(CCGR6, 0, 3)
    assert board.read(0) == 0xE4A1FA05
    with pytest.raises(ModelFault, match=r"the controller has no clock: CCM_ANALOG_PLL_USB1\.EN_USB_CLKS is 0"):
        board.write(USBCMD, 2)
    board.teensy.write(PLL_USB1 + 4, 1 << 6)
    assert board.read(USBCMD) == 0x80000


@pytest.mark.parametrize(
    ("address", "value", "why"),
    [
        (USB + USBCMD, 0, "USBCMD.RS"), (PHY + 0x34, 1 << 30, "USBPHY1_CTRL.CLKGATE"), (PHY + 0x34, 1 << 31, "SFTRST"),
        (PHY + 4, 1 << 10, "USBPHY1_PWD is 0x400"), (REG_3P0 + 8, 1, "PMU_REG_3P0.ENABLE_LINREG"),
        (PLL_USB1 + 8, 1 << 6, "EN_USB_CLKS"), (PLL_USB1 + 8, 1 << 12, "POWER"), (PLL_USB1 + 4, 1 << 16, "BYPASS"),
    ],
)  # fmt: skip
def test_a_host_sees_the_device_only_when_all_runs(board: Board, address: int, value: int, why: str) -> None:
    assert board.usb.pulls_up and board.usb.chirps
    changes = board.bus.changes
    board.teensy.write(address, value)
    assert not board.usb.pulls_up and why in board.usb.why_unseen() and board.bus.changes > changes


def test_the_pll_needs_its_time_after_power_up(board: Board) -> None:
    board.teensy.write(PLL_USB1 + 8, 1 << 12)
    board.teensy.write(PLL_USB1 + 4, 1 << 12)
    assert "not locked yet" in board.usb.why_unseen()
    board.teensy.pass_time(200_000_000)
    assert board.usb.why_unseen() == ""


def test_a_phy_in_reset_takes_nothing() -> None:
    board = Board()
    with pytest.raises(ModelFault, match=r"USBPHY1_PWD changes while the PHY is held in reset"):
        board.teensy.write(PHY, 0)
    board.power()
    board.teensy.write(PHY + 0x34, 1 << 31)
    assert board.teensy.read(PHY) == 0x1E1C00 and board.teensy.read(PHY + 0x30) >> 30 == 3


# what the manual forbids


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (LIST, 0x20200400, "not aligned to 2048 bytes"), (MODE, 3, "CM is written twice"), (USBCMD, 3, "while the device is attached"),
        (USBSTS, 1 << 9, "reserved bits"), (CTRL + 4, 2, "RXD"), (PORTSC1, 1 << 16, "PTC"),
    ],
)  # fmt: skip
def test_forbidden_writes_are_named(board: Board, offset: int, value: int, message: str) -> None:
    with pytest.raises(ModelFault, match=message):
        board.write(offset, value)


def test_a_controller_in_reset_takes_no_writes_and_forgets_all() -> None:
    board = Board().start()
    board.write(USBCMD, 2)
    assert board.read(USBCMD) & 2 and not board.usb.pulls_up
    with pytest.raises(ModelFault, match=r"in reset; wait until USBCMD\.RST reads 0"):
        board.write(MODE, 2)
    board.teensy.pass_time(2_000_000)
    assert (board.read(USBCMD), board.read(MODE) & 3, board.read(LIST), board.read(CTRL + 4)) == (0x80000, 0, 0, 0)
    board.write(MODE, 2)
    with pytest.raises(ModelFault, match="RS is set before USB1_ENDPTLISTADDR"):
        board.write(USBCMD, 1)


@pytest.mark.parametrize(
    ("head", "descriptor", "message"),
    [
        ((TD, ACTIVE), {}, "clear Active and Halted"), ((TD, 0x40), {}, "clear Active and Halted"), ((1, 0), {}, "no descriptor"),
        ((TD + 4, 0), {}, "not aligned to 32 bytes"), ((TD, 0), {"token": 5 << 16}, "its Active bit must be 1"),
        ((TD, 0), {"token": 5 << 16 | 0xC0}, "errors and reserved bits 0"), ((TD, 0), {"token": 0x5001 << 16 | ACTIVE}, "five pages"),
        ((0x30000000, 0), {}, "the USB controller accesses 0x30000000, where the chip has no memory"),
    ],
)  # fmt: skip
def test_wrong_queue_heads_and_descriptors_are_named(
    board: Board, head: tuple[int, int], descriptor: dict[str, int], message: str
) -> None:
    board.descriptor(TD, DATA, 5)
    if descriptor:
        board.core.poke(TD + 4, struct.pack("<I", descriptor["token"]))
    board.core.poke(HEADS + 64 * 3 + 8, struct.pack("<2I", *head))
    with pytest.raises(ModelFault, match=message):
        board.write(PRIME, EP1_IN)


def test_the_unused_direction_must_not_be_of_type_control(board: Board) -> None:
    board.write(CTRL + 4, 0x00C80000)
    board.descriptor(TD, DATA, 5)
    with pytest.raises(ModelFault, match="unused direction of ENDPTCTRL1 has type control"):
        board.prime(3, TD)
    board.write(CTRL + 4, 0x00C80008)
    board.prime(3, TD)


def test_an_endpoint_is_not_primed_twice_and_its_head_not_touched(board: Board) -> None:
    board.primed(3, 600)
    with pytest.raises(ModelFault, match="is primed while it is primed"):
        board.write(PRIME, EP1_IN)
    board.core.poke(HEADS + 64 * 3 + 8, struct.pack("<2I", TD, 0))
    with pytest.raises(ModelFault, match="has changed while the endpoint is primed"):
        board.fetch()


# transfers


def test_a_prime_takes_time_and_until_then_there_is_nak(board: Board) -> None:
    board.write(NAKEN, EP1_IN)
    board.descriptor(TD, DATA, 3)
    board.core.poke(DATA, b"abc")
    board.prime(3, TD)
    assert (board.read(PRIME), board.read(STAT)) == (EP1_IN, 0)
    assert board.fetch() is Handshake.NAK
    assert board.read(NAK) == EP1_IN and board.read(USBSTS) & 1 << 16
    board.teensy.pass_time(PRIME_TIME)
    assert (board.read(PRIME), board.read(STAT)) == (0, EP1_IN)
    assert board.fetch() == Packet(0, b"abc") and board.asks
    assert (board.read(STAT), board.read(COMPLETE)) == (0, EP1_IN) and board.token() == IOC
    board.write(NAK, EP1_IN)
    board.write(USBSTS, 1)
    board.write(COMPLETE, EP1_IN)
    assert not board.asks and board.read(COMPLETE) == 0


def test_what_is_written_after_the_prime_comes_too_late(board: Board) -> None:
    board.core.poke(DATA, b"old")
    board.primed(3, 3)
    board.core.poke(DATA, b"new")
    assert board.fetch() == Packet(0, b"old")


@given(st.integers(0, 0x4000), st.integers(0, 4095), st.booleans(), st.booleans())
@settings(max_examples=25, deadline=None)
def test_a_descriptor_to_the_host_is_cut_into_packets_over_its_pages(
    size: int, offset: int, terminates: bool, loses: bool
) -> None:
    board = shared().start()
    data = bytes(i * 7 + (i >> 8) & 0xFF for i in range(size))
    board.core.poke(HEADS + 64 * 3, struct.pack("<I", 512 << 16 | (0 if terminates else ZLT)))
    board.core.poke(DATA + offset, data)
    board.primed(3, size, DATA + offset)
    packets = []
    while board.read(STAT) & EP1_IN:
        if loses and not len(packets) % 3:
            board.fetch(acked=False)  # and so it is sent once more
        packet = board.fetch()
        assert isinstance(packet, Packet)
        packets.append(packet)
    assert b"".join(one.data for one in packets) == data
    assert [one.toggle for one in packets] == [i % 2 for i in range(len(packets))]
    assert len(packets) == max(1, -(-size // 512)) + (terminates and size > 0 and size % 512 == 0)
    assert board.token() == IOC


@given(
    st.lists(st.integers(0, 512), min_size=1, max_size=8), st.integers(0, 4095), st.booleans(), st.sampled_from([512, 1024, 2048])
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_a_descriptor_from_the_host_ends_when_it_is_full_or_a_packet_is_short(
    sizes: list[int], offset: int, terminates: bool, room: int
) -> None:
    board, came = shared().start(), b""
    board.core.poke(HEADS + 64 * 2, struct.pack("<I", 512 << 16 | (0 if terminates else ZLT)))
    board.primed(2, room, DATA + offset, flags=0)
    for i, size in enumerate(sizes):
        ready = bool(board.read(STAT) & EP1_OUT)
        too_long = ready and size > room - len(came)
        answer = board.send(Packet(i % 2, bytes([i]) * size))
        assert answer is (Handshake.ACK if ready and not too_long else Handshake.NAK)
        if too_long:
            assert board.read(USBSTS) & 2 and not board.read(STAT) and board.token() & (BUFFER_ERROR | ACTIVE)
            return
        if not ready:
            break
        came += bytes([i]) * size
        done = size < 512 or (len(came) == room and not terminates)
        assert bool(board.read(COMPLETE) & EP1_OUT) == done == (not board.read(STAT))
        assert bool(board.read(USBSTS) & 1) == (done and len(came) < room), "a short packet interrupts without IOC"
    assert board.core.peek(DATA + offset, len(came)) == came and board.token() >> 16 == room - len(came)


def test_a_repeated_packet_is_acknowledged_and_dropped(board: Board) -> None:
    board.primed(2, 2048)
    assert board.send(Packet(0, b"a" * 512)) is Handshake.ACK
    assert board.send(Packet(0, b"b" * 512)) is Handshake.ACK
    assert board.token() >> 16 == 2048 and board.core.peek(HEADS + 128 + 0xC, 4)[2:] == struct.pack("<H", 1536)
    board.write(CTRL + 4, 0x00880088 | 1 << 6)  # toggle back to DATA0
    assert board.send(Packet(0, b"c" * 512)) is Handshake.ACK
    assert board.core.peek(DATA, 1024) == b"a" * 512 + b"c" * 512


def test_descriptors_are_chained_and_one_can_be_added_in_time(board: Board) -> None:
    board.descriptor(TD, DATA, 3, TD + 32, flags=0)
    board.descriptor(TD + 32, DATA + 3, 3)
    board.core.poke(DATA, b"abcdefghi")
    board.prime(3, TD)
    board.teensy.pass_time(PRIME_TIME)
    board.write(USBCMD, 1 | 1 << 12)
    assert board.fetch() == Packet(0, b"abc")
    assert not board.read(USBCMD) & 1 << 12, "a descriptor has retired: the tripwire is cut"
    assert (board.read(PRIME), board.read(STAT), board.read(USBSTS) & 1) == (EP1_IN, 0, 0)
    board.descriptor(TD + 64, DATA + 6, 3)
    board.core.poke(TD + 32, struct.pack("<I", TD + 64))
    board.teensy.pass_time(PRIME_TIME)
    assert board.fetch() == Packet(1, b"def") and board.read(USBSTS) & 1
    board.teensy.pass_time(PRIME_TIME)
    assert board.fetch() == Packet(0, b"ghi")
    assert board.fetch() is Handshake.NAK and board.read(STAT) == 0


def test_a_flush_takes_a_prime_away_but_not_under_a_packet(board: Board) -> None:
    board.primed(3, 1024)
    board.usb.token(Token.IN, 0, 1)
    board.write(FLUSH, EP1_IN)
    assert board.read(FLUSH) == EP1_IN
    board.usb.handshake(True)
    assert (board.read(FLUSH), board.read(STAT)) == (0, EP1_IN), "refused"
    board.write(FLUSH, EP1_IN)
    assert (board.read(FLUSH), board.read(STAT)) == (0, 0) and board.fetch() is Handshake.NAK


def test_a_stalled_endpoint_stalls_until_it_is_cleared(board: Board) -> None:
    board.primed(3, 3)
    board.write(CTRL + 4, 0x00890089)
    assert board.fetch() is Handshake.STALL and board.send(Packet(0, b"x")) is Handshake.STALL
    board.write(CTRL + 4, 0x00880088)
    assert isinstance(board.fetch(), Packet)


def test_an_endpoint_that_is_absent_disabled_or_elsewhere_is_silent(board: Board) -> None:
    assert board.usb.token(Token.IN, 0, 9) is None and board.usb.token(Token.IN, 0, 2) is None
    assert board.usb.token(Token.IN, 5, 1) is None and board.usb.token(Token.OUT, 5, 1) is None
    assert board.usb.data(Packet(0, b"x")) is None


# endpoint 0


def test_a_setup_packet_is_taken_and_ends_primes_and_stalls(board: Board) -> None:
    board.primed(1, 18)
    board.write(CTRL, 0x10001)
    assert board.read(CTRL) == 0x810081 and board.fetch(endpoint=0) is Handshake.STALL
    board.write(USBCMD, 1 | 1 << 13)
    assert board.setup() is Handshake.ACK and board.asks
    assert board.core.peek(HEADS + 0x28, 8) == SETUP.data
    assert (board.read(SETUPSTAT), board.read(STAT), board.read(CTRL), board.read(USBCMD) >> 13 & 1) == (
        1,
        0,
        0x800080,
        0,
    )
    board.descriptor(TD, DATA, 18)
    board.prime(1, TD)
    assert (board.read(PRIME), board.read(STAT)) == (0, 0), "a setup packet waits: the prime fails"
    board.write(SETUPSTAT, 1)
    board.prime(1, TD)
    board.teensy.pass_time(PRIME_TIME)
    packet = board.fetch(endpoint=0)
    assert isinstance(packet, Packet) and packet.toggle == 1


def test_setup_lockout_ignores_a_second_packet() -> None:
    board = Board().start()
    for lockout in (False, True):
        board.write(MODE, 2 | (0 if lockout else 8))
        board.write(SETUPSTAT, 1)
        assert board.setup() is Handshake.ACK
        second = board.usb.token(Token.SETUP, 0, 0), board.usb.data(Packet(0, bytes(8)))
        assert second == ((None, None) if lockout else (None, Handshake.ACK))
        assert board.core.peek(HEADS + 0x28, 8) == (SETUP.data if lockout else bytes(8))


def test_a_staged_address_is_taken_with_the_status_and_not_before(board: Board) -> None:
    board.setup()
    board.write(SETUPSTAT, 1)
    board.write(ADDR, 7 << 25 | 1 << 24)
    board.primed(1, 0)
    assert board.read(ADDR) >> 25 == 0
    assert board.fetch(acked=False, endpoint=0) == Packet(1, b"") and board.read(ADDR) >> 25 == 0
    assert board.fetch(endpoint=0) == Packet(1, b"") and board.read(ADDR) == 7 << 25
    assert board.usb.token(Token.IN, 0, 0) is None and board.usb.token(Token.IN, 7, 0) is Handshake.NAK
    board.usb.bus_reset(True, wire.HIGH)
    assert board.read(ADDR) == 0


def test_a_new_setup_packet_drops_a_staged_address(board: Board) -> None:
    board.setup()
    board.write(ADDR, 7 << 25 | 1 << 24)
    board.setup()
    board.write(SETUPSTAT, 1)
    board.primed(1, 0)
    board.fetch(endpoint=0)
    assert board.read(ADDR) == 0


# the bus


def test_reset_suspend_resume_and_speed_are_seen(board: Board) -> None:
    board.primed(3, 3)
    board.usb.bus_reset(True, wire.FULL)
    assert board.read(USBSTS) & 1 << 6 and board.read(PORTSC1) & 1 << 8 and board.read(STAT) == 0
    board.usb.bus_reset(False, wire.FULL)
    assert board.read(USBSTS) & 4 and board.read(PORTSC1) >> 26 & 3 == 0 and not board.read(PORTSC1) & (1 << 8 | 1 << 9)
    board.usb.bus_reset(True, wire.HIGH)
    board.usb.bus_reset(False, wire.HIGH)
    assert board.read(PORTSC1) >> 26 & 3 == 2 and board.read(PORTSC1) & 1 << 9
    board.usb.suspend(True)
    assert board.read(USBSTS) & 1 << 8 and board.read(PORTSC1) & 1 << 7
    board.write(PORTSC1, board.read(PORTSC1) | 1 << 6)
    assert board.bus.woken == 1
    board.usb.suspend(False)
    assert not board.read(PORTSC1) & 1 << 7
    board.write(PORTSC1, board.read(PORTSC1) | 1 << 24)
    assert not board.usb.chirps


def test_frames_and_their_interrupt(board: Board) -> None:
    board.bus.frames, board.bus.micro = 5, 3
    assert board.read(FRINDEX) == 43 and board.read(USBSTS) & 1 << 7 and not board.asks
    board.write(USBSTS, 1 << 7)
    assert not board.read(USBSTS) & 1 << 7
    board.write(USBINTR, 1 << 7)
    assert board.usb.wants_frames and not board.asks
    board.bus.micro = 4
    board.usb.frame()
    assert board.asks


def test_a_cable_is_seen_in_two_places_and_interrupts(board: Board) -> None:
    assert board.read(OTGSC) >> 9 & 15 == 7 and board.teensy.read(0x400D81C0) == 0xE
    board.write(OTGSC, 0xF << 17)
    board.write(USBINTR, 0)
    board.write(OTGSC, 1 << 27)
    assert not board.asks
    board.usb.connect(None)
    assert board.asks and board.read(OTGSC) >> 9 & 15 == 8 and board.teensy.read(0x400D81C0) == 1


def test_a_reset_of_the_chip_takes_the_device_off_the_bus(board: Board) -> None:
    board.teensy.chip.request_reset()
    board.teensy.chip.advance(1)
    assert not board.usb.pulls_up
