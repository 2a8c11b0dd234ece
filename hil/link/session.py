"""The host's side of a session: numbered requests, a window, repeats; exactly once, in order (docs/link.md)."""

from __future__ import annotations

import logging
import random
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from hil.errors import Blocked, RigError
from hil.link.failures import Faulted, Silent
from hil.link.frames import Frame, FrameReader
from hil.link.messages import REPLY_BIT, Description, MessageError, decode, description, encode

LOG = logging.getLogger(__name__)
REPEAT_AFTER_S = 0.3  # wall time without an answer after which a frame is sent again
POLL_AFTER_S = 1.0  # after the agent has said that it works on the request
NAK_PAUSE_S = 0.02  # lets the rest of a damaged window pass by before it is sent again
SILENCE_S = 8.0  # wall time without any good frame after which the agent counts as gone


class Port(Protocol):
    """A serial port, as pyserial gives it."""

    def write(self, data: bytes) -> int | None:
        """Send bytes."""
        ...

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none after the time-out."""
        ...

    @property
    def in_waiting(self) -> int:
        """Return how many bytes have come."""
        ...


class Refused(RigError):
    """The agent refused a request; `code` and its two words are in the message."""

    def __init__(self, request: str, code: str, a: int, b: int) -> None:
        super().__init__(f"the agent refused {request}: {code} ({a}, {b})")
        self.request, self.code, self.a, self.b = request, code, a, b


def fresh_nonce() -> int:
    """Draw the 32 bits that tell a session from the last."""
    return random.SystemRandom().getrandbits(32)


def board_name(identity: dict[str, Any]) -> str:
    """Return the name of the board in an agent's answer to `hello`."""
    return identity["board"].rstrip(b"\0").decode("ascii", "replace")


@dataclass
class Counters:
    """What the link did: frames, repeats and bytes (counted on the host)."""

    frames_sent: int = 0
    frames_repeated: int = 0
    naks: int = 0
    damaged: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0


@dataclass
class _Sent:
    seq: int
    name: str
    wire: bytes


