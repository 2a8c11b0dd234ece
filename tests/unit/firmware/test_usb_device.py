"""The USB device of the firmware (firmware/ports/usb) under a strict host: control transfers, the serial port, and which port the agent answers on."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from usb_host import (
    ACK,
    DEVICES,
    FROM_HOST,
    NAK,
    NOTICES,
    PACKET,
    SILENT,
    STALL,
    TO_HOST,
    Device,
    Stalled,
    UsbHost,
)

from hil import boards
from hil.boards.catalogue import UsbPort
from tests.built_once import built_once

FAST = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
DEVICE, CONFIGURATION, STRING = 0x0100, 0x0200, 0x0300
RING = 4096


@pytest.fixture(scope="session", params=DEVICES, ids=lambda one: one.board)
def device(request: pytest.FixtureRequest) -> Device:
    """Over a simple controller, with what a Pico says of itself; over the driver of i.MX RT1062, at full speed."""
    return request.param


@pytest.fixture(scope="session")
def usb_program(tmp_path_factory: pytest.TempPathFactory, device: Device) -> Path:
    return built_once(tmp_path_factory, f"usb-program-{device.board}", device.build)


@pytest.fixture
def host(usb_program: Path) -> Iterator[UsbHost]:
    running = UsbHost(usb_program)
    running.enumerate()
    yield running
    running.close()


def descriptors(data: bytes) -> list[bytes]:
    """Take a configuration apart by the lengths in it."""
    parts = []
    while data:
        assert 2 <= data[0] <= len(data)
        parts, data = [*parts, data[: data[0]]], data[data[0] :]
    return parts


def text(host: UsbHost, index: int) -> str:
    data = host.get(0x00, 6, STRING | index, 0x0409)
    assert data[:2] == bytes([len(data), 3])
    return data[2:].decode("utf-16-le")


def test_the_device_says_what_it_is(host: UsbHost, device: Device) -> None:
    """USB 2.0, table 9-8: length, type, USB 2.0, a communications device, 64 bytes at the control endpoint."""
    said = host.get(0x00, 6, DEVICE)
    assert len(said) == said[0] == 18 and said[1] == 1 and said[2:4] == b"\x00\x02" and said[7] == PACKET
    vendor, product = struct.unpack_from("<HH", said, 8)
    assert boards.load(device.board).usb_port == UsbPort(vendor, product, text(host, said[15]), device.baud), (
        "by which the rig knows it"
    )
    assert [text(host, index) for index in said[14:17]] == ["trainrig", "trainrig agent", device.number]
    assert host.get(0x00, 6, STRING) == b"\x04\x03\x09\x04"


def test_the_configuration_is_a_serial_port_of_two_interfaces(host: UsbHost) -> None:
    """CDC 1.2, 5.2.3: header first, a union that names both interfaces; table 9-13: the endpoints."""
    whole = host.get(0x00, 6, CONFIGURATION)
    first, *rest = descriptors(whole)
    assert struct.unpack("<BBHBB", first[:6]) == (9, 2, len(whole), 2, 1)
    interfaces = [one for one in rest if one[1] == 4]
    assert [(one[2], one[4], one[5]) for one in interfaces] == [(0, 1, 2), (1, 2, 10)]
    functional = [one for one in rest if one[1] == 0x24]
    assert functional[0][2] == 0 and [0x24, 6, 0, 1] in [list(one[1:]) for one in functional]
    ends = {one[2]: (one[3] & 3, struct.unpack_from("<H", one, 4)[0]) for one in rest if one[1] == 5}
    assert ends == {NOTICES: (3, 8), FROM_HOST: (2, 64), TO_HOST: (2, 64)}


@given(length=st.integers(1, 300), which=st.sampled_from([DEVICE, CONFIGURATION, STRING, STRING | 2]))
@FAST
def test_a_descriptor_is_cut_where_the_host_wants_no_more(usb_program: Path, length: int, which: int) -> None:
    host = UsbHost(usb_program)
    host.enumerate()
    assert host.get(0x00, 6, which, 0, length) == host.get(0x00, 6, which, 0, 0xFFFF)[:length]
    host.close()


@pytest.mark.parametrize(
    ("kind", "request_", "value", "index"),
    [
        (0x00, 6, 0x0601, 0), (0x00, 6, 0x0701, 0), (0x00, 6, 0x0800, 0), (0x00, 6, DEVICE | 1, 0), (0x00, 6, STRING | 4, 0), (0x00, 7, 0, 0), (0x40, 0, 0, 0),
        (0x02, 0, 0, 0x83), (0x01, 0, 0, 2), (0x01, 10, 0, 2), (0x21, 0x21, 0, 7), (0x02, 12, 0, 0x82),
    ],
)  # fmt: skip
def test_what_it_does_not_have_is_stalled(host: UsbHost, kind: int, request_: int, value: int, index: int) -> None:
    with pytest.raises(Stalled):
        host.get(kind, request_, value, index)
    assert host.get(0x00, 8) == b"\x01", "the next request is answered"


@pytest.mark.parametrize(
    ("kind", "request_", "value", "index"),
    [(0x00, 5, 128, 0), (0x00, 5, 6, 0), (0x00, 9, 2, 0), (0x00, 3, 1, 0), (0x01, 11, 1, 0), (0x02, 3, 0, 0x83), (0x21, 0x22, 1, 1), (0x21, 0x23, 0, 0)],
)  # fmt: skip
def test_what_it_cannot_do_is_stalled(host: UsbHost, kind: int, request_: int, value: int, index: int) -> None:
    with pytest.raises(Stalled):
        host.order(kind, request_, value, index)
    assert host.address == 5 and host.get(0x00, 8) == b"\x01"


def test_the_address_counts_from_the_end_of_the_status_stage_on(host: UsbHost) -> None:
    """USB 2.0, 9.4.6. A SETUP that comes before it takes the address back."""
    host.do("R")
    host.setup(0x00, 5, 9)
    assert host.address == 0
    host.order(0x02, 1, 0, 0x80)  # nothing is halted there, and that is fine
    assert host.address == 0
    host.setup(0x00, 5, 7)
    host.acknowledged()
    assert host.address == 7
    host.do("R")
    assert host.address == 0


def test_without_a_configuration_there_is_no_serial_port(host: UsbHost) -> None:
    host.order(0x00, 9, 0)
    assert host.get(0x00, 8) == b"\0"
    assert host.write(b"x") == SILENT and host.do("I", TO_HOST)[0] == SILENT
    with pytest.raises(Stalled):
        host.coding(9600)
    host.do("R")
    with pytest.raises(Stalled):
        host.order(0x00, 9, 1)  # it has no address yet (9.4.7)


def test_only_a_device_of_two_speeds_tells_of_the_other_one(host: UsbHost, device: Device) -> None:
    """USB 2.0, 9.6.2 and 9.6.4: one of full speed only has to refuse."""
    for kind in (6, 7):
        if device.board == "rp2040":
            with pytest.raises(Stalled):
                host.get(0x00, 6, kind << 8)
        else:
            assert host.get(0x00, 6, kind << 8)[1] == kind


@pytest.mark.parametrize("packets", [0, 1])
def test_the_host_may_end_an_answer_early(host: UsbHost, packets: int) -> None:
    """USB 2.0, 8.5.3.1: the status stage may come at any time of the data stage."""
    host.setup(0x80, 6, CONFIGURATION, 0, 75)
    assert len(host.read_answer(75, packets)) == PACKET * packets
    assert host.get(0x00, 8) == b"\x01"


def test_a_line_coding_is_kept_and_told(host: UsbHost) -> None:
    coding = struct.pack("<IBBB", 921_600, 2, 1, 7)
    host.order(0x21, 0x20, data=coding)
    assert host.get(0x21, 0x21) == coding
    host.setup(0x21, 0x20, 0, 0, 7)
    assert host.do("1", 0x00, coding[:6])[0] == ACK
    with pytest.raises(Stalled):
        host.acknowledged()  # one byte is missing
    assert host.get(0x21, 0x21) == coding


SETUPS = st.one_of(
    st.binary(min_size=8, max_size=8),
    st.builds(
        lambda kind, request, value, index, length: struct.pack("<BBHHH", kind, request, value, index, length),
        st.sampled_from([0x00, 0x01, 0x02, 0x21, 0x80, 0x81, 0x82, 0xA1]), st.integers(0, 0x24),
        st.sampled_from([0, 1, 2, 5, 0x100, 0x200, 0x301, 0x302, 0x303]), st.sampled_from([0, 1, 2, 0x81, 0x82]),
        st.sampled_from([0, 1, 7, 18, 64, 75, 255]),
    ),
)  # fmt: skip
TOKENS = st.lists(
    st.one_of(
        st.tuples(st.just("S"), st.just(0), SETUPS), st.tuples(st.sampled_from("Ii"), st.sampled_from([0x80, 0x81, 0x82]), st.just(b"")),
        st.tuples(st.sampled_from("01"), st.sampled_from([0x00, 0x02]), st.binary(max_size=64)),
        st.tuples(st.sampled_from("RZ"), st.just(0), st.just(b"")), st.tuples(st.just("U"), st.just(0), st.binary(max_size=9)),
        st.tuples(st.just("r"), st.integers(0, 255), st.just(b"")), st.tuples(st.just("W"), st.just(0), st.binary(max_size=20)),
    ),
    max_size=60,
)  # fmt: skip


@given(TOKENS)
@settings(FAST, max_examples=300)
def test_whatever_a_host_does_a_reset_makes_it_a_good_device_again(
    usb_program: Path, tokens: list[tuple[str, int, bytes]]
) -> None:
    """The sanitizers and the controller's own demands watch meanwhile."""
    host = UsbHost(usb_program)
    for token in tokens:
        host.do(*token)
    host.enumerate()
    host.agent_reads_all()
    host.read_transfer()
    assert host.write(b"hello") == ACK and host.agent_reads_all() == b"hello"
    host.agent_writes(b"there")
    assert host.read_transfer().endswith(b"there")
    host.close()


