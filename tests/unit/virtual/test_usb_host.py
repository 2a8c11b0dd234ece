"""The strict USB host with a device on the RP2040's controller: enumeration, bulk data, faults of a device, time."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.inject import parse_injection
from hil.standins.virtual.usb import control as c
from hil.standins.virtual.usb.bad_host import UsbFaults
from hil.standins.virtual.usb.control import Setup
from hil.standins.virtual.usb.enumeration import check_halt
from hil.standins.virtual.usb.steps import MS, BusReset, Fate, Pause, Program, Sleep, Transaction
from hil.standins.virtual.usb.wire import Handshake, Packet, Token

from .usb_device import BULK_IN, BULK_OUT, INTE, Computer, DeviceOfRegisters

PATTERN = bytes(i * 7 + (i >> 8) & 0xFF for i in range(40_000))


def plugged(device: DeviceOfRegisters | None = None, slow_ps: int = 0) -> Computer:
    """A computer with the device enumerated and its port open."""
    computer = Computer(device or DeviceOfRegisters(double=True), slow_ps)
    computer.device.start()
    computer.session.plug()
    computer.run()
    computer.terminal.is_open = True
    step(computer)
    return computer


def step(computer: Computer, ps: int = 10**13) -> None:
    computer.session.update(computer.device.clock.now)
    computer.run(ps)


def on_endpoint_0(computer: Computer, program: Program[None]) -> None:
    assert computer.session.port is not None
    computer.session.port.ask(program)
    step(computer)


# enumeration


def test_a_device_is_asked_as_real_hosts_do() -> None:
    computer = plugged()
    assert computer.session.complaints == []
    device = computer.session.device
    assert device is not None and device.strings == ("Maker", "Thing", "0123456789ABCDEF")
    assert device.address == 1 and computer.device.read(0) == 1
    requests = [(kind, request, value, length) for kind, request, value, _, length in computer.device.requests]
    beginning = [
        (0x80, 6, 0x100, 64), (0, 5, 1, 0), (0x80, 6, 0x100, 8), (0x80, 6, 0x100, 18), (0x80, 6, 0x600, 10),
        (0x80, 6, 0x200, 9), (0x80, 6, 0x200, len(computer.device.configuration)),
    ]  # fmt: skip
    assert requests[: len(beginning)] == beginning
    assert (0, 9, 1, 0) in requests
    assert computer.device.line[-1] == struct.pack("<IBBB", 115200, 0, 0, 8) and computer.device.states == [3]


def test_a_port_sends_no_frames_before_its_first_reset() -> None:
    computer = Computer(DeviceOfRegisters())
    computer.device.start()
    computer.session.plug()
    computer.run(2 * MS)
    assert not computer.device.read(0x50) & 1 << 4
    computer.run(4 * MS)
    assert computer.device.read(0x50) & 1 << 4
    computer.run()
    assert computer.session.device is not None and not computer.device.read(0x50) & 1 << 4


def test_a_port_that_is_closed_in_the_middle_of_a_packet_leaves_the_buffer_to_the_device() -> None:
    computer = plugged()
    device = computer.device
    device.send(PATTERN[:64])
    while device.usb.memory.in_use is None:
        computer.run(1_000_000)
        device.clock.wait_until(device.clock.now + 1_000_000)
        computer.session.update(device.clock.now)
    computer.terminal.is_open = False
    computer.session.update(device.clock.now)
    assert device.usb.memory.in_use is None or device.usb.memory.in_use[0] < 2  # but for a request of the host
    computer.terminal.is_open = True
    step(computer)
    assert computer.terminal.given == PATTERN[:64] and computer.session.complaints == []


def test_an_idle_bus_needs_no_event() -> None:
    assert plugged().session.next_event() is None


@pytest.mark.parametrize("length", [0, 1, 29, 30, 31, 61])
def test_strings_of_every_length_at_the_edge_of_a_packet(length: int) -> None:
    device = DeviceOfRegisters()
    device.strings[3] = "S" * (length or 62)
    computer = plugged(device)
    assert computer.session.complaints == []
    assert computer.session.device is not None and computer.session.device.strings[2] == device.strings[3]


def changed(at: int, *values: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + bytes(values) + data[at + len(values) :]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (changed(7, 12), "bMaxPacketSize0 is 12"), (changed(0, 17), "it has 18 bytes and begins with 12 01"),
        (changed(17, 0), "no configuration"), (changed(2, 0, 3), "bcdUSB is 0x0300"), (lambda data: data[:5], "gives 5"),
    ],
)  # fmt: skip
def test_wrong_device_descriptors(change: Callable[[bytes], bytes], why: str) -> None:
    device = DeviceOfRegisters()
    device.descriptor = change(device.descriptor)
    computer = plugged(device)
    assert why in computer.session.complaints[0] and computer.session.device is None
    assert len(computer.session.complaints) == 3 and "not enumerated after 3 tries" in computer.log[-1]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (changed(2, 66), "differs between two reads"), (changed(4, 3), "bNumInterfaces is 3"), (changed(5, 0), "bConfigurationValue"),
        (changed(7, 0x40), "bmAttributes of the configuration"), (changed(13, 2), "has 1 endpoints, not 2"),
        (changed(18, 0), "bLength 0"), (changed(39, 0x82), "two endpoints have one address"),
        (changed(57, 65), "packets of 65 bytes"), (changed(43, 0), "every 0 ms"), (changed(36, 2), "is no data interface"),
        (changed(35, 1), "is not that of its interface"), (changed(29, 9), "no abstract control management"),
        (changed(55, 0x83), "not one bulk endpoint each way"),
    ],
)  # fmt: skip
def test_wrong_configurations(change: Callable[[bytes], bytes], why: str) -> None:
    device = DeviceOfRegisters()
    device.configuration = change(device.configuration)
    computer = plugged(device)
    assert why in computer.session.complaints[0] and computer.session.port is None


@pytest.mark.parametrize(
    ("request_", "answer", "why"),
    [
        ((0x80, 6, 0x600), b"\x0a\x06" + bytes(8), "is not stalled"),
        ((0x80, 6, 0x3EE), b"\x04\x03??", "is not stalled"),
        ((0x80, 6, 0x300), b"\x02\x03", "string 0 is 0203"),
        ((0x80, 6, 0x302), b"\x05\x03abc", "string 2 is 0503616263"),
        ((0x80, 8, 0), b"\x02", "gives 02, not 00"),
        ((0x80, 0, 0), b"\xf0\x00", "GET_STATUS of the device gives f000"),
        ((0x82, 0, 0), b"\0\0", "gives 0000, not 0100"),
        ((0xA1, 0x21, 0), bytes(7), "GET_LINE_CODING gives 00000000000000"),
    ],
)
def test_wrong_answers(request_: tuple[int, int, int], answer: bytes, why: str) -> None:
    device = DeviceOfRegisters()
    device.answer = lambda packet: answer if struct.unpack("<BBH", packet[:4]) == request_ else None
    assert any(why in one for one in plugged(device).session.complaints)


def test_what_most_hosts_do_not_notice_is_told_and_the_device_still_used() -> None:
    device = DeviceOfRegisters()
    device.answer = lambda packet: b"\0\0" if packet == b"\x82\0\0\0\x8f\0\2\0" else None
    computer = plugged(device)
    assert len(computer.session.complaints) == 1 and "index 0x008F, length 2) is not stalled" in computer.log[0]
    assert computer.session.port is not None


def test_a_device_that_moves_to_its_address_before_the_status_is_not_enumerated() -> None:
    device = DeviceOfRegisters()
    act = device._act

    def at_once(kind: int, request: int, value: int, index: int) -> bool:
        if (kind, request) == (0, 5):
            device.write(0, value)
        return act(kind, request, value, index)

    device._act = at_once  # type: ignore[method-assign]
    computer = plugged(device)
    assert any("its status stage gets no answer, three times" in one for one in computer.session.complaints)


def test_a_device_that_keeps_its_address_in_a_reset_does_not_answer() -> None:
    device = DeviceOfRegisters()
    write = device.write
    device.write = lambda at, value: None if (at, value) == (0, 0) else write(at, value)  # type: ignore[method-assign]
    computer = plugged(device)
    computer.session.enumerate_again()
    step(computer)
    assert any("the setup packet gets no answer, three times" in one for one in computer.session.complaints)


def test_a_wrong_toggle_in_a_data_stage_is_told() -> None:
    device = DeviceOfRegisters()
    setup = device._setup

    def wrong(packet: bytes) -> None:
        arm = device.arm
        device.arm = lambda endpoint, data, half=0: (device.toggle.update({endpoint: 0}), arm(endpoint, data, half))[1]  # type: ignore[method-assign]
        setup(packet)
        device.arm = arm  # type: ignore[method-assign]

    device._setup = wrong  # type: ignore[method-assign]
    assert "the device sends DATA0 where DATA1 is due" in plugged(device).session.complaints[0]


# bulk data


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("slow_ps", [0, 3_000_000, 200_000_000])
def test_bytes_go_both_ways_whole_and_in_order(double: bool, slow_ps: int) -> None:
    computer = plugged(DeviceOfRegisters(double=double), slow_ps)
    computer.terminal.waiting += PATTERN
    computer.device.send(PATTERN[::-1])
    step(computer, 10**14)
    assert computer.device.received == PATTERN and computer.terminal.given == PATTERN[::-1]
    assert computer.session.complaints == []


@given(
    st.lists(
        st.tuples(st.integers(0, 300), st.integers(0, 300), st.booleans(), st.booleans(), st.integers(0, 3)),
        min_size=1, max_size=12,
    )
)  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_no_byte_is_lost_by_flow_control_halts_and_lost_handshakes(
    steps: list[tuple[int, int, bool, bool, int]],
) -> None:
    computer, at = plugged(), 0
    to_host, to_device = bytearray(), bytearray()
    for out, back, takes, room, event in steps:
        computer.device.takes, computer.terminal.room = takes, room
        computer.device.listen()
        to_device += PATTERN[at : at + out]
        computer.terminal.waiting += PATTERN[at : at + out]
        to_host += PATTERN[at : at + back]
        computer.device.send(PATTERN[at : at + back])
        at += 300
        step(computer, (1 + event) * MS // 7)
        if event == 1:
            computer.terminal.is_open = not computer.terminal.is_open
        elif event == 2:  # the device halts an endpoint between two transfers; the host clears it
            step(computer)
            if not computer.device.outgoing and not computer.device.in_flight:
                computer.device._halt(0x80 | BULK_IN, True)
    computer.device.takes = computer.terminal.room = computer.terminal.is_open = True
    computer.device.listen()
    step(computer, 10**14)
    assert computer.device.received == to_device and computer.terminal.given == to_host
    assert computer.session.complaints == []


def test_a_message_of_full_packets_is_heard_only_with_an_empty_one_behind_it() -> None:
    computer = plugged()
    computer.device.send(PATTERN[:64], flush=False)
    step(computer)
    assert computer.terminal.given == b""
    computer.device.send(b"", flush=True)
    computer.device.flush = True
    computer.device.pump()
    step(computer)
    assert computer.terminal.given == PATTERN[:64]


def test_nothing_is_read_while_nobody_has_the_port_open() -> None:
    computer = plugged()
    computer.terminal.is_open = False
    step(computer)
    computer.device.send(b"early")
    step(computer)
    assert computer.terminal.given == b"" and computer.device.states == [3, 0]
    computer.terminal.is_open = True
    step(computer)
    assert computer.terminal.given == b"early" and computer.device.states == [3, 0, 3]


def test_a_repeated_toggle_loses_the_packet_and_is_told() -> None:
    computer = plugged()
    computer.device.send(b"one")
    step(computer)
    computer.device.toggle[0x80 | BULK_IN] ^= 1
    computer.device.send(b"two")
    step(computer)
    assert computer.terminal.given == b"one"
    assert "takes it for a repetition and drops its 3 bytes" in computer.session.complaints[0]


def test_a_cleared_halt_begins_with_data0_again() -> None:
    computer = plugged()
    computer.device.send(b"one")
    step(computer)
    on_endpoint_0(computer, check_halt(64, 0x80 | BULK_IN))
    computer.session.port._toggle[Token.IN] = 0  # type: ignore[union-attr] # as the host does after its own request
    computer.device.send(b"two")
    step(computer)
    assert computer.terminal.given == b"onetwo" and computer.session.complaints == []


@pytest.mark.parametrize(
    ("notice", "complaints"),
    [
        (struct.pack("<BBHHHH", 0xA1, 0x20, 0, 0, 2, 3), 0), (struct.pack("<BBHHHH", 0xA1, 0x20, 0, 0, 3, 3), 1),
        (b"\xa1\x20", 1),
    ],
)  # fmt: skip
def test_notifications_are_checked(notice: bytes, complaints: int) -> None:
    computer = plugged()
    computer.device.arm(0x81, notice)
    step(computer)
    assert len(computer.session.complaints) == complaints


# time


def frames_of(computer: Computer, packets: int) -> list[int]:
    """Return the number of bulk packets of 64 bytes in each frame, and check that no transaction crosses its end."""
    ends: list[int] = []
    handshake = computer.device.usb.handshake

    def note(acked: bool) -> None:
        ends.append(computer.device.clock.now)
        handshake(acked)

    computer.device.usb.handshake = note  # type: ignore[method-assign]
    computer.device.send(bytes(64 * packets), flush=False)
    step(computer)
    began = computer.session.host._began
    per_frame: dict[int, int] = {}
    for end in ends:
        # Backwards from the published sizes: SYNC, PID, address and CRCs, gaps and data take 77 bytes at 12 Mbit/s.
        begin = end - 77 * 8 * PS_PER_S // 12_000_000
        assert (begin - began) // MS == (end - 1 - began) // MS
        per_frame[(end - 1 - began) // MS] = per_frame.get((end - 1 - began) // MS, 0) + 1
    return list(per_frame.values())


def test_a_frame_has_19_packets_of_64_bytes_at_most() -> None:
    counts = frames_of(plugged(), 400)
    assert max(counts) <= 19 and sum(counts) == 400  # USB 2.0, table 5-9
    assert all(count >= 17 for count in counts[1:-1])


@pytest.mark.parametrize("way", [Token.IN, Token.OUT])
def test_a_stream_has_more_than_500_kb_each_second(way: Token) -> None:
    computer = plugged()
    begin = computer.device.clock.now
    if way is Token.IN:
        computer.device.send(PATTERN)
    else:
        computer.terminal.waiting += PATTERN
    step(computer)
    seconds = (computer.device.clock.now - begin) / PS_PER_S
    assert 500_000 < len(PATTERN) / seconds <= 19 * 64 * 1000


def test_an_interrupt_endpoint_is_asked_no_more_often_than_its_interval() -> None:
    computer = plugged()
    computer.device.wires.level = False
    asked: list[int] = []
    token = computer.device.usb.token

    def note(kind: Token, address: int, endpoint: int) -> Packet | Handshake | None:
        if endpoint == 1:
            asked.append((computer.device.clock.now - computer.session.host._began) // MS)
        return token(kind, address, endpoint)

    computer.device.usb.token = note  # type: ignore[method-assign]
    for _ in range(6):
        computer.device.send(b"changes the device")
        step(computer)
        computer.device.clock.wait_until(computer.device.clock.now + 3 * MS)
    assert len(asked) > 1 and all(later - earlier >= 16 for earlier, later in itertools.pairwise(asked))


def test_a_device_that_wants_frames_gets_one_each_millisecond() -> None:
    computer = plugged()
    computer.device.write(INTE, computer.device.read(INTE) | 1 << 17)
    seen: list[int] = []
    service = computer.device.service

    def handler() -> None:
        seen.append(computer.device.read(0x48))
        service()

    computer.device.service = handler  # type: ignore[method-assign]
    step(computer, 50 * MS)
    assert 49 <= len(seen) <= 51 and all((b - a) % 2048 == 1 for a, b in itertools.pairwise(seen))


def test_a_bus_without_frames_suspends_the_device_after_3_ms_and_resumes_it() -> None:
    computer = plugged()
    device, states = computer.device, []
    suspend = device.usb.suspend

    def note(on: bool) -> None:
        states.append((on, device.clock.now))
        suspend(on)

    device.usb.suspend = note  # type: ignore[method-assign]
    begin = device.clock.now
    device.send(b"before")
    computer.session.host.start(sleeps(30 * MS))
    device.send(b"sleeping")
    step(computer)
    assert [on for on, _ in states] == [True, False]
    assert [(at - begin) // MS for _, at in states] == [3, 30]
    assert device.clock.now >= begin + 50 * MS  # nothing before the 20 ms of the resume are over
    assert computer.terminal.given == b"beforesleeping" and computer.session.complaints == []


def sleeps(ps: int) -> Program[None]:
    yield Sleep(ps)


def test_a_device_may_wake_the_host() -> None:
    computer = plugged()
    begin = computer.device.clock.now
    computer.session.host.start(sleeps(1000 * MS))
    computer.run(10 * MS)
    computer.device.write(0x4C, 1 << 29 | 1 << 16 | 1 << 12)
    computer.device.send(b"awake")
    step(computer)
    assert computer.terminal.given == b"awake" and computer.device.clock.now < begin + 100 * MS


def test_a_sleep_of_less_than_3_ms_is_not_seen() -> None:
    computer = plugged()
    computer.session.host.start(sleeps(2 * MS))
    step(computer)
    assert not computer.device.read(0x50) & 1 << 4


# the cable


def test_the_port_vanishes_and_comes_back() -> None:
    computer = plugged()
    computer.session.plug(False)
    step(computer)
    assert computer.vanished == 1 and computer.session.device is None and computer.session.next_event() is None
    computer.session.plug()
    step(computer)
    assert len(computer.appeared) == 2 and computer.session.device is not None
    computer.device.write(0x4C, 1 << 29)  # the device lets go of D+
    step(computer)
    assert computer.vanished == 2
    computer.device.write(0x4C, 1 << 29 | 1 << 16)
    step(computer)
    assert [device.address for device in computer.appeared] == [1, 2, 3]
    assert computer.session.complaints == []


def test_a_reset_in_the_middle_of_a_transfer_begins_anew() -> None:
    computer = plugged()
    computer.terminal.waiting += PATTERN
    computer.device.send(PATTERN)
    step(computer, 5 * MS)
    computer.session.enumerate_again()
    step(computer)
    assert computer.session.device is not None and computer.session.complaints == []
    computer.device.received.clear()
    computer.device.outgoing.clear()
    computer.terminal.given.clear()
    computer.terminal.waiting[:] = b"after"
    computer.device.send(b"behind")
    step(computer)
    assert computer.device.received.endswith(b"after") and computer.terminal.given.endswith(b"behind")


@pytest.mark.parametrize("how", ["cable", "pull-up"])
def test_a_device_that_goes_in_the_middle_of_a_packet_has_its_buffer_back(how: str) -> None:
    computer = plugged()
    device = computer.device
    device.send(PATTERN[:64])
    while device.usb.memory.in_use != (2 * BULK_IN, 0):
        device.clock.wait_until(device.clock.now + 1_000_000)
        computer.session.update(device.clock.now)
    if how == "cable":
        computer.session.plug(False)
    else:
        device.write(0x4C, 1 << 29)
        computer.session.update(device.clock.now)
    assert device.usb.memory.in_use is None and computer.vanished == 1


def test_time_that_is_over_in_the_middle_of_a_transaction_waits_for_its_end() -> None:
    computer = plugged()
    told: list[object] = []

    def ask() -> Program[None]:
        told.append((yield Transaction(Token.IN, BULK_IN, within_ps=3_000_000)))

    computer.session.host.start(ask())
    for _ in range(20):
        computer.device.clock.wait_until(computer.device.clock.now + 1_000_000)
        computer.session.update(computer.device.clock.now)
    assert told == [Fate.LATE]


def test_silence_is_three_tries() -> None:
    computer = plugged()
    told: list[object] = []

    def ask() -> Program[None]:
        told.append((yield Transaction(Token.IN, 9)))

    computer.session.host.start(ask())
    step(computer)
    assert told[0] is not None and "three times" in str(told[0].value)  # type: ignore[attr-defined]


def test_every_request_of_chapter_9_that_a_device_does_not_know_is_stalled_and_the_next_one_works() -> None:
    computer = plugged()
    seen: list[bool] = []

    def ask() -> Program[None]:
        for request in range(0x30, 0x40):
            for kind in (0x40, 0xC0):
                try:
                    if kind & 0x80:
                        yield from c.read(Setup(kind, request, length=4), 64)
                    else:
                        yield from c.write(Setup(kind, request), b"", 64)
                except c.Stalled:
                    seen.append((yield from c.read(Setup(0x80, 8, length=1), 64)) == b"\1")

    on_endpoint_0(computer, ask())
    assert seen == [True] * 32


def test_a_reset_ends_the_other_programs_of_the_host() -> None:
    computer = plugged()
    ended: list[str] = []

    def waits() -> Program[None]:
        try:
            yield Pause(1000 * MS)
        finally:
            ended.append("waits")

    def resets() -> Program[None]:
        yield BusReset()

    computer.session.host.start(waits())
    computer.session.host.start(resets())
    assert ended == ["waits"]


def test_an_out_packet_is_repeated_until_there_is_room() -> None:
    computer = plugged()
    device = computer.device
    device.takes = False
    computer.terminal.waiting += bytes(192)
    step(computer)
    assert len(device.received) == 128 and computer.session.host.naks > 0
    device.takes = True
    device.listen()
    step(computer)
    assert len(device.received) == 192 and BULK_OUT == 2


# a host that is not well


def roughly(device: DeviceOfRegisters) -> Computer:
    computer = Computer(device)
    computer.session.rough = 2
    device.start()
    computer.session.plug()
    computer.run(10**14)
    return computer


def test_a_device_survives_a_rough_host() -> None:
    computer = roughly(DeviceOfRegisters())
    assert computer.session.complaints == [] and computer.session.device is not None
    assert len([1 for _, request, *_ in computer.device.requests if request == 6]) > 40


def test_a_device_that_does_not_end_a_transfer_at_a_setup_does_not_survive_it() -> None:
    device = DeviceOfRegisters()
    stop = device._stop_ep0

    def only_the_host_s_data() -> None:
        if not device.half_of(0x80, 0) & 1 << 10:
            stop()

    device._stop_ep0 = only_the_host_s_data  # type: ignore[method-assign]
    try:
        assert roughly(device).session.complaints
    except ModelFault as fault:
        assert "while it is AVAILABLE" in str(fault)


def test_a_device_that_takes_its_address_without_the_status_stage_does_not_survive_it() -> None:
    device = DeviceOfRegisters()
    act = device._act

    def at_once(kind: int, request: int, value: int, index: int) -> bool:
        if (kind, request) == (0, 5):
            device.write(0, value)
        return act(kind, request, value, index)

    device._act = at_once  # type: ignore[method-assign]
    assert "gets no answer, three times" in roughly(device).session.complaints[0]


@pytest.mark.parametrize("every", [2, 3, 7, 20])
@pytest.mark.parametrize("double", [False, True])
def test_lost_packets_and_handshakes_lose_and_double_no_byte(every: int, double: bool) -> None:
    device = DeviceOfRegisters(double=double)
    computer = Computer(device)
    computer.session.host.loses_every = every
    device.start()
    computer.session.plug()
    computer.run(10**14)
    computer.terminal.is_open = True
    step(computer)
    computer.terminal.waiting += PATTERN[:6000]
    device.send(PATTERN[:6001])
    step(computer, 10**14)
    assert device.received == PATTERN[:6000] and computer.terminal.given == PATTERN[:6001]
    assert computer.session.complaints == []
    errors = device.read(0x50)
    assert errors & 1 << 31  # it got a packet twice
    assert errors & 1 << 27 or every % 2 == 0  # and no acknowledgement; packets of both ways take turns


@pytest.mark.parametrize("spec", ["usb_reset:3000", "usb_unplug:3000:0.5", "usb_suspend:3000:0.1"])
def test_injected_faults_of_the_cable_come_once_and_after_so_many_bytes(spec: str) -> None:
    computer = plugged()
    log: list[str] = []
    faults = UsbFaults(computer.session, computer.device.clock, [parse_injection(spec)], log.append)
    update, upcoming = computer.session.update, computer.session.next_event

    def both(now: int) -> None:
        faults.update(now)
        update(now)

    computer.session.update = both  # type: ignore[method-assign]
    computer.session.next_event = lambda: min(  # type: ignore[method-assign]
        (at for at in (upcoming(), faults.next_event()) if at is not None), default=None
    )
    computer.device.send(PATTERN)
    step(computer, 10**14)
    assert log == [f"injected: {spec.split(':')[0]} after 3000 bytes"]
    assert computer.session.device is not None and computer.session.complaints == []
    if spec.startswith("usb_suspend"):
        assert computer.terminal.given == PATTERN and computer.vanished == 0
    else:
        assert len(computer.appeared) == 2 and PATTERN.startswith(bytes(computer.terminal.given[:1500]))
