"""The USB driver of i.MX RT1062 over a model of its controller: high speed, the cable, resets and SETUP packets that come at bad moments."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from usb_host import ACK, FAST_PACKET, FROM_HOST, NAK, TO_HOST, UsbHost, build_chipidea

from tests.built_once import built_once

FAST = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
AHEAD = 4  # packets that the controller takes without the program
RING = 8192
CONFIGURATION, OTHER_SPEED = 0x0200, 0x0700


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_once(tmp_path_factory, "usb-program-imxrt1062", build_chipidea)


@pytest.fixture
def host(program: Path) -> Iterator[UsbHost]:
    running = UsbHost(program, FAST_PACKET)
    running.enumerate()
    yield running
    running.close()


def packets(configuration: bytes) -> dict[int, tuple[int, int]]:
    """Return bytes of a packet and interval of each endpoint."""
    found = {}
    while configuration:
        if configuration[1] == 5:
            found[configuration[2]] = struct.unpack_from("<HB", configuration, 4)
        configuration = configuration[configuration[0] :]
    return found


def test_at_high_speed_bulk_packets_have_512_bytes(host: UsbHost) -> None:
    """USB 2.0, 5.8.3; 9.6.6: the interval of an interrupt endpoint is 1 to 16 there, an exponent."""
    said = packets(host.get(0x00, 6, CONFIGURATION))
    assert said == {0x81: (8, 16), FROM_HOST: (512, 0), TO_HOST: (512, 0)}


@pytest.mark.parametrize("speed", [0, 1])
def test_the_other_speed_is_told_as_it_would_be(host: UsbHost, speed: int) -> None:
    """USB 2.0, 9.6.2 and 9.6.4: what is said as the other speed at one speed is said as the present one at the other."""
    host.do("F", speed)
    host.enumerate()
    here, there = host.get(0x00, 6, CONFIGURATION), host.get(0x00, 6, OTHER_SPEED)
    qualifier = host.get(0x00, 6, 0x0600)
    assert qualifier == bytes([10, 6, 0, 2, 2, 0, 0, 64, 1, 0])
    host.do("F", 1 - speed)
    host.enumerate()
    assert host.get(0x00, 6, CONFIGURATION)[2:] == there[2:]
    assert host.get(0x00, 6, OTHER_SPEED)[2:] == here[2:]


@given(st.lists(st.one_of(st.binary(max_size=512), st.integers(0, 255)), max_size=60), st.integers(0, 30))
@FAST
def test_no_byte_is_lost_at_high_speed(program: Path, actions: list[bytes | int], ahead: int) -> None:
    host = UsbHost(program, FAST_PACKET)
    host.enumerate()
    sent, read = b"", b""
    for action in [*[bytes([n % 251]) * FAST_PACKET for n in range(ahead)], *actions]:
        if isinstance(action, int):
            read += host.agent_reads(action)
        elif (kind := host.write(action)) == ACK:
            sent += action
        else:
            assert kind == NAK and len(sent) - len(read) > RING - FAST_PACKET, "it refuses only what has no room"
    assert read + host.agent_reads_all() == sent
    assert host.write(b"more") == ACK and host.agent_reads_all() == b"more"
    host.close()


@pytest.mark.parametrize("n", [1, 511, 512, 513, 1024, 2047, 2048])
def test_a_transfer_ends_with_a_packet_that_is_not_full(host: UsbHost, n: int) -> None:
    host.write(b"?")
    data = bytes(i % 251 for i in range(n))
    host.agent_writes(data)
    assert host.read_transfer() == data and host.read() is None


@pytest.mark.parametrize("read_before", [0, 1, 2, 3])
def test_a_halt_in_the_middle_of_four_packets_neither_loses_nor_repeats_one(host: UsbHost, read_before: int) -> None:
    host.write(b"?")
    data = bytes(i // 8 % 256 for i in range(2048))
    host.agent_writes(data)
    got = b"".join(host.read() or b"" for _ in range(read_before))
    host.order(0x02, 3, 0, TO_HOST)
    host.clear_halt(TO_HOST)
    assert got + host.read_transfer() == data


def test_packets_are_taken_ahead_of_the_program(host: UsbHost) -> None:
    """So the host need not wait for the handler: the ring is full, and still some are taken, in order."""
    count = 0
    while host.write(bytes([count]) * FAST_PACKET) == ACK:
        count += 1
    assert RING // FAST_PACKET < count <= RING // FAST_PACKET + AHEAD
    assert host.agent_reads_all() == b"".join(bytes([i]) * FAST_PACKET for i in range(count))


def test_the_cable_puts_the_device_on_the_bus_and_takes_it_off(host: UsbHost) -> None:
    host.write(b"usb")
    host.agent_writes(bytes(2000))
    host.do("C", 0)
    host.do("P", 0)
    for _ in range(3):
        host.agent_writes(bytes(2000))  # the line is the UART's: nothing waits for a host that is gone
    assert len(host.uart_sent()) >= 6000
    host.do("C", 1)
    host.do("P", 1)
    host.enumerate()
    assert host.agent_reads_all() == b"usb"
    assert host.write(b"back") == ACK and host.agent_reads_all() == b"back"


def test_a_reset_that_is_over_too_soon_restarts_the_controller(host: UsbHost) -> None:
    """Its state would be undefined; the model demands the set-up anew, heads and mode and all."""
    host.write(b"x")
    host.do("L")
    host.do("R")
    host.do("P", 1)
    host.enumerate()
    assert host.write(b"y") == ACK and host.agent_reads_all() == b"xy"


def test_a_reset_in_the_middle_of_transfers_leaves_nothing_of_them(host: UsbHost) -> None:
    host.write(b"usb")
    host.agent_writes(bytes(range(256)) * 8)
    assert host.read() is not None
    host.setup(0x80, 6, CONFIGURATION, 0, 255)
    host.enumerate()
    assert host.read() is None
    host.write(b"!")
    host.agent_writes(b"new")
    assert host.read_transfer() == b"new"


def test_a_setup_that_another_one_overtakes_is_never_carried_out(host: UsbHost) -> None:
    """The second is carried out, once: its answer begins at its beginning."""
    host.do("s", 0, struct.pack("<BBHHH", 0x00, 9, 0, 0, 0) + struct.pack("<BBHHH", 0x80, 8, 0, 0, 1))
    assert host.read_answer(1) == b"\x01", "still configured"


def test_a_flush_that_meets_a_packet_is_repeated(host: UsbHost) -> None:
    """The model demands that nothing is primed twice."""
    host.setup(0x80, 6, CONFIGURATION, 0, 255)
    host.do("X")
    assert host.get(0x00, 8) == b"\x01"


def test_a_new_setup_takes_back_what_the_last_one_would_have_sent(host: UsbHost) -> None:
    host.setup(0x80, 6, CONFIGURATION, 0, 255)
    assert host.get(0x00, 8) == b"\x01"