@given(st.lists(st.one_of(st.binary(max_size=64), st.integers(0, 255)), max_size=150), st.integers(0, 300))
@FAST
def test_no_byte_is_lost_whatever_the_agent_reads(usb_program: Path, actions: list[bytes | int], ahead: int) -> None:
    """Packets from the host (bytes) and reads of the agent (a number), in any order; `ahead`: packets before them."""
    host = UsbHost(usb_program)
    host.enumerate()
    sent, read = b"", b""
    for action in [*[bytes([n % 251]) * PACKET for n in range(ahead)], *actions]:
        if isinstance(action, int):
            read += host.agent_reads(action)
        elif (kind := host.write(action)) == ACK:
            sent += action
        else:
            assert kind == NAK and len(sent) - len(read) > RING - PACKET, "it refuses only what has no room"
    assert read + host.agent_reads_all() == sent
    assert host.write(b"more") == ACK
    host.close()


COUNTS = st.one_of(st.integers(0, 200), st.sampled_from([PACKET, 2 * PACKET]))


@given(st.lists(st.tuples(COUNTS, st.booleans(), st.booleans()), max_size=25))
@FAST
def test_what_the_agent_writes_arrives_and_each_transfer_ends(
    usb_program: Path, actions: list[tuple[int, bool, bool]]
) -> None:
    """Bytes to write, whether the host then reads, and whether the ACK of its first packet is lost."""
    host = UsbHost(usb_program)
    host.enumerate()
    assert host.write(b"?") == ACK
    wrote, got, ends = b"", b"", True
    for n, reads, lost in actions:
        data = bytes((len(wrote) + i) % 256 for i in range(n))
        if len(wrote) - len(got) + n > 2000:
            continue
        host.agent_writes(data)
        wrote += data
        if reads:
            first = host.read(lost=True) if lost else None
            part = host.read()
            assert not lost or part == first
            if part is not None:
                got, ends = got + part, len(part) < PACKET
    while (part := host.read()) is not None:
        got, ends = got + part, len(part) < PACKET
    assert got == wrote and ends, "a full packet is followed by one that is not, if only an empty one"
    host.close()


