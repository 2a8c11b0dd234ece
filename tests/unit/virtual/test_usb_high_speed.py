"""The strict USB host at high speed: bus time, the choice of a speed, and what it asks a device about the other one."""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass, field

import pytest

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.usb import descriptors as d
from hil.standins.virtual.usb import wire
from hil.standins.virtual.usb.control import Unfit
from hil.standins.virtual.usb.host import UsbHost
from hil.standins.virtual.usb.steps import MS, BusReset, Pause, Program, Transaction
from hil.standins.virtual.usb.wire import FULL, HIGH, Handshake, Packet, Speed, Token, UsbBus

MICROFRAME = PS_PER_S // 8000


@dataclass
class Source:
    """A device that always has a full packet, and takes every packet; it notes when each transaction ends."""

    clock: Clock
    size: int = 512
    chirps: bool = True
    wants_frames: bool = False
    pulls_up: bool = True
    ends: list[int] = field(default_factory=list)
    resets: list[tuple[bool, Speed]] = field(default_factory=list)
    frames: list[tuple[int, int]] = field(default_factory=list)
    bus: UsbBus | None = None

    def connect(self, bus: UsbBus | None) -> None:
        self.bus = bus

    def token(self, kind: Token, address: int, endpoint: int) -> Packet | Handshake | None:
        return Packet(0, bytes(self.size)) if kind is Token.IN else None

    def data(self, packet: Packet) -> Handshake | None:
        self.ends.append(self.clock.now)
        return Handshake.ACK

    def handshake(self, acked: bool) -> None:
        self.ends.append(self.clock.now)

    def frame(self) -> None:
        assert self.bus is not None
        self.frames.append((self.bus.frame_number(), self.bus.microframe()))

    def bus_reset(self, on: bool, speed: Speed) -> None:
        self.resets.append((on, speed))

    def suspend(self, on: bool) -> None: ...


class Port:
    """A host with a device, after its reset."""

    def __init__(self, fastest: Speed = HIGH, **device: bool) -> None:
        self.clock = Clock(lambda: 0, 1_000_000)
        self.source = Source(self.clock, **device)  # type: ignore[arg-type]
        self.host = UsbHost(self.clock, self.source, lambda: None, lambda _on: None)
        self.host.fastest = fastest
        self.host.plug(True)

    def run(self, program: Program[None], ps: int = PS_PER_S) -> None:
        ended: list[bool] = []
        self.host.start(program, lambda: ended.append(True))
        end = self.clock.now + ps
        while not ended and (due := self.host.next_event()) is not None and due <= end:
            self.clock.wait_until(due)
            self.host.update(self.clock.now)


def stream(way: Token, size: int, count: int = 200) -> Program[None]:
    yield BusReset()
    yield Pause(10 * MS)
    for i in range(count):
        yield Transaction(way, 2, None if way is Token.IN else Packet(i % 2, bytes(size)))


@pytest.mark.parametrize("way", [Token.IN, Token.OUT])
def test_a_microframe_has_13_packets_of_512_bytes_and_none_crosses_its_end(way: Token) -> None:
    port = Port()
    port.run(stream(way, 512))
    assert port.host.speed is HIGH and port.source.resets == [(True, HIGH), (False, HIGH)]
    began, per_frame = port.host._began, {}  # type: ignore[var-annotated]
    for end in port.source.ends:
        begin = end - 567 * 8 * PS_PER_S // 480_000_000  # 55 bytes besides the data (USB 2.0, table 5-10)
        number = (begin - began) // MICROFRAME
        assert number == (end - 1 - began) // MICROFRAME
        per_frame[number] = per_frame.get(number, 0) + 1
    counts = list(per_frame.values())
    assert sum(counts) == 200 and max(counts) == 13 and set(counts[1:-1]) == {13}


@pytest.mark.parametrize(
    ("fastest", "chirps", "speed"), [(HIGH, True, HIGH), (FULL, True, FULL), (HIGH, False, FULL), (FULL, False, FULL)]
)
def test_the_bus_is_fast_only_if_both_ends_are(fastest: Speed, chirps: bool, speed: Speed) -> None:
    port = Port(fastest, chirps=chirps)
    port.run(stream(Token.IN, 64, 1))
    assert port.host.speed is speed and port.host.device_chirps == chirps


