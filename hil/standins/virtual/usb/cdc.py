"""The serial port that a CDC ACM device becomes: bulk data both ways with flow control, line state, notifications.

As Linux does (drivers/usb/class/cdc-acm.c): nothing is read while nobody has the port open, DTR and RTS follow the open
port, and what arrives is handed on when a packet is short or two packets are full (`acm_probe`, `readsize`). A device
that ends a message with a full packet, and sends no packet without bytes after it, is not heard.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from typing import Protocol

from hil.standins.virtual.usb import control as c
from hil.standins.virtual.usb.channel import Channel
from hil.standins.virtual.usb.control import Setup, Stalled, Unfit, told
from hil.standins.virtual.usb.descriptors import AcmFunction, Endpoint
from hil.standins.virtual.usb.enumeration import Device
from hil.standins.virtual.usb.host import UsbHost
from hil.standins.virtual.usb.steps import Fate, Idle, Outcome, Program, Transaction
from hil.standins.virtual.usb.wire import Handshake, Packet, Token

SET_LINE_CODING, GET_LINE_CODING, SET_CONTROL_LINE_STATE = 0x20, 0x21, 0x22  # (PSTN 1.2, table 13)
DTR, RTS = 1, 2
SERIAL_STATE = 0x20  # (table 30)
_NOTICE_HEAD = 8
_READ_PACKETS = 2


class Terminal(Protocol):
    """The other end of the port: a program of this computer."""

    @property
    def is_open(self) -> bool:
        """Whether a program has the port open."""

    @property
    def baud(self) -> int:
        """Baud rate that it has set."""

    @property
    def room(self) -> bool:
        """Whether it can take more bytes."""

    def take(self, most: int) -> bytes:
        """Return at most so many bytes from it, oldest first."""

    def give(self, data: bytes) -> None:
        """Hand bytes to it."""


class AcmPort:
    """An open or closed serial port on an enumerated device.

    Args:
        host: port of the device.
        device, function: the device, and the serial port that it has.
        terminal: other end.
        complain: called with one sentence when the device does what is forbidden.
    """

    def __init__(
        self, host: UsbHost, device: Device, function: AcmFunction, terminal: Terminal, complain: Callable[[str], None]
    ) -> None:
        self._host, self._device, self._function = host, device, function
        self._terminal, self._complain = terminal, complain
        self._requests: deque[Program[None]] = deque()
        self._toggle = {Token.IN: 0, Token.OUT: 0}
        self._unsent = b""  # taken from the terminal, and not acknowledged by the device
        self._held = b""  # received, and not handed on yet
        self._open = False
        self._baud = 0
        self._halted: set[int] = set()
        self._channels: list[Channel] = []
        self._reader: Channel | None = None
        self._control = self._start(self._control_program())
        self._writer = self._start(self._write())
        if function.notices is not None:
            self._start(self._notices(function.notices))

    def _start(self, program: Program[None]) -> Channel:
        channel = self._host.start(program)
        self._channels.append(channel)
        return channel

    def update(self) -> None:
        """Follow the terminal: opened, closed, another baud rate, bytes, room."""
        terminal = self._terminal
        is_open, baud = terminal.is_open, terminal.baud
        if baud != self._baud and is_open:
            self._baud = baud
            self.ask(self._set_line_coding(baud))
        if is_open != self._open:
            self._open = is_open
            self.ask(self._set_line_state(DTR | RTS if is_open else 0))
            if is_open:
                self._reader = self._start(self._read())
            elif self._reader is not None:
                self._host.stop(self._reader)
                self._reader = None
        self._host.call(self._writer)
        if self._reader is not None:
            self._host.call(self._reader)

    def ask(self, program: Program[None]) -> None:
        """Run a program on endpoint 0, after those that were asked for before."""
        self._requests.append(program)
        self._host.call(self._control)

    # endpoint 0

    def _control_program(self) -> Program[None]:
        while True:
            if not self._requests:
                yield Idle()
                continue
            try:
                yield from self._requests.popleft()
            except Stalled as stalled:
                self._complain(f"{stalled} is stalled")
            except Unfit as unfit:
                self._complain(str(unfit))

    def _to_function(self, request: int, value: int = 0, length: int = 0, to_host: int = 0) -> Setup:
        number = self._function.control.number
        return Setup(to_host | c.CLASS | c.TO_INTERFACE, request, value, number, length)

    def _set_line_coding(self, baud: int) -> Program[None]:
        coding = struct.pack("<IBBB", baud, 0, 0, 8)
        setup = self._to_function(SET_LINE_CODING, length=len(coding))
        yield from c.write(setup, coding, self._device.max_packet)
        back = self._to_function(GET_LINE_CODING, length=len(coding), to_host=c.TO_HOST)
        given = yield from c.read(back, self._device.max_packet)
        if given != coding:
            raise Unfit(f"GET_LINE_CODING gives {given.hex()} after SET_LINE_CODING {coding.hex()}")

    def _set_line_state(self, state: int) -> Program[None]:
        yield from c.write(self._to_function(SET_CONTROL_LINE_STATE, state), b"", self._device.max_packet)

    def _clear_halt(self, endpoint: Endpoint, kind: Token) -> Program[None]:
        setup = Setup(c.TO_ENDPOINT, c.CLEAR_FEATURE, c.ENDPOINT_HALT, endpoint.address)
        yield from c.write(setup, b"", self._device.max_packet)
        self._toggle[kind] = 0
        self._halted.discard(endpoint.address)
        for channel in (self._reader, self._writer):
            if channel is not None:
                self._host.call(channel)

    def _after_stall(self, endpoint: Endpoint, kind: Token) -> Program[None]:
        """Clear the halt of a bulk endpoint, and wait for it (9.4.5)."""
        self._halted.add(endpoint.address)
        self.ask(self._clear_halt(endpoint, kind))
        while endpoint.address in self._halted:
            yield Idle()

    # bulk endpoints

    def _read(self) -> Program[None]:
        endpoint = self._function.reads
        while True:
            while not self._terminal.room:
                yield Idle()
            answer = yield Transaction(Token.IN, endpoint.number)
            if isinstance(answer, Packet):
                self._received(answer, endpoint)
            elif (yield from self._failed(answer, endpoint, Token.IN)):
                return

    def _received(self, packet: Packet, endpoint: Endpoint) -> None:
        if packet.toggle != self._toggle[Token.IN]:
            self._complain(
                f"bulk IN: the device sends DATA{packet.toggle} where DATA{packet.toggle ^ 1} is due: a host takes it "
                f"for a repetition and drops its {len(packet.data)} bytes"
            )
            return
        self._toggle[Token.IN] ^= 1
        if len(packet.data) > endpoint.max_packet:
            self._complain(f"bulk IN: a packet has {len(packet.data)} bytes, more than {endpoint.max_packet}")
            return
        self._held += packet.data
        if len(packet.data) < endpoint.max_packet or len(self._held) >= _READ_PACKETS * endpoint.max_packet:
            held, self._held = self._held, b""
            self._terminal.give(held)

    def _write(self) -> Program[None]:
        endpoint = self._function.writes
        while True:
            if not self._unsent:
                self._unsent = self._terminal.take(endpoint.max_packet)
            if not self._unsent:
                yield Idle()
                continue
            answer = yield Transaction(Token.OUT, endpoint.number, Packet(self._toggle[Token.OUT], self._unsent))
            if answer is Handshake.ACK:
                self._toggle[Token.OUT] ^= 1
                self._unsent = b""
            elif (yield from self._failed(answer, endpoint, Token.OUT)):
                return

    def _failed(self, answer: Outcome, endpoint: Endpoint, kind: Token) -> Program[bool]:
        """Handle what is no data and no ACK; return whether the endpoint is given up."""
        if answer is Handshake.STALL:
            yield from self._after_stall(endpoint, kind)
            return False
        self._complain(f"bulk {kind.value}: endpoint {endpoint.number} gives {told(answer)}")
        return answer is Fate.SILENT

    # the interrupt endpoint

    def _notices(self, endpoint: Endpoint) -> Program[None]:
        toggle, held, period = 0, b"", self._device.speed.period(endpoint.interval)
        while True:
            answer = yield Transaction(Token.IN, endpoint.number, frames=period)
            if not isinstance(answer, Packet):
                self._complain(f"interrupt IN: endpoint {endpoint.number} gives {told(answer)}")
                return
            if answer.toggle != toggle:
                self._complain("interrupt IN: the toggle is wrong, a host drops this notification")
                continue
            toggle, held = toggle ^ 1, held + answer.data
            if len(answer.data) < endpoint.max_packet or self._is_whole(held):
                if not self._is_whole(held):
                    self._complain(f"interrupt IN: {held.hex()} is no notification (CDC 1.2, 6.3)")
                held = b""

    def _is_whole(self, notice: bytes) -> bool:
        """Return whether a notification has its head and as many bytes as its wLength says."""
        if len(notice) < _NOTICE_HEAD or notice[0] != c.TO_HOST | c.CLASS | c.TO_INTERFACE:
            return False
        return len(notice) == _NOTICE_HEAD + int.from_bytes(notice[6:8], "little")
