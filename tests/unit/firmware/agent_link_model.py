"""A model of the agent's side of the link, written from docs/link.md, and the frames of both sides."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

from cobs import cobs

from hil.link.messages import REPLY_BIT, description, encode

MESSAGES = description()
IDS = {name: request.id for name, request in MESSAGES.requests.items()}
IDS |= {name: control.id for name, control in MESSAGES.controls.items()}
WINDOWED = {request.id for request in MESSAGES.requests.values() if request.windowed}
LONG = {IDS["step"], IDS["part"], IDS["run"], IDS["infer"], IDS["save_checkpoint"]}
ERRORS = {name: code for code, name in MESSAGES.errors.items()}


@dataclass(frozen=True)
class Frame:
    """One frame: type, session, number and body."""

    type: int
    session: int
    seq: int
    body: bytes = b""

    def encoded(self) -> bytes:
        """Return the bytes on the wire, with the zero that ends them."""
        raw = struct.pack("<BBH", self.type, self.session, self.seq) + self.body
        return cobs.encode(raw + struct.pack("<I", zlib.crc32(raw))) + b"\0"


def decode(encoded: bytes) -> Frame | None:
    """Return the frame of the bytes between two zeros, or None when they are damaged."""
    try:
        raw = cobs.decode(encoded)
    except cobs.DecodeError:
        return None
    if not 8 <= len(raw) <= MESSAGES.max_body + 8 or zlib.crc32(raw[:-4]) != struct.unpack("<I", raw[-4:])[0]:
        return None
    return Frame(*struct.unpack("<BBH", raw[:4]), raw[4:-4])


def frames(data: bytes) -> list[Frame | None]:
    """Return all frames of a stream that ends with a zero."""
    assert data == b"" or data[-1] == 0
    return [decode(part) for part in data.split(b"\0") if part]


def hello(nonce: int, protocol: int = MESSAGES.protocol) -> Frame:
    """Return the frame that begins a session."""
    body = encode(MESSAGES.requests["hello"].request, {"nonce": nonce, "protocol": protocol})
    return Frame(IDS["hello"], nonce & 0xFF, 0, body)


def error(name: str, a: int, b: int) -> bytes:
    """Return the body of an error."""
    return struct.pack("<BII", ERRORS[name], a, b)


@dataclass
class AgentModel:
    """What the agent must send and do; requests are executed as harness.c executes them."""

    nonce: int | None = None
    expected: int = 0
    last_good: int = 0
    kept: tuple[int, Frame] | None = None
    events: list[str] = field(default_factory=list)

    @property
    def session(self) -> int:
        """The session of the frames that the agent sends."""
        return 0 if self.nonce is None else self.nonce & 0xFF

    def receive(self, frame: Frame | None) -> list[Frame]:
        """Return the answers to one frame (None: a damaged one)."""
        if frame is None:
            return [self._control("nak", self.last_good)]
        if frame.type == IDS["hello"] and frame.seq == 0:
            return [self._hello(frame)]
        if self.nonce is None or frame.session != self.session:
            return []
        self.last_good = frame.seq
        behind = (self.expected - frame.seq) % 2**16
        if behind == 0:
            return self._execute(frame)
        if behind > 2**15:
            return [self._control("nak", frame.seq)]
        if behind == 1 and self.kept is not None and self.kept[0] == frame.type and self.kept[1].seq == frame.seq:
            return [self.kept[1]]
        return [self._control("ack", frame.seq)]

    def _control(self, name: str, seq: int) -> Frame:
        return Frame(IDS[name], self.session, seq, struct.pack("<H", self.expected))

    def _hello(self, frame: Frame) -> Frame:
        if len(frame.body) < 6:
            return Frame(IDS["error"], frame.session, 0, error("bad_length", len(frame.body), 6))
        nonce, protocol = struct.unpack_from("<IH", frame.body)
        if protocol != MESSAGES.protocol:
            return Frame(IDS["error"], frame.session, 0, error("protocol", MESSAGES.protocol, protocol))
        if len(frame.body) != 6:
            return Frame(IDS["error"], frame.session, 0, error("bad_length", len(frame.body), 6))
        if nonce != self.nonce:
            self.nonce, self.expected, self.last_good, self.kept = nonce, 1, 0, None
            self.events.append("session")
        values = dict.fromkeys(("clock_hz", "cpuid", "image_base", "image_size", "image_digest", "counter"), 0)
        values |= {"protocol": MESSAGES.protocol, "board": b"harness", "rx_window": 4096}
        reply = MESSAGES.requests["hello"].reply
        return Frame(IDS["hello"] | REPLY_BIT, self.session, 0, encode(reply, values))

    def _execute(self, frame: Frame) -> list[Frame]:
        self.expected = (self.expected + 1) % 2**16
        self.events.append(f"{frame.type} {len(frame.body)} {zlib.crc32(frame.body):08x}")
        answers = [self._control("ack", frame.seq)] if frame.type in LONG else []
        if frame.body[:1] == b"\xee":
            reply = Frame(IDS["error"], self.session, frame.seq, error("bad_slot", len(frame.body), 7))
        elif frame.type in WINDOWED:
            return [self._control("ack", frame.seq)]
        else:
            reply = Frame(frame.type | REPLY_BIT, self.session, frame.seq, frame.body[::-1])
        self.kept = (frame.type, reply)
        return [*answers, reply]
