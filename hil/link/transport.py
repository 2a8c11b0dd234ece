"""Numbered requests over a lossy line: window, repeats, each executed once and in order (docs/link.md)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NoReturn

from serial import Serial

from hil.errors import Blocked
from hil.link.failures import Refused, Silent
from hil.link.flow_control import FlowControl
from hil.link.frame_decoder import FrameDecoder, ResetDetector
from hil.link.frames import Frame
from hil.link.in_flight import InFlight, SentRequest
from hil.link.messages import Description, description, encode
from hil.link.pending_request import POLL_AFTER_S, PendingRequest, RequestTime
from hil.link.wire import Counters, Wire

LOG = logging.getLogger(__name__)
AGAIN_S, GREET_S = 2.0, 0.5  # how long to look for a reset of the board; from one greeting to the next


class Transport:
    """Send requests to an agent and receive its replies.

    Args:
        port: an open serial port with a short read time-out.
        nonce: 32 bits that distinguish this session from the one before.
        alive: called while waiting; raises Blocked if the other end is known to be gone.

    Attributes:
        request_time: how long the last answered `request` took.
    """

    def __init__(self, port: Serial, nonce: int, alive: Callable[[], None] = lambda: None) -> None:
        self._wire, self._nonce, self._alive = Wire(port, alive), nonce, alive
        self._flow = FlowControl(self._wire.networked)
        self._messages: Description = description()
        self._decoder = FrameDecoder(self._messages)
        self._seq = 0
        self._session_frames = 0  # received, of this session
        self._window = self._messages.max_body
        self.request_time = RequestTime(0.0, 0.0, 0)

    @property
    def counters(self) -> Counters:
        """Frames, repeats and bytes so far."""
        return self._wire.counters

    @property
    def networked(self) -> bool:
        """Whether the port is on a network, which may deliver a reply late."""
        return self._wire.networked

    def request(
        self, name: str, deadline_s: float = 60.0, poll_after_s: float = POLL_AFTER_S, **values: Any
    ) -> dict[str, Any]:
        """Send one request and return the fields of its reply.

        After the agent accepted the request, nothing is sent for `poll_after_s`; then the host polls. An energy window
        sets it longer than the window.

        Raises:
            Refused: the agent answered with an error.
            Silent: the agent does not answer, or sends nothing new.
            ProtocolMismatch: a frame does not fit the protocol.
            Blocked: the port is gone, or the board was reset.
            Faulted: the processor faulted.
        """
        sent, before = self._number(name, encode(self._messages.requests[name].request, values)), replace(self.counters)
        frames_before = self._session_frames
        pending, reset = PendingRequest(time.monotonic(), poll_after_s), ResetDetector(self._decoder, sent)
        self._flow.begin(pending.started)
        self._transmit(sent)
        while True:
            for frame in self._receive():
                now = time.monotonic()
                pending.frame_received()
                if reset.feed(frame):
                    raise self._reset_error(sent)
                if self._decoder.is_reply(frame, sent):
                    if not pending.is_accepted:  # else the time measures the work, not the line
                        self._flow.progress(now, pending.sent_once_at)
                    self.request_time = pending.time_taken(now, self.counters.frames_repeated - before.frames_repeated)
                    return self._decoder.reply(name, frame)
                if self._decoder.acknowledges(frame, sent) and pending.acknowledged(now):
                    self._flow.progress(now, pending.sent_once_at)
                else:
                    self._no_progress(frame, single=True)
            now = time.monotonic()
            if now - pending.started > deadline_s or (not pending.is_accepted and self._flow.is_over(now)):
                sentence = f"the agent did not answer {name!r} within {now - pending.started:.1f} s"
                self._give_up(sent, sentence, before, frames_before)
            if pending.is_poll_due(now):
                pending.polled(now)
                self._transmit(sent, again=True)
            elif pending.is_mute(now):
                if self._was_reset(sent, silent=False):
                    raise self._reset_error(sent)
                pending.double_patience()
            elif not pending.is_accepted and self._flow.is_due(now):
                self._flow.repeated(now, [sent.seq])
                pending.repeated(now)
                self._transmit(sent, again=True)

    def stream(self, name: str, bodies: Iterable[dict[str, Any]]) -> None:
        """Send windowed requests, several in flight at a time; return when all are acknowledged.

        Raises:
            Refused, Silent, ProtocolMismatch, Blocked, Faulted: as `request`.
        """
        fields = self._messages.requests[name].request
        numbered = (self._number(name, encode(fields, body)) for body in bodies)
        in_flight = InFlight(self._window)
        following = next(numbered, None)
        refusal: Refused | None = None
        before, frames_before = replace(self.counters), self._session_frames
        while in_flight.frames or following is not None:
            while following is not None and in_flight.has_room(len(following.wire)):
                now = time.monotonic()
                if not in_flight.frames:
                    self._flow.begin(now)
                in_flight.add(following, now)
                self._transmit(following)
                following = next(numbered, None)
            for frame in self._receive():
                control = self._decoder.control(frame)
                if refusal is None and control == "error" and in_flight.has(frame.seq):
                    refusal = self._decoder.refusal(name, frame)
                    if following is not None:
                        self._seq, following = following.seq, None  # it is not sent, so its number is free
                    in_flight.acknowledge(frame.seq + 1)
                    self._flow.progress(time.monotonic(), in_flight.sent_at)
                elif control in ("ack", "nak") and in_flight.acknowledge(self._decoder.expected(frame)):
                    self._flow.progress(time.monotonic(), in_flight.sent_at)
                elif in_flight.frames:
                    self._no_progress(frame, single=len(in_flight.frames) == 1)
            now = time.monotonic()
            if in_flight.frames and self._flow.is_over(now):
                waited = f"{self._flow.waited(now):.0f} s"
                sentence = f"the agent has accepted nothing new for {waited} during {name!r}"
                self._give_up(in_flight.frames[0], sentence, before, frames_before)
            if in_flight.frames and self._flow.is_due(now):
                again = list(in_flight.frames) if self._flow.repeat_all else [in_flight.frames[0]]
                self._flow.repeated(now, [sent.seq for sent in again])
                in_flight.repeated(sent.seq for sent in again)
                for sent in again:
                    self._transmit(sent, again=True)
        if refusal is not None:  # raised here because all frames in flight must arrive to keep the numbers in sequence
            raise refusal

    def _no_progress(self, frame: Frame, single: bool) -> None:
        """Count an answer that acknowledges nothing new; it extends no deadline."""
        if self._decoder.control(frame) == "nak":
            self.counters.naks += 1
            self._flow.nak_received(time.monotonic(), frame.seq, single)
        else:
            self.counters.stale += 1

    def _give_up(self, sent: SentRequest, sentence: str, before: Counters, frames_before: int) -> NoReturn:
        """Raise `Silent` with what arrived instead of an answer, or the reason: the other end exited, or a reset."""
        self._alive()
        received = self.counters.received_since(before)
        if sent.seq and self._was_reset(sent, silent=self._session_frames == frames_before):
            raise self._reset_error(sent)
        raise Silent(f"{sentence}{received}: {self._wire.cure}")

    @staticmethod
    def _reset_error(sent: SentRequest) -> Blocked:
        return Blocked(
            "link",
            f"the board was reset: it has forgotten the session of {sent.name!r}. "
            "Check its supply (brown-out) and its reset line, and whether its program resets it.",
        )

    def _was_reset(self, sent: SentRequest, silent: bool) -> bool:
        """Send `hello` with the known nonce again, repeat a request, and return whether the board was reset.

        After a reset this is the agent's first greeting, and it expects number 1. It then executes request 1 itself.
        For request 1 the reset shows only if the agent was `silent` before, for all repeats: an agent ignores the
        frames of an unknown session, and asks for damaged ones again.

        `silent` means that no undamaged frame of this session arrived since the request was first sent. A board that
        was reset in the middle of a frame asks for that frame again, in no session.
        """
        now, reset = time.monotonic(), ResetDetector(self._decoder, sent)
        greet_at, until = now, now + AGAIN_S
        while now < until:
            if now >= greet_at:  # more than once: a reply that the reset cut short spoils the frame after it
                greet_at = now + GREET_S
                for data in (self._hello_frame(self._nonce), sent.wire):
                    self._wire.send(data)
            for frame in self._receive():
                if reset.feed(frame):
                    return True
                if silent and sent.seq == 1 and self._decoder.is_reply(frame, sent):
                    return True
            now = time.monotonic()
        return False

    def _hello_values(self, nonce: int) -> dict[str, int]:
        return {"nonce": nonce, "protocol": self._messages.protocol}

    def _hello_frame(self, nonce: int) -> bytes:
        hello = self._messages.requests["hello"]
        return Frame(hello.id, nonce & 0xFF, 0, encode(hello.request, self._hello_values(nonce))).encode()

    def _number(self, name: str, body: bytes) -> SentRequest:
        seq = self._seq
        self._seq = (self._seq + 1) & 0xFFFF
        return SentRequest(seq, name, Frame(self._messages.requests[name].id, self._nonce & 0xFF, seq, body).encode())

    def _transmit(self, sent: SentRequest, again: bool = False) -> None:
        self.counters.frames_sent += 1
        self.counters.frames_repeated += again
        if again:
            LOG.info("%s, number %d, is sent again", sent.name, sent.seq)
        self._wire.send(sent.wire)

    def _receive(self) -> list[Frame]:
        """Return the frames of this session; raise Faulted if one of any session reports a fault."""
        found = []
        for frame in self._wire.receive():
            self._decoder.check_fault(frame)
            if frame.session == self._nonce & 0xFF:
                found.append(frame)
                self._session_frames += 1
                if self._decoder.control(frame) != "nak":
                    self._flow.answered(frame.seq, frame.type)
        return found
