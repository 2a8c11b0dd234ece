"""The RP2040's USB controller by register accesses and single transactions (RP2040 data sheet, 4.1.2)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.usb import wire
from hil.standins.virtual.usb.wire import Handshake, Packet, Token

from .pico import Pico
from .rp2040_usb_registers import REGISTERS
from .usb_device import BULK_IN, BULK_OUT, DeviceOfRegisters

RESETS, USB_RESET, DPSRAM, USB = 0x4000C000, 1 << 24, 0x50100000, 0x50110000
AVAILABLE, STALL, DATA1, LAST, FULL = 1 << 10, 1 << 11, 1 << 13, 1 << 14, 1 << 15
EP0_IN, EP0_OUT, EP2_IN, EP2_OUT = 0x80, 0x84, 0x90, 0x94  # buffer controls
IN_BIT, OUT_BIT = 1 << 4, 1 << 5  # of endpoint 2 in BUFF_STATUS
SIE_STATUS, BUFF_STATUS, SHOULD, ABORT, ABORT_DONE, ARM, STALL_NAK, INTR, INTE = (
    0x50, 0x58, 0x5C, 0x60, 0x64, 0x68, 0x70, 0x8C, 0x90,
)  # fmt: skip
GET_STATUS = Packet(0, bytes([0x80, 0, 0, 0, 0, 0, 2, 0]))


class Bus:
    """A bus without a host."""

    def __init__(self) -> None:
        self.changes, self.frames, self.woken = 0, 0, 0

    def changed(self) -> None:
        self.changes += 1

    def frame_number(self) -> int:
        return self.frames

    def wake_up(self) -> None:
        self.woken += 1


@pytest.fixture
def bus() -> Bus:
    return Bus()


@pytest.fixture
def device(bus: Bus) -> DeviceOfRegisters:
    """A controller that is set up, with a bulk endpoint 2 of two buffers each way, and not a single buffer given."""
    one = DeviceOfRegisters(double=True, takes=False)
    one.start()
    one.usb.connect(bus)
    one.configured = 1
    one._open()
    return one


def send(device: DeviceOfRegisters, packet: Packet, endpoint: int = BULK_OUT) -> Handshake | None:
    assert device.usb.token(Token.OUT, 0, endpoint) is None
    return device.usb.data(packet)


def fetch(device: DeviceOfRegisters, acked: bool = True, endpoint: int = BULK_IN) -> Packet | Handshake | None:
    answer = device.usb.token(Token.IN, 0, endpoint)
    if isinstance(answer, Packet):
        device.usb.handshake(acked)
    return answer


def status(device: DeviceOfRegisters, at: int, half: int = 0) -> int:
    return device.usb.memory.read(at + 2 * half, 2)


# registers


@pytest.mark.parametrize("name", REGISTERS)
def test_registers_are_those_of_the_header(name: str) -> None:
    chip = Pico()
    chip.write(RESETS + 0x3000, USB_RESET)
    offset, bits, reset = REGISTERS[name]
    assert chip.read(USB + offset) == reset
    register = next(r for r in chip.chip.usb_controller.REGISTERS if r.offset == offset)
    assert ~register.reserved & 0xFFFFFFFF == bits


def test_memory_and_registers_are_out_of_reach_in_reset() -> None:
    chip = Pico()
    for address in (DPSRAM, DPSRAM + 0x200, USB + 0x40):
        with pytest.raises(ModelFault, match=r"held in reset; clear RESETS_RESET\.USBCTRL first"):
            chip.read(address)
    chip.write(RESETS + 0x3000, USB_RESET)
    chip.write(DPSRAM + 0x200, 0x12345678)
    chip.write(USB + 0x40, 1)
    chip.write(RESETS + 0x2000, USB_RESET)
    chip.write(RESETS + 0x3000, USB_RESET)
    assert chip.read(USB + 0x40) == 0 and chip.read(DPSRAM + 0x200) == 0x12345678  # a memory keeps its bytes


@given(st.lists(st.tuples(st.integers(0x180, 0xFFF), st.sampled_from([1, 2, 4]), st.integers(0, 0xFFFFFFFF))))
@settings(max_examples=50)
def test_the_memory_takes_bytes_halfwords_and_words(writes: list[tuple[int, int, int]]) -> None:
    memory, mirror = DeviceOfRegisters().usb.memory, bytearray(memory_bytes := 0x1000)
    assert len(memory.bytes) == memory_bytes
    for at, size, value in writes:
        place, data = at - at % size, (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        memory.write(place, size, int.from_bytes(data, "little"))
        mirror[place : place + size] = data
    assert memory.bytes == mirror


@pytest.mark.parametrize(
    ("why", "register", "value"),
    [
        ("PULLUP_EN", 0x4C, 0), ("CONTROLLER_EN", 0x40, 0), ("TO_PHY", 0x74, 8), ("SOFTCON", 0x74, 1),
        ("VBUS_DETECT", 0x78, 8), ("VBUS_DETECT_OVERRIDE_EN", 0x78, 4), ("TRANSCEIVER_PD", 0x4C, 1 << 16 | 1 << 18),
    ],
)  # fmt: skip
def test_a_host_sees_the_device_only_when_all_is_set(
    device: DeviceOfRegisters, why: str, register: int, value: int
) -> None:
    assert device.usb.pulls_up and device.usb.why_unseen() == ""
    device.write(register, value)
    assert not device.usb.pulls_up and why in device.usb.why_unseen()


def test_without_48_mhz_there_is_no_device(device: DeviceOfRegisters) -> None:
    device.wires.usb_hz = 47_000_000
    device.usb.clock_changed()
    assert not device.usb.pulls_up and "clk_usb is 47000000 Hz" in device.usb.why_unseen()


# the rule of AVAILABLE


@pytest.mark.parametrize("half", [0, 1])
def test_a_buffer_that_becomes_available_with_its_other_bits_is_a_fault(device: DeviceOfRegisters, half: int) -> None:
    with pytest.raises(ModelFault, match=r"becomes AVAILABLE 0 ns after its other bits.*4\.1\.2\.5\.3"):
        device.usb.memory.write(EP2_OUT, 4, (64 | AVAILABLE) << 16 * half)


@pytest.mark.parametrize(("waits", "good"), [(0, False), (23_000, False), (24_000, True), (10**6, True)])
def test_available_comes_a_cycle_of_the_controller_later(device: DeviceOfRegisters, waits: int, good: bool) -> None:
    device.usb.memory.write(EP2_OUT, 2, 64)
    device.clock.wait_until(device.clock.now + waits)
    if good:
        device.usb.memory.write(EP2_OUT, 2, 64 | AVAILABLE)
        assert send(device, Packet(0, b"x")) is Handshake.ACK
    else:
        with pytest.raises(ModelFault, match="becomes AVAILABLE"):
            device.usb.memory.write(EP2_OUT, 2, 64 | AVAILABLE)


def test_a_buffer_of_the_controller_must_not_be_written(device: DeviceOfRegisters) -> None:
    device.arm(0x80 | BULK_IN, b"abc")
    with pytest.raises(ModelFault, match="the buffer of EP2 IN is written while it is AVAILABLE"):
        device.usb.memory.write(0x201, 1, 0)
    device.usb.memory.write(0x240, 1, 0)  # its other buffer is free
    fetch(device)
    device.usb.memory.write(0x201, 1, 0)


@pytest.mark.parametrize("kind", [Token.IN, Token.OUT])
def test_a_buffer_on_the_bus_must_not_change_until_it_is_aborted(device: DeviceOfRegisters, kind: Token) -> None:
    endpoint, at, bit = (0x80 | BULK_IN, EP2_IN, IN_BIT) if kind is Token.IN else (BULK_OUT, EP2_OUT, OUT_BIT)
    device.arm(endpoint, b"abc" if kind is Token.IN else 64)
    device.usb.token(kind, 0, 2)
    with pytest.raises(ModelFault, match="changes while its packet is on the bus; set its bit in EP_ABORT"):
        device.usb.memory.write(at, 2, 0)
    device.write(ABORT, bit)
    assert device.read(ABORT_DONE) == 0 and not device.read(INTR) & 1 << 18
    device.usb.handshake(True) if kind is Token.IN else device.usb.data(Packet(0, b"x"))
    assert device.read(ABORT_DONE) == bit and device.read(INTR) & 1 << 18
    device.usb.memory.write(at, 2, 0)
    device.write(ABORT, 0)
    device.clear(ABORT_DONE, bit)
    assert device.read(ABORT_DONE) == 0


@pytest.mark.parametrize(
    ("word", "why"),
    [
        (1 << 31 | 2 << 26 | 0x190, "no multiple of 64"), (1 << 31 | 2 << 26 | 0x100, "not in the memory behind"),
        (1 << 31 | 2 << 26 | 0x1000, "not in the memory"), (1 << 31 | 1 << 30 | 2 << 26 | 0xFC0, "not in the memory"),
        (1 << 31 | 1 << 26 | 0x180, "isochronous"), (1 << 20, "reserved bits 0x00100000"),
    ],
)  # fmt: skip
def test_an_endpoint_that_cannot_be_is_a_fault(device: DeviceOfRegisters, word: int, why: str) -> None:
    with pytest.raises(ModelFault, match=why):
        device.usb.memory.write(0x18, 4, word)


# transactions


def test_an_address_that_is_not_its_own_is_silence(device: DeviceOfRegisters) -> None:
    device.arm(0x80 | BULK_IN, b"abc")
    assert device.usb.token(Token.IN, 5, BULK_IN) is None
    device.write(0, 5)
    assert device.usb.token(Token.IN, 0, BULK_IN) is None
    assert device.usb.token(Token.IN, 5, BULK_IN) == Packet(0, b"abc")


def test_an_endpoint_that_is_not_enabled_is_silence(device: DeviceOfRegisters) -> None:
    assert fetch(device, endpoint=9) is None and send(device, Packet(0, b""), endpoint=9) is None


def test_an_in_packet_stays_until_it_is_acknowledged(device: DeviceOfRegisters) -> None:
    assert fetch(device) is Handshake.NAK
    device.arm(0x80 | BULK_IN, b"abc")
    assert fetch(device, acked=False) == Packet(0, b"abc")
    assert device.read(SIE_STATUS) & 1 << 27 and device.read(BUFF_STATUS) == 0
    assert fetch(device) == Packet(0, b"abc")
    assert status(device, EP2_IN) == 3 and device.read(BUFF_STATUS) == IN_BIT
    assert fetch(device) is Handshake.NAK


@given(data=st.lists(st.binary(max_size=64), min_size=1, max_size=12))
@settings(max_examples=40)
def test_two_buffers_take_turns_each_way(data: list[bytes]) -> None:
    device = DeviceOfRegisters(double=True, takes=False)
    device.start()
    device.usb.connect(Bus())
    device.configured = 1
    device._open()
    for endpoint, at, bit in ((0x80 | BULK_IN, EP2_IN, IN_BIT), (BULK_OUT, EP2_OUT, OUT_BIT)):
        for number, packet in enumerate(data):
            half, toggle = number % 2, number % 2
            device.arm(endpoint, packet if endpoint & 0x80 else 64, half)
            if endpoint & 0x80:
                assert fetch(device) == Packet(toggle, packet)
            else:
                assert send(device, Packet(toggle, packet)) is Handshake.ACK
                place = 0x180 + 64 * half
                assert bytes(device.usb.memory.bytes[place : place + len(packet)]) == packet
            assert status(device, at, half) & 0x3FF == len(packet)
            assert bool(status(device, at, half) & FULL) == (not endpoint & 0x80)
            assert device.read(BUFF_STATUS) == bit and device.read(SHOULD) == (bit if half else 0)
            device.clear(BUFF_STATUS, bit)
            assert device.read(BUFF_STATUS) == 0


def test_buff_status_is_set_again_at_once_for_a_second_buffer(device: DeviceOfRegisters) -> None:
    for half in (0, 1):
        device.arm(BULK_OUT, 64, half)
    for toggle in (0, 1):
        assert send(device, Packet(toggle, b"x" * toggle)) is Handshake.ACK
    assert send(device, Packet(0, b"")) is Handshake.NAK
    assert (device.read(BUFF_STATUS), device.read(SHOULD)) == (OUT_BIT, 0)
    device.clear(BUFF_STATUS, OUT_BIT)
    assert (device.read(BUFF_STATUS), device.read(SHOULD)) == (OUT_BIT, OUT_BIT)
    device.clear(BUFF_STATUS, OUT_BIT)
    assert (device.read(BUFF_STATUS), device.read(INTR) & 1 << 4) == (0, 0)


def test_one_interrupt_for_two_buffers(device: DeviceOfRegisters) -> None:
    device.usb.memory.write(0x14, 4, 1 << 31 | 1 << 30 | 1 << 28 | 2 << 26 | 0x180)
    seen = []
    for half in (0, 1):
        device.arm(BULK_OUT, 64, half)
        send(device, Packet(half, b""))
        seen.append(device.read(BUFF_STATUS))
    assert seen == [0, OUT_BIT]


def test_a_wrong_data_pid_is_acknowledged_and_dropped(device: DeviceOfRegisters) -> None:
    device.arm(BULK_OUT, 64)
    before = bytes(device.usb.memory.bytes)
    assert send(device, Packet(1, b"twice")) is Handshake.ACK
    assert bytes(device.usb.memory.bytes) == before
    assert device.read(SIE_STATUS) & 1 << 31 and device.read(INTR) & 1 << 5
    assert send(device, Packet(0, b"new")) is Handshake.ACK and status(device, EP2_OUT) & 0x3FF == 3


def test_bytes_that_would_be_lost_are_a_fault(device: DeviceOfRegisters) -> None:
    device.arm(BULK_OUT, 8)
    device.usb.token(Token.OUT, 0, BULK_OUT)
    with pytest.raises(ModelFault, match="EP2 OUT receives 9 bytes, but its buffer control has a length of 8"):
        device.usb.data(Packet(0, bytes(9)))


@pytest.mark.parametrize("pending", list(itertools.product([False, True], repeat=2)))
def test_a_setup_is_always_taken_and_ends_a_stall(device: DeviceOfRegisters, pending: tuple[bool, bool]) -> None:
    for at, on in zip((EP0_IN, EP0_OUT), pending, strict=True):
        if on:
            device.usb.memory.write(at, 2, STALL)
    assert fetch(device, endpoint=0) is Handshake.NAK  # STALL without EP_STALL_ARM
    device.write(ARM, 3)
    assert fetch(device, endpoint=0) is (Handshake.STALL if pending[0] else Handshake.NAK)
    assert send(device, Packet(1, b""), endpoint=0) is (Handshake.STALL if pending[1] else Handshake.NAK)
    assert device.usb.token(Token.SETUP, 0, 0) is None and device.usb.data(GET_STATUS) is Handshake.ACK
    assert bytes(device.usb.memory.bytes[:8]) == GET_STATUS.data
    assert device.read(ARM) == 0 and device.read(INTR) & 1 << 16
    assert fetch(device, endpoint=0) is Handshake.NAK
    device.clear(SIE_STATUS, 1 << 17)
    assert not device.read(INTR) & 1 << 16


def test_a_setup_with_data1_is_no_setup(device: DeviceOfRegisters) -> None:
    device.usb.token(Token.SETUP, 0, 0)
    assert device.usb.data(Packet(1, GET_STATUS.data)) is None
    assert device.read(SIE_STATUS) & (1 << 31 | 1 << 17) == 1 << 31


def test_a_stall_of_another_endpoint_needs_no_arming(device: DeviceOfRegisters) -> None:
    device.usb.memory.write(EP2_IN, 2, STALL)
    device.usb.memory.write(0x10, 4, 1 << 31 | 1 << 29 | 1 << 17 | 2 << 26 | 0x200)
    assert fetch(device) is Handshake.STALL
    assert device.read(STALL_NAK) == IN_BIT and device.read(INTR) & 1 << 19
    device.clear(STALL_NAK, IN_BIT)
    assert not device.read(INTR) & 1 << 19


def test_an_aborted_endpoint_answers_nak(device: DeviceOfRegisters) -> None:
    device.arm(0x80 | BULK_IN, b"abc")
    device.write(ABORT, IN_BIT)
    assert device.read(ABORT_DONE) == IN_BIT
    assert fetch(device) is Handshake.NAK
    device.write(ABORT, 0)
    assert fetch(device) == Packet(0, b"abc")


def test_the_last_buffer_completes_the_transfer(device: DeviceOfRegisters) -> None:
    device.usb.memory.write(EP2_OUT, 2, 64 | LAST)
    device.clock.wait_until(device.clock.now + 24_000)
    device.usb.memory.write(EP2_OUT, 2, 64 | LAST | AVAILABLE)
    assert send(device, Packet(0, b"x")) is Handshake.ACK
    assert device.read(SIE_STATUS) & 1 << 18 and device.read(INTR) & 1 << 3


# the cable


def test_a_bus_reset_changes_neither_address_nor_buffers(device: DeviceOfRegisters) -> None:
    device.write(0, 5)
    device.arm(0x80 | BULK_IN, b"old")
    device.usb.bus_reset(True, wire.FULL)
    assert device.read(SIE_STATUS) & 1 << 19 and device.read(INTR) & 1 << 12
    assert device.usb.token(Token.IN, 5, BULK_IN) is None  # during the reset
    device.usb.bus_reset(False, wire.FULL)
    assert device.usb.token(Token.SETUP, 0, 0) is None and device.usb.data(GET_STATUS) is None
    assert device.usb.token(Token.IN, 5, BULK_IN) == Packet(0, b"old")


def test_suspend_and_resume_are_states_and_latched_interrupts(device: DeviceOfRegisters, bus: Bus) -> None:
    device.write(0x4C, 1 << 29 | 1 << 16 | 1 << 12)
    assert bus.woken == 0  # nothing to wake
    device.usb.suspend(True)
    assert device.read(SIE_STATUS) & 1 << 4 and device.read(INTR) & 1 << 14
    device.clear(SIE_STATUS, 1 << 4)
    assert device.read(SIE_STATUS) & 1 << 4 and not device.read(INTR) & 1 << 14
    device.write(0x4C, 1 << 29 | 1 << 16 | 1 << 12)
    assert bus.woken == 1
    device.usb.suspend(False)
    assert device.read(SIE_STATUS) & (1 << 4 | 1 << 11) == 1 << 11 and device.read(INTR) & (1 << 14 | 1 << 15)


def test_sof_rd_shows_the_frame_and_clears_its_interrupt(device: DeviceOfRegisters, bus: Bus) -> None:
    bus.frames = 7
    assert device.read(INTR) & 1 << 17 and not device.usb.wants_frames
    assert device.read(0x48) == 7 and not device.read(INTR) & 1 << 17
    bus.frames = 8
    device.write(INTE, 1 << 17)
    device.usb.frame()
    assert device.usb.wants_frames and device.wires.level
    assert device.read(0x48) == 8 and not device.wires.level


def test_what_is_forced_interrupts(device: DeviceOfRegisters) -> None:
    device.write(0x94, 1 << 3)
    assert device.wires.level and device.read(0x98) == 1 << 3
    device.write(0x94, 0)
    assert not device.wires.level