@pytest.mark.parametrize("n", [1, 63, 64, 65, 128, 1024])
def test_a_transfer_ends_with_a_packet_that_is_not_full(host: UsbHost, n: int) -> None:
    """USB 2.0, 5.8.3: else the host waits for more."""
    host.write(b"?")
    host.agent_writes(bytes(n))
    assert [len(host.read() or b"") for _ in range(n // PACKET + 1)] == [PACKET] * (n // PACKET) + [n % PACKET]
    assert host.read() is None


@pytest.mark.parametrize("endpoint", [TO_HOST, FROM_HOST])
def test_a_halt_costs_nothing_and_ends_with_data0(host: UsbHost, endpoint: int) -> None:
    """USB 2.0, 9.4.5: the halt is told, and clearing it resets the toggle; also where there was none."""
    assert host.write(b"abc") == ACK
    host.agent_writes(b"first")
    host.order(0x02, 3, 0, endpoint)
    assert host.get(0x02, 0, 0, endpoint) == b"\x01\x00"
    if endpoint == TO_HOST:
        with pytest.raises(Stalled):
            host.read()
    else:
        assert host.write(b"no") == STALL
    host.agent_writes(b" second")
    for _ in range(2):
        host.clear_halt(endpoint)
    assert host.get(0x02, 0, 0, endpoint) == b"\x00\x00"
    assert host.write(b"def") == ACK
    assert host.agent_reads_all() == b"abcdef"
    assert host.read() == b"first" and host.read() == b" second"


def test_the_agent_answers_where_it_was_asked(host: UsbHost) -> None:
    host.agent_writes(b"nobody has spoken")
    assert host.uart_sent() == b"nobody has spoken" and host.read() is None
    host.write(b"usb")
    host.agent_writes(b"to usb")
    assert host.read() == b"to usb"
    host.uart_brings(b"uart")
    host.agent_writes(b"to the uart")
    assert host.uart_sent() == b"to the uart" and host.read() is None
    assert host.agent_reads_all() == b"usbuart"


@pytest.mark.parametrize("leaves", ["closes", "sleeps", "resets", "deconfigures"])
def test_a_host_that_leaves_gives_the_line_back_and_holds_nothing_up(host: UsbHost, leaves: str) -> None:
    """The queue of 2,048 bytes would otherwise fill, and the agent wait for ever: the harness aborts then."""
    host.write(b"usb")
    host.agent_writes(bytes(2000))
    {
        "closes": lambda: host.lines(0), "sleeps": lambda: host.do("Z"), "resets": lambda: host.do("R"),
        "deconfigures": lambda: host.order(0x00, 9, 0),
    }[leaves]()  # fmt: skip
    for _ in range(4):
        host.agent_writes(bytes(2000))
    assert len(host.uart_sent()) >= 8000


def test_a_zero_length_packet_from_the_host_says_nothing(host: UsbHost) -> None:
    assert host.write(b"") == ACK
    host.agent_writes(b"to the uart")
    assert host.uart_sent() == b"to the uart"


def test_a_rate_and_a_closed_port_start_the_boot_loader(host: UsbHost, device: Device) -> None:
    host.coding(device.baud)
    assert host.boots == 0, "DTR is high"
    host.setup(0x21, 0x22, 0)
    assert host.boots == 0, "the host does not know yet that its request was taken"
    host.acknowledged()
    assert host.boots == 1


def test_the_rate_on_a_closed_port_starts_it_too(host: UsbHost, device: Device) -> None:
    host.lines(0)
    assert host.boots == 0
    host.coding(device.baud)
    assert host.boots == 1


@pytest.mark.parametrize("off", [-1, 1, 8400, 115_200, 1 << 8, 1 << 16, 1 << 24])
def test_no_other_rate_starts_it(host: UsbHost, device: Device, off: int) -> None:
    host.coding(device.baud + off)
    host.lines(0)
    assert host.boots == 0


def test_a_new_enumeration_forgets_the_rate(host: UsbHost, device: Device) -> None:
    host.coding(device.baud)
    host.do("R")
    host.order(0x00, 5, 4)
    host.order(0x00, 9, 1)
    host.lines(0)
    assert host.boots == 0
