"""Control transfers of a strict host: three stages, data toggles, lengths, time limits (USB 2.0, 8.5.3, 9.2.6, 9.4)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from hil.standins.virtual.usb.steps import MS, Outcome, Program, Transaction
from hil.standins.virtual.usb.wire import Handshake, Packet, Token

# Limits of a device (9.2.6.3, 9.2.6.4): a data packet to the host, the status of a request without data, and a request
# with data from the host.
DATA_PS, STATUS_PS, WHOLE_PS = 500 * MS, 50 * MS, 5000 * MS
TO_HOST, CLASS, TO_INTERFACE, TO_ENDPOINT = 0x80, 0x20, 1, 2
GET_STATUS, CLEAR_FEATURE, SET_FEATURE, SET_ADDRESS, GET_DESCRIPTOR = 0, 1, 3, 5, 6
GET_CONFIGURATION, SET_CONFIGURATION, GET_INTERFACE, SET_INTERFACE = 8, 9, 10, 11
ENDPOINT_HALT = 0


class Unfit(Exception):
    """The device does what USB 2.0 forbids: one sentence that names the request."""


class Stalled(Exception):
    """The device answers a request with STALL: it does not know it, or cannot do it now (9.2.7)."""


@dataclass(frozen=True)
class Setup:
    """A request (9.3): its fields as in table 9-2."""

    request_type: int
    request: int
    value: int = 0
    index: int = 0
    length: int = 0

    def packed(self) -> bytes:
        return struct.pack("<BBHHH", self.request_type, self.request, self.value, self.index, self.length)

    def __str__(self) -> str:
        return (
            f"request 0x{self.request_type:02X} 0x{self.request:02X} (value 0x{self.value:04X}, "
            f"index 0x{self.index:04X}, length {self.length})"
        )


def begin(setup: Setup) -> Program[None]:
    """The setup stage; a device must always acknowledge it (8.4.6.4)."""
    answer = yield Transaction(Token.SETUP, 0, Packet(0, setup.packed()), within_ps=DATA_PS)
    if answer is not Handshake.ACK:
        raise Unfit(f"{setup}: the setup packet gets {told(answer)}, not ACK")


def read(setup: Setup, max_packet: int) -> Program[bytes]:
    """A transfer with data to the host.

    Args:
        setup: the request.
        max_packet: bMaxPacketSize0.

    Raises:
        Stalled: the device stalls.
        Unfit: it does what is forbidden.
    """
    yield from begin(setup)
    return (yield from read_on(setup, max_packet))


def read_on(setup: Setup, max_packet: int) -> Program[bytes]:
    """The data and status stages of `read`."""
    data, toggle = b"", 1
    while len(data) < setup.length:
        packet = yield Transaction(Token.IN, 0, within_ps=DATA_PS)
        if packet is Handshake.STALL:
            raise Stalled(str(setup))
        if not isinstance(packet, Packet):
            raise Unfit(f"{setup}: its data stage gets {told(packet)} after {len(data)} bytes")
        check(packet, toggle, max_packet, f"{setup}, data stage")
        data, toggle = data + packet.data, toggle ^ 1
        if len(data) > setup.length:
            raise Unfit(f"{setup}: the device sends {len(data)} bytes")
        if len(packet.data) < max_packet:
            break
    yield from _status_out(setup)
    return data


def _status_out(setup: Setup) -> Program[None]:
    answer = yield Transaction(Token.OUT, 0, Packet(1, b""), within_ps=STATUS_PS)
    if answer is Handshake.STALL:
        raise Stalled(str(setup))
    if answer is not Handshake.ACK:
        raise Unfit(f"{setup}: its status stage gets {told(answer)}")


def write(setup: Setup, data: bytes, max_packet: int) -> Program[None]:
    """A transfer with data from the host, or without data; raises as `read`."""
    yield from begin(setup)
    toggle = 1
    for start in range(0, len(data), max_packet):
        packet = Packet(toggle, data[start : start + max_packet])
        answer = yield Transaction(Token.OUT, 0, packet, within_ps=WHOLE_PS)
        if answer is Handshake.STALL:
            raise Stalled(str(setup))
        if answer is not Handshake.ACK:
            raise Unfit(f"{setup}: its data stage gets {told(answer)} after {start} bytes")
        toggle ^= 1
    answer = yield Transaction(Token.IN, 0, within_ps=STATUS_PS if not data else WHOLE_PS)
    if answer is Handshake.STALL:
        raise Stalled(str(setup))
    if answer != Packet(1, b""):
        raise Unfit(f"{setup}: its status stage gets {told(answer)}, not DATA1 without bytes")


def check(packet: Packet, toggle: int, max_packet: int, where: str) -> None:
    """Check the toggle and the length of a data packet; raise Unfit."""
    if packet.toggle != toggle:
        raise Unfit(f"{where}: the device sends DATA{packet.toggle} where DATA{toggle} is due")
    if len(packet.data) > max_packet:
        raise Unfit(f"{where}: a packet has {len(packet.data)} bytes, and {max_packet} are its largest size")


def told(answer: Outcome) -> str:
    """Return an answer in words."""
    if isinstance(answer, Packet):
        return f"DATA{answer.toggle} with {len(answer.data)} bytes"
    return "nothing" if answer is None else str(answer.value)
