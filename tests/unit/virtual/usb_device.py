"""A USB CDC ACM device in Python on the registers of the virtual RP2040's controller: what firmware does, without a core.

Written from the RP2040 data sheet, 4.1, and USB 2.0, chapter 9; it shares nothing with the model but addresses.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.rp2040.usb import UsbController, UsbWiring
from hil.standins.virtual.usb.enumeration import Device
from hil.standins.virtual.usb.session import UsbSession

CLEAR = 0x3000
SYS_HZ = 125_000_000
ADDR, MAIN, SIE_CTRL, SIE_STATUS, BUFF_STATUS, SHOULD, ABORT, ABORT_DONE, ARM, MUXING, PWR, INTE, INTS = (
    0x00, 0x40, 0x4C, 0x50, 0x58, 0x5C, 0x60, 0x64, 0x68, 0x74, 0x78, 0x90, 0x98,
)  # fmt: skip
BULK_OUT, BULK_IN, NOTICE_IN = 2, 2, 1  # endpoint numbers
OUT_BUFFER, IN_BUFFER, NOTICE_BUFFER = 0x180, 0x200, 0x280
DEVICE = struct.pack("<BBHBBBBHHHBBBB", 18, 1, 0x0200, 2, 0, 0, 64, 0x1209, 0x0001, 0x0100, 1, 2, 3, 1)
STRINGS = {1: "Maker", 2: "Thing", 3: "0123456789ABCDEF"}


def configuration() -> bytes:
    body = bytes([9, 4, 0, 0, 1, 2, 2, 0, 0])
    body += bytes([5, 0x24, 0, 0x20, 1, 5, 0x24, 1, 0, 1, 4, 0x24, 2, 2, 5, 0x24, 6, 0, 1])
    body += struct.pack("<BBBBHB", 7, 5, 0x80 | NOTICE_IN, 3, 16, 16)
    body += bytes([9, 4, 1, 0, 2, 10, 0, 0, 0])
    body += struct.pack("<BBBBHB", 7, 5, BULK_OUT, 2, 64, 0) + struct.pack("<BBBBHB", 7, 5, 0x80 | BULK_IN, 2, 64, 0)
    return struct.pack("<BBHBBBBB", 9, 2, 9 + len(body), 2, 1, 0, 0x80, 50) + body


@dataclass
class Wires:
    """What the chip gives to the controller."""

    level: bool = False
    usb_hz: int = 48_000_000
    powered: bool = True
    now: int = 0  # virtual time


@dataclass
class DeviceOfRegisters:
    """The device: `service` is its interrupt handler, `send` queues bytes for the host, `received` has those from it."""

    received: bytearray = field(default_factory=bytearray)
    requests: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    double: bool = False
    takes: bool = True  # whether it takes data from the host
    answer: Callable[[bytes], bytes | None] | None = None  # before its own answers: to a setup packet

    def __post_init__(self) -> None:
        self.wires = Wires()
        self.clock = Clock(lambda: 0, SYS_HZ)
        self.usb = UsbController(
            UsbWiring(
                lambda: self.wires.usb_hz,
                lambda: 24_000,
                lambda _address, _latest: self.clock.now,
                self._drive,
                lambda: self.wires.powered,
                lambda _there: None,
            )
        )
        self.configuration, self.descriptor, self.strings = configuration(), DEVICE, dict(STRINGS)
        self.line: list[bytes] = []  # line codings
        self.coding = bytes(7)
        self.states: list[int] = []
        self.outgoing = bytearray()
        self.flush = False  # whether a packet without bytes is due
        self.wait: Callable[[], None] = lambda: None  # lets bus time pass
        self._forget()

    def _drive(self, level: bool) -> None:
        self.wires.level = level

    def _forget(self) -> None:
        self.address: int | None = None
        self.configured = 0
        self.halted: set[int] = set()
        self.toggle = dict.fromkeys((0x00, 0x80, BULK_OUT, 0x80 | BULK_IN, 0x80 | NOTICE_IN), 0)
        self.control_in = b""
        self.in_stage = ""
        self.next_half = {BULK_OUT: 0, 0x80 | BULK_IN: 0}
        self.fresh = {BULK_OUT, 0x80 | BULK_IN}  # their next buffer is the first again, with bit 12 of its control
        self.in_flight = self.out_given = 0
        self.out_setup = b""

    # registers

    def write(self, offset: int, value: int) -> None:
        self.usb.write(offset, 4, value)

    def read(self, offset: int) -> int:
        return self.usb.read(offset, 4)

    def clear(self, offset: int, bits: int) -> None:
        self.usb.change(offset, lambda old, mask: old & ~mask, bits)

    def start(self) -> None:
        """Set the controller up, and pull D+ up."""
        ram = self.usb.memory
        for at in range(0, 0x1000, 4):
            ram.write(at, 4, 0)
        self.write(MUXING, 9)
        self.write(PWR, 0xC)
        self.write(MAIN, 1)
        self.write(SIE_CTRL, 1 << 29)
        self.write(INTE, 1 << 4 | 1 << 12 | 1 << 16)
        self.write(SIE_CTRL, 1 << 29 | 1 << 16)

    def buffer(self, endpoint: int, half: int = 0) -> int:
        place = {0x00: 0x100, 0x80: 0x100, BULK_OUT: OUT_BUFFER, 0x80 | BULK_IN: IN_BUFFER}
        return place.get(endpoint, NOTICE_BUFFER) + 64 * half

    @staticmethod
    def control_at(endpoint: int) -> int:
        return 0x80 + 8 * (endpoint & 0xF) + (0 if endpoint & 0x80 else 4)

    def arm(self, endpoint: int, data: bytes | int, half: int = 0) -> None:
        """Give a buffer to the controller: bytes for the host, or room for so many from it."""
        at = self.control_at(endpoint) + 2 * half
        bits = len(data) | 1 << 15 if isinstance(data, bytes) else data
        bits |= self.toggle[endpoint] << 13 | (1 << 12 if endpoint in self.fresh else 0)
        self.fresh.discard(endpoint)
        self.toggle[endpoint] ^= 1
        if isinstance(data, bytes):
            for i, byte in enumerate(data):
                self.usb.memory.write(self.buffer(endpoint, half) + i, 1, byte)
        self.usb.memory.write(at, 2, bits)
        self.clock.wait_until(self.clock.now + 24_000)
        self.usb.memory.write(at, 2, bits | 1 << 10)

    def half_of(self, endpoint: int, half: int) -> int:
        return self.usb.memory.read(self.control_at(endpoint) + 2 * half, 2)

    # the handler

    def service(self) -> None:
        ints = self.read(INTS)
        if ints & 1 << 12:
            self.clear(SIE_STATUS, 1 << 19)
            self.write(ADDR, 0)
            for at in range(0x08, 0x100, 4):
                self.usb.memory.write(at, 4, 0)
            self.clear(BUFF_STATUS, 0xFFFFFFFF)
            self._forget()
        if ints & 1 << 16:
            self.clear(SIE_STATUS, 1 << 17)
            self._setup(bytes(self.usb.memory.read(i, 1) for i in range(8)))
        status = self.read(BUFF_STATUS)
        for bit in range(32):
            if status >> bit & 1:
                half = self.read(SHOULD) >> bit & 1
                self.clear(BUFF_STATUS, 1 << bit)
                self._done(bit >> 1 | (0 if bit & 1 else 0x80), half)

    def _abort(self, bits: int) -> None:
        self.write(ABORT, bits)
        while self.read(ABORT_DONE) & bits != bits:
            self.wait()

    def _stop_ep0(self) -> None:
        self._abort(3)
        for endpoint in (0x00, 0x80):
            self.usb.memory.write(self.control_at(endpoint), 4, 0)
        self.write(ABORT, 0)
        self.clear(ABORT_DONE, 3)
        self.clear(BUFF_STATUS, 3)

    def _setup(self, packet: bytes) -> None:
        self._stop_ep0()
        kind, request, value, index, length = struct.unpack("<BBHHH", packet)
        self.requests.append((kind, request, value, index, length))
        self.toggle[0x00] = self.toggle[0x80] = 1
        self.address = None
        if kind & 0x80:
            given = self.answer(packet) if self.answer is not None else None
            data = given if given is not None else self._answer(kind, request, value, index)
            if data is None:
                self._stall_ep0()
                return
            self.control_in = data[:length]
            self.in_stage = "zlp" if len(data) < length and len(data) % 64 == 0 else "last"
            self._send_in()
            return
        self.out_setup = packet
        if length:
            self.arm(0x00, length)
        elif self._act(kind, request, value, index):
            self.in_stage = "status"
            self.arm(0x80, b"")
        else:
            self._stall_ep0()

    def _stall_ep0(self) -> None:
        self.write(ARM, 3)
        for endpoint in (0x00, 0x80):
            self.usb.memory.write(self.control_at(endpoint), 2, 1 << 11)

    def _send_in(self) -> None:
        chunk, self.control_in = self.control_in[:64], self.control_in[64:]
        if len(chunk) < 64:
            self.in_stage = "last"
        self.arm(0x80, chunk)

    def _answer(self, kind: int, request: int, value: int, index: int) -> bytes | None:
        if request == 6 and kind == 0x80:
            number = value & 0xFF
            if value >> 8 == 1:
                return self.descriptor
            if value >> 8 == 2:
                return self.configuration
            if value >> 8 == 3 and number == 0:
                return bytes([4, 3, 9, 4])
            if value >> 8 == 3 and number in self.strings:
                text = self.strings[number].encode("utf-16-le")
                return bytes([2 + len(text), 3]) + text
            return None
        if request == 8:
            return bytes([self.configured])
        if request == 0 and kind == 0x80 | 2:
            known = (0x00, 0x80, BULK_OUT, 0x80 | BULK_IN, 0x80 | NOTICE_IN)
            return struct.pack("<H", index in self.halted) if index in known else None
        if request == 0:
            return b"\0\0"
        return self.coding if kind == 0xA1 and request == 0x21 else None

    def _act(self, kind: int, request: int, value: int, index: int) -> bool:
        if kind == 0 and request == 5:
            self.address = value
            return True
        if kind == 0 and request == 9:
            self.configured = value
            self._open()
            return True
        if kind == 2 and value == 0 and request in (1, 3):
            self._halt(index, request == 3)
            return True
        if kind == 0x21 and request == 0x22:
            self.states.append(value)
            return True
        return False

    def _open(self) -> None:
        double = 1 << 30 if self.double else 0
        for endpoint, kind, extra in ((BULK_OUT, 2, double), (0x80 | BULK_IN, 2, double), (0x80 | NOTICE_IN, 3, 0)):
            at = 0x08 + 8 * ((endpoint & 0xF) - 1) + (0 if endpoint & 0x80 else 4)
            word = 1 << 31 | 1 << 29 | extra | kind << 26 | self.buffer(endpoint)
            self.usb.memory.write(at, 4, word)
        self.listen()

    def listen(self) -> None:
        """Make room for data from the host."""
        if self.configured and self.takes and BULK_OUT not in self.halted:
            while self.out_given < (2 if self.double else 1):
                self.out_given += 1
                self.arm(BULK_OUT, 64, self.next_half[BULK_OUT])
                self.next_half[BULK_OUT] ^= self.double

    def _halt(self, endpoint: int, on: bool) -> None:
        (self.halted.add if on else self.halted.discard)(endpoint)
        bit = 1 << (2 * (endpoint & 0xF) + (0 if endpoint & 0x80 else 1))
        self._abort(bit)
        self.usb.memory.write(self.control_at(endpoint), 4, 1 << 11 if on else 0)
        self.fresh.add(endpoint)
        self.write(ABORT, 0)
        self.clear(ABORT_DONE, bit)
        if not on:
            self.toggle[endpoint] = 0
            self.next_half[endpoint] = 0
            if endpoint == BULK_OUT:
                self.out_given = 0
                self.listen()
            elif endpoint == 0x80 | BULK_IN:
                self.in_flight = 0
                self.pump()

    def _done(self, endpoint: int, half: int) -> None:
        if endpoint == 0x80:
            self._control_in_done()
        elif endpoint == 0x00:
            length = self.half_of(0, 0) & 0x3FF
            if self.out_setup[:2] == b"\x21\x20" and length == 7:
                self.coding = bytes(self.usb.memory.read(0x100 + i, 1) for i in range(length))
                self.line.append(self.coding)
                self.out_setup = b""
                self.in_stage = "status"
                self.arm(0x80, b"")
        elif endpoint == BULK_OUT:
            length = self.half_of(endpoint, half) & 0x3FF
            self.received += bytes(self.usb.memory.read(self.buffer(endpoint, half) + i, 1) for i in range(length))
            self.out_given -= 1
            self.listen()
        elif endpoint == 0x80 | BULK_IN:
            self.in_flight -= 1
            self.pump()

    def _control_in_done(self) -> None:
        if self.in_stage == "status":
            if self.address is not None:
                self.write(ADDR, self.address)
            return
        if self.control_in or self.in_stage == "zlp":
            self._send_in()
            return
        self.toggle[0x00] = 1
        self.arm(0x00, 0)

    # data

    def send(self, data: bytes, flush: bool = True) -> None:
        """Send bytes, with a short packet at their end if `flush`."""
        self.outgoing += data
        self.flush = flush and len(self.outgoing) % 64 == 0
        self.pump()

    def pump(self) -> None:
        endpoint = 0x80 | BULK_IN
        while (self.outgoing or self.flush) and self.in_flight < (2 if self.double else 1):
            if not self.configured or endpoint in self.halted:
                return
            chunk = bytes(self.outgoing[:64])
            del self.outgoing[:64]
            if len(chunk) < 64:
                self.flush = False
            half = self.next_half[endpoint]
            if self.double:
                self.next_half[endpoint] = 1 - half
            self.in_flight += 1
            self.arm(endpoint, chunk, half)


@dataclass
class Terminal:
    """A program that has the port open."""

    is_open: bool = False
    baud: int = 115200
    room: bool = True
    given: bytearray = field(default_factory=bytearray)
    waiting: bytearray = field(default_factory=bytearray)

    def take(self, most: int) -> bytes:
        data = bytes(self.waiting[:most])
        del self.waiting[:most]
        return data

    def give(self, data: bytes) -> None:
        self.given += data


class Computer:
    """A computer with the device at its port; `run` lets virtual time pass."""

    def __init__(self, device: DeviceOfRegisters, slow_ps: int = 0) -> None:
        self.device, self.slow_ps = device, slow_ps
        self.terminal = Terminal()
        self.appeared: list[Device] = []
        self.vanished = 0
        self.log: list[str] = []
        self.session = UsbSession(device.clock, device.usb, lambda: None, self, self.log.append)
        device.wait = self._microsecond

    def _microsecond(self) -> None:
        self.device.clock.wait_until(self.device.clock.now + 10**6)
        self.session.update(self.device.clock.now)

    def appear(self, device: Device) -> Terminal:
        self.appeared.append(device)
        return self.terminal

    def vanish(self) -> None:
        self.vanished += 1

    def run(self, ps: int = 10**13) -> None:
        """Run until nothing happens any more, at most for some virtual time."""
        end = self.device.clock.now + ps
        while True:
            due = self.session.next_event()
            if due is None or due > end:
                return
            self.device.clock.wait_until(due)
            self.session.update(self.device.clock.now)
            while self.device.wires.level:
                self.device.clock.wait_until(self.device.clock.now + self.slow_ps)
                self.session.update(self.device.clock.now)
                self.device.service()
                self.session.update(self.device.clock.now)