class Session:
    """One session with an agent over an open port.

    Args:
        port: an open serial port with a short read time-out.
        nonce: 32 bits that tell this session from the one before.
        alive: called while waiting; raises `Blocked` when the other end is known to be gone.
    """

    def __init__(self, port: Port, nonce: int, alive: Callable[[], None] = lambda: None) -> None:
        self._port, self._nonce, self._alive = port, nonce, alive
        self._messages: Description = description()
        self._reader = FrameReader()
        self._seq = 0
        self._window = self._messages.max_body
        self._last_good = time.monotonic()
        self._controls = {control.id: control for control in self._messages.controls.values()}
        self.counters = Counters()

    def hello(self, deadline_s: float = 10.0) -> dict[str, Any]:
        """Open the session and return what the agent says of itself (fields of `hello`'s reply).

        Raises:
            Blocked: no answer, or an agent of another protocol version.
        """
        self._seq = 0
        self._guard(lambda: self._port.write(b"\0"))  # ends whatever noise came before
        try:
            reply = self.request("hello", deadline_s=deadline_s, nonce=self._nonce, protocol=self._messages.protocol)
        except Refused as refusal:
            if refusal.code != "protocol":
                raise
            raise Blocked(
                "link",
                f"the agent speaks protocol {refusal.a}, this trainrig speaks {self._messages.protocol}: flash the firmware that "
                "belongs to this version.",
            ) from refusal
        self._window = reply["rx_window"]
        return reply

    def request(
        self, name: str, deadline_s: float = 60.0, poll_after_s: float = POLL_AFTER_S, **values: Any
    ) -> dict[str, Any]:
        """Send one request and return the fields of its reply.

        Once the agent has taken the request nothing more is sent for `poll_after_s`, then it is asked again: for an energy window longer than the window.

        Raises:
            Refused: the agent answered with an error.
            Silent: the agent said nothing any more.
            Blocked: the port is gone.
            Faulted: the processor faulted.
        """
        described = self._messages.requests[name]
        sent = self._number(name, encode(described.request, values))
        self._transmit(sent)
        started = time.monotonic()
        self._last_good = started
        repeat_at, taken = started + REPEAT_AFTER_S, False
        while True:
            for frame in self._receive():
                if self._is_reply(frame, sent):
                    return self._reply(described.name, frame)
                if frame.type == self._controls_id("ack") and self._expects_after(frame, sent):
                    repeat_at, taken = time.monotonic() + poll_after_s, True
                elif frame.type == self._controls_id("nak") and not self._expects_after(frame, sent):
                    self.counters.naks += 1
                    repeat_at = min(repeat_at, time.monotonic() + NAK_PAUSE_S)
            now = time.monotonic()
            if now - started > deadline_s or (not taken and now - self._last_good > SILENCE_S):
                raise Silent(
                    f"the agent did not answer {name!r} within {now - started:.1f} s: check the serial port and the board."
                )
            if now >= repeat_at:
                self._transmit(sent, again=True)
                repeat_at = now + (poll_after_s if taken else REPEAT_AFTER_S)

    def stream(self, name: str, bodies: Iterable[dict[str, Any]]) -> None:
        """Send many windowed requests, several on their way at a time; return when all are acknowledged.

        Raises:
            Refused, Silent, Blocked, Faulted: as `request`.
        """
        fields = self._messages.requests[name].request
        waiting = iter(bodies)
        flying: deque[_Sent] = deque()
        following = next(waiting, None)
        refusal: Refused | None = None
        self._last_good = time.monotonic()
        repeat_at = time.monotonic() + REPEAT_AFTER_S
        while flying or following is not None:
            while following is not None:
                wire_room = self._window - sum(len(sent.wire) for sent in flying)
                if flying and wire_room < self._longest_wire(following):
                    break
                flying.append(self._number(name, encode(fields, following)))
                self._transmit(flying[-1])
                following = next(waiting, None)
            for frame in self._receive():
                if refusal is None and frame.type == self._controls_id("error"):
                    refusal, following = self._refusal(name, frame, flying), None
                if self._take(frame, flying):
                    repeat_at = time.monotonic() + REPEAT_AFTER_S
                elif frame.type == self._controls_id("nak"):
                    self.counters.naks += 1
                    repeat_at = min(repeat_at, time.monotonic() + NAK_PAUSE_S)
            now = time.monotonic()
            if now - self._last_good > SILENCE_S:
                raise Silent(
                    f"the agent fell silent for {SILENCE_S:.0f} s in the middle of {name!r}: check the serial port and the board."
                )
            if flying and now >= repeat_at:
                for sent in flying:
                    self._transmit(sent, again=True)
                repeat_at = now + REPEAT_AFTER_S
        if refusal is not None:  # only now: what was on its way had to arrive, or the numbers would be out of step
            raise refusal

    def _refusal(self, name: str, frame: Frame, flying: deque[_Sent]) -> Refused | None:
        """Return the refusal of a frame that is on its way, and drop what the agent took up to it."""
        if all(sent.seq != frame.seq for sent in flying):
            return None
        while flying.popleft().seq != frame.seq:
            pass
        error = decode(self._controls[frame.type].fields, frame.body)
        return Refused(name, self._messages.errors.get(error["code"], str(error["code"])), error["a"], error["b"])

    def _take(self, frame: Frame, flying: deque[_Sent]) -> bool:
        """Drop from `flying` what the frame acknowledges; True when it moved the window on."""
        if frame.type not in (self._controls_id("ack"), self._controls_id("nak")):
            return False
        moved = False
        while flying and self._expects_after(frame, flying[0]):
            flying.popleft()
            moved = True
        return moved

    def _number(self, name: str, body: bytes) -> _Sent:
        seq = self._seq
        self._seq = (self._seq + 1) & 0xFFFF
        return _Sent(seq, name, Frame(self._messages.requests[name].id, self._nonce & 0xFF, seq, body).encode())

    def _transmit(self, sent: _Sent, again: bool = False) -> None:
        self.counters.frames_sent += 1
        self.counters.frames_repeated += again
        if again:
            LOG.info("%s, number %d, is sent again", sent.name, sent.seq)
        self.counters.bytes_sent += len(sent.wire)
        self._guard(lambda: self._port.write(sent.wire))

    def _receive(self) -> list[Frame]:
        data = self._guard(lambda: self._port.read(max(1, self._port.in_waiting)))
        if not data:
            self._alive()
            return []
        self.counters.bytes_received += len(data)
        frames = [
            frame
            for frame in self._reader.feed(data)
            if frame.session == self._nonce & 0xFF or self._controls_id("fault") == frame.type
        ]
        self.counters.damaged = self._reader.damaged
        for frame in frames:
            self._last_good = time.monotonic()
            if frame.type == self._controls_id("fault"):
                raise Faulted(**decode(self._controls[frame.type].fields, frame.body))
        return frames

    def _guard(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except OSError as error:
            self._alive()
            raise Blocked(
                "link",
                f"the serial port is gone ({error}): plug the board in again and look at its cable and its power.",
            ) from error

    def _is_reply(self, frame: Frame, sent: _Sent) -> bool:
        wanted = self._messages.requests[sent.name].id | REPLY_BIT
        return frame.seq == sent.seq and frame.type in (wanted, self._controls_id("error"))

    def _reply(self, name: str, frame: Frame) -> dict[str, Any]:
        try:
            if frame.type == self._controls_id("error"):
                error = decode(self._controls[frame.type].fields, frame.body)
                raise Refused(
                    name, self._messages.errors.get(error["code"], str(error["code"])), error["a"], error["b"]
                )
            return decode(self._messages.requests[name].reply, frame.body)
        except MessageError as error:
            raise Blocked(
                "link",
                f"the agent's reply to {name!r} does not fit the protocol ({error}): flash the firmware of this version.",
            ) from error

    def _expects_after(self, frame: Frame, sent: _Sent) -> bool:
        """Whether an ack or nak says that `sent` has been taken (sequence numbers wrap at 2^16)."""
        expected = int.from_bytes(frame.body[:2], "little")
        return 0 < ((expected - sent.seq) & 0xFFFF) < 0x8000

    def _controls_id(self, name: str) -> int:
        return self._messages.controls[name].id

    @staticmethod
    def _longest_wire(values: dict[str, Any]) -> int:
        size = 16 + sum(len(value) if isinstance(value, (bytes, bytearray)) else 4 for value in values.values())
        return size + size // 254 + 2