@pytest.mark.parametrize(("fastest", "count"), [(HIGH, 80), (FULL, 10)])
def test_frames_are_numbered_by_the_millisecond_and_microframes_in_them(fastest: Speed, count: int) -> None:
    port = Port(fastest, wants_frames=True)
    port.run(stream(Token.IN, 64, 0))
    port.source.frames.clear()
    first = port.host.frame_number() + 1
    port.run(waiting(10 * MS))
    told = [(number, micro) for number, micro in port.source.frames if first <= number < first + 9]
    wanted = [(first + i, micro) for i in range(9) for micro in range(8 if fastest is HIGH else 1)]
    assert told == wanted and abs(len(port.source.frames) - count) <= 8


def waiting(ps: int) -> Program[None]:
    yield Pause(ps)


@pytest.mark.parametrize(("interval", "periods"), [(1, 1), (4, 8), (8, 128)])
def test_an_interrupt_endpoint_at_high_speed_has_a_power_of_two(interval: int, periods: int) -> None:
    assert HIGH.period(interval) == periods and FULL.period(interval) == interval
    port = Port()

    def asked() -> Program[None]:
        yield from stream(Token.IN, 64, 0)
        for _ in range(5):
            yield Transaction(Token.IN, 1, frames=HIGH.period(interval))

    port.run(asked())
    numbers = [(end - port.host._began) // MICROFRAME for end in port.source.ends]
    assert [b - a for a, b in itertools.pairwise(numbers)] == [periods] * 4


def configuration(size: int, interval: int = 16, kind: int = d.CONFIGURATION) -> bytes:
    body = bytes([9, 4, 0, 0, 3, 0xFF, 0, 0, 0]) + struct.pack("<BBBBHB", 7, 5, 0x81, 3, 16, interval)
    body += struct.pack("<BBBBHB", 7, 5, 2, 2, size, 0) + struct.pack("<BBBBHB", 7, 5, 0x82, 2, size, 0)
    return struct.pack("<BBHBBBBB", 9, kind, 9 + len(body), 1, 1, 0, 0x80, 50) + body


@pytest.mark.parametrize("speed", [FULL, HIGH])
@pytest.mark.parametrize("size", [8, 63, 64, 511, 512, 513, 1024])
def test_bulk_packets_have_the_size_of_the_speed(speed: Speed, size: int) -> None:
    allowed = size == 512 if speed is HIGH else size in (8, 16, 32, 64)  # USB 2.0, 5.8.3
    if allowed:
        assert d.configuration(configuration(size), speed).interfaces[0].endpoints[1].max_packet == size
        return
    with pytest.raises(Unfit, match=f"packets of {size} bytes, at {speed.name} speed"):
        d.configuration(configuration(size), speed)


def test_an_interval_at_high_speed_is_an_exponent() -> None:
    d.configuration(configuration(64, 255), FULL)
    with pytest.raises(Unfit, match="bInterval 17"):
        d.configuration(configuration(512, 17), HIGH)


def test_endpoint_0_has_64_bytes_at_high_speed() -> None:
    d.check_size(8, FULL)
    with pytest.raises(Unfit, match="bMaxPacketSize0 is 8, not 64"):
        d.check_size(8, HIGH)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (bytes([10, 6, 0, 2, 0, 0, 0, 64, 1, 0]), ""), (bytes([10, 6, 0, 2, 0, 0, 0, 64, 1]), "has 10 bytes"),
        (bytes([10, 6, 0x10, 1, 0, 0, 0, 64, 1, 0]), "begins with 0a060002"), (bytes([10, 6, 0, 2, 0, 0, 0, 8, 1, 0]), "is 8, not 64"),
        (bytes([10, 6, 0, 2, 0, 0, 0, 64, 0, 0]), "ends with configurations"), (bytes([10, 6, 0, 2, 0, 0, 0, 64, 1, 1]), "and 00"),
    ],
)  # fmt: skip
def test_a_device_qualifier_is_checked(data: bytes, why: str) -> None:
    device = d.device_descriptor(struct.pack("<BBHBBBBHHHBBBB", 18, 1, 0x0200, 0, 0, 0, 64, 1, 2, 3, 0, 0, 0, 1), FULL)
    if not why:
        d.check_qualifier(data, device, HIGH)
        return
    with pytest.raises(Unfit, match=why):
        d.check_qualifier(data, device, HIGH)


def test_published_numbers_of_the_bus() -> None:
    assert wire.FRAME_PS == 8 * HIGH.frame_ps == FULL.frame_ps
    assert 13 * (512 + HIGH.overhead) + 129 == 7500 and 19 * (64 + FULL.overhead) + 37 == 1500  # tables 5-9 and 5-10
