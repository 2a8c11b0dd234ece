"""The host's side of a session: numbered requests, a window, repeats; exactly once, in order (docs/link.md)."""

from __future__ import annotations

import contextlib
import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NoReturn

from hil.errors import Blocked
from hil.link.answers import Answers, ResetSigns
from hil.link.failures import Refused, Silent
from hil.link.flying import Flying, Sent, longest_wire
from hil.link.frames import Frame
from hil.link.messages import Description, description, encode
from hil.link.pace import Pace
from hil.link.swallowed import swallowed
from hil.link.waiting import POLL_AFTER_S, Took, Waiting
from hil.link.wire import Counters, Port, Wire

LOG = logging.getLogger(__name__)
EVERY_BYTE = bytes(range(256))
AGAIN_S, GREET_S = 2.0, 0.5  # for a board that was reset to say so; from one greeting to the next
MOST_ECHOES = 5  # to settle a line on which each of them has to be sent again


def fresh_nonce() -> int:
    """Draw the 32 bits that tell a session from the last."""
    return random.SystemRandom().getrandbits(32)


def board_name(identity: dict[str, Any]) -> str:
    """Return the name of the board in an agent's answer to `hello`."""
    return identity["board"].rstrip(b"\0").decode("ascii", "replace")


class Session:
    """One session with an agent over an open port.

    Args:
        port: an open serial port with a short read time-out.
        nonce: 32 bits that tell this session from the one before.
        alive: called while waiting; raises `Blocked` when the other end is known to be gone.

    Attributes:
        took: what the last `request` took that was answered.
    """

    def __init__(self, port: Port, nonce: int, alive: Callable[[], None] = lambda: None) -> None:
        self._wire, self._pace, self._nonce, self._alive = Wire(port, alive), Pace(), nonce, alive
        self._messages: Description = description()
        self._seq = 0
        self._heard = 0  # frames of this session
        self._settled_at = 0  # frames repeated, when the agent had handled all of them
        self._window = self._messages.max_body
        self.took = Took(0.0, 0.0, 0)
        self._answers = Answers(self._messages)

    @property
    def counters(self) -> Counters:
        """What went over the line so far."""
        return self._wire.counters

    def hello(self, deadline_s: float = 10.0) -> dict[str, Any]:
        """Open the session and return what the agent says of itself (fields of `hello`'s reply).

        Raises:
            Blocked: no answer, or an agent of another protocol version.
        """
        self._seq = 0
        self._wire.send(b"\0")  # ends whatever noise came before
        try:
            with self._swallowing_named():
                reply = self.request("hello", deadline_s=deadline_s, **self._greeting(self._nonce))
        except Refused as refusal:
            if refusal.code != "protocol":
                raise
            raise self._another_protocol(refusal.a) from refusal
        if reply["protocol"] != self._messages.protocol:
            raise self._another_protocol(reply["protocol"])
        self._window = reply["rx_window"]
        return reply

    def check_line(self) -> None:
        """Send every value of a byte there and back, once; an agent that knows no `echo` is believed.

        Raises:
            Blocked: they do not come back; where the line swallows those of software flow control, the reason says so.
        """
        with self._swallowing_named(), contextlib.suppress(Refused):
            self.request("echo", data=EVERY_BYTE)

    def settle(self) -> None:
        """Wait until the agent has handled every copy of a frame that was sent again.

        It handles them in the order of the line, and only then answers an `echo`. An answer to one copy says nothing of
        the others, which may still be on their way. On a line on which every `echo` has to be sent again, copies of the
        last one may be left.
        """
        for _ in range(MOST_ECHOES):
            if self.counters.frames_repeated == self._settled_at:
                break
            self._settled_at = self.counters.frames_repeated
            with contextlib.suppress(Refused):
                self.request("echo", data=b"")

    @contextlib.contextmanager
    def _swallowing_named(self) -> Iterator[None]:
        before = self.counters.bytes_received
        try:
            yield
        except Silent:
            lost = swallowed(self._wire, self._hello_frame) if self.counters.bytes_received > before else ()
            if lost:
                raise Blocked(
                    "link",
                    f"the line swallows the bytes {' and '.join(lost)}: it takes them for software flow control; "
                    "switch that off in the serial adapter or its driver.",
                ) from None
            raise

    def _another_protocol(self, number: int) -> Blocked:
        ours = self._messages.protocol
        reason = f"the agent speaks protocol {number}, this trainrig speaks {ours}: "
        return Blocked("link", reason + "flash the firmware that belongs to this version.")

    def _greeting(self, nonce: int) -> dict[str, int]:
        return {"nonce": nonce, "protocol": self._messages.protocol}

    def _hello_frame(self, nonce: int) -> bytes:
        hello = self._messages.requests["hello"]
        return Frame(hello.id, nonce & 0xFF, 0, encode(hello.request, self._greeting(nonce))).encode()

    def request(
        self, name: str, deadline_s: float = 60.0, poll_after_s: float = POLL_AFTER_S, **values: Any
    ) -> dict[str, Any]:
        """Send one request and return the fields of its reply.

        Once the agent has taken the request, nothing more is sent for `poll_after_s`, then it is asked again: for an
        energy window longer than the window.

        Raises:
            Refused: the agent answered with an error.
            Silent: the agent said nothing any more, or nothing new.
            Misfit: what it said does not fit the protocol.
            Blocked: the port is gone, or the board has begun anew.
            Faulted: the processor faulted.
        """
        sent, before = self._number(name, encode(self._messages.requests[name].request, values)), replace(self.counters)
        heard = self._heard
        waiting, signs = Waiting(time.monotonic(), poll_after_s), ResetSigns(self._answers, sent)
        self._pace.begin(waiting.started)
        self._transmit(sent)
        while True:
            for frame in self._receive():
                now = time.monotonic()
                waiting.heard()
                if signs.are_in(frame):
                    raise self._begun_anew(sent)
                if self._answers.is_reply(frame, sent):
                    if not waiting.is_taken:  # else the time since is that of the work, not of the line
                        self._pace.progress(now)
                    self.took = waiting.took(now, self.counters.frames_repeated - before.frames_repeated)
                    return self._answers.reply(name, frame)
                if self._answers.acknowledges(frame, sent) and waiting.acknowledged(now):
                    self._pace.progress(now)
                else:
                    self._nothing_new(frame, alone=True)
            now = time.monotonic()
            if now - waiting.started > deadline_s or (not waiting.is_taken and self._pace.is_over(now)):
                sentence = f"the agent did not answer {name!r} within {now - waiting.started:.1f} s"
                self._give_up(sent, sentence, before, heard)
            if waiting.is_poll_due(now):
                waiting.polled(now)
                self._transmit(sent, again=True)
            elif waiting.is_mute(now):
                if self._has_begun_anew(sent, silent=False):
                    raise self._begun_anew(sent)
                waiting.be_patient()
            elif not waiting.is_taken and self._pace.is_due(now):
                self._pace.repeated(now, [sent.seq])
                waiting.repeated(now)
                self._transmit(sent, again=True)

    def stream(self, name: str, bodies: Iterable[dict[str, Any]]) -> None:
        """Send many windowed requests, several on their way at a time; return when all are acknowledged.

        Raises:
            Refused, Silent, Misfit, Blocked, Faulted: as `request`.
        """
        fields = self._messages.requests[name].request
        waiting = iter(bodies)
        flying = Flying(self._window)
        following = next(waiting, None)
        refusal: Refused | None = None
        before, heard = replace(self.counters), self._heard
        while flying.frames or following is not None:
            while following is not None and flying.has_room(longest_wire(following)):
                if not flying.frames:
                    self._pace.begin(time.monotonic())
                flying.frames.append(self._number(name, encode(fields, following)))
                self._transmit(flying.frames[-1])
                following = next(waiting, None)
            for frame in self._receive():
                if refusal is None and self._answers.is_error(frame) and flying.has(frame.seq):
                    refusal, following = self._answers.refusal(name, frame), None
                    flying.acknowledge(frame.seq + 1)
                    self._pace.progress(time.monotonic())
                elif self._answers.is_control(frame) and flying.acknowledge(self._answers.expected(frame)):
                    self._pace.progress(time.monotonic())
                elif flying.frames:
                    self._nothing_new(frame, alone=len(flying.frames) == 1)
            now = time.monotonic()
            if flying.frames and self._pace.is_over(now):
                sentence = f"the agent has taken nothing new for {self._pace.waited(now):.0f} s in the middle of {name!r}"
                self._give_up(flying.frames[0], sentence, before, heard)
            if flying.frames and self._pace.is_due(now):
                again = list(flying.frames) if self._pace.whole else [flying.frames[0]]
                self._pace.repeated(now, [sent.seq for sent in again])
                for sent in again:
                    self._transmit(sent, again=True)
        if refusal is not None:  # only now: what was on its way had to arrive, or the numbers would be out of step
            raise refusal

    def _nothing_new(self, frame: Frame, alone: bool) -> None:
        """Take an answer that acknowledges nothing new: no deadline moves for it."""
        if self._answers.is_nak(frame):
            self.counters.naks += 1
            self._pace.asked_again(time.monotonic(), frame.seq, alone)
        else:
            self.counters.stale += 1

    def _give_up(self, sent: Sent, sentence: str, before: Counters, heard: int) -> NoReturn:
        """End a request that nothing comes of any more.

        Raises:
            Silent: with what came in the place of an answer.
            Blocked: what is at the other end has ended, or the board has begun anew.
        """
        self._alive()
        came = self.counters.came_since(before)
        if sent.seq and self._has_begun_anew(sent, silent=self._heard == heard):
            raise self._begun_anew(sent)
        raise Silent(f"{sentence}{came}: check the serial port and the board.")

    @staticmethod
    def _begun_anew(sent: Sent) -> Blocked:
        return Blocked(
            "link",
            f"the board has begun anew: it has forgotten the session that {sent.name!r} was a part of. "
            "Look at its supply (brown-out) and its reset line, and whether its program resets it.",
        )

    def _has_begun_anew(self, sent: Sent, silent: bool) -> bool:
        """Greet the agent again with the nonce that it knows, and repeat a request.

        After a reset that is its first greeting, and it expects number 1. Request 1 itself it executes then. That it has
        been reset shows where it was `silent` before, for all repeats: an agent drops the frames of a session that it
        does not know without an answer, and asks for damaged ones again.

        Args:
            sent: the request.
            silent: whether not one whole frame of this session came since it was sent first. A fresh agent asks for
                damaged frames again in no session.
        """
        now, signs = time.monotonic(), ResetSigns(self._answers, sent)
        greet_at, until = now, now + AGAIN_S
        while now < until:
            if now >= greet_at:  # more than once: a reply that the reset cut short spoils the frame after it
                greet_at = now + GREET_S
                for data in (self._hello_frame(self._nonce), sent.wire):
                    self._wire.send(data)
            for frame in self._receive():
                if signs.are_in(frame):
                    return True
                if silent and sent.seq == 1 and self._answers.is_reply(frame, sent):
                    return True
            now = time.monotonic()
        return False

    def _number(self, name: str, body: bytes) -> Sent:
        seq = self._seq
        self._seq = (self._seq + 1) & 0xFFFF
        return Sent(seq, name, Frame(self._messages.requests[name].id, self._nonce & 0xFF, seq, body).encode())

    def _transmit(self, sent: Sent, again: bool = False) -> None:
        self.counters.frames_sent += 1
        self.counters.frames_repeated += again
        if again:
            LOG.info("%s, number %d, is sent again", sent.name, sent.seq)
        self._wire.send(sent.wire)

    def _receive(self) -> list[Frame]:
        """Return the frames of this session.

        Raises:
            Faulted: one says that the processor has faulted.
        """
        found = []
        for frame in self._wire.receive():
            self._answers.check_fault(frame)
            if frame.session == self._nonce & 0xFF:
                found.append(frame)
                self._heard += 1
                if not self._answers.is_nak(frame):
                    self._pace.answered(frame.seq, frame.type)
        return found
