"""Numbered requests over a lossy line: window, repeats, each executed once and in order (docs/link.md)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NoReturn

from serial import Serial

from hil.errors import Blocked, RigError, shown
from hil.link.failures import Refused, Silent
from hil.link.flow_control import FlowControl
from hil.link.frame_decoder import FrameDecoder, ResetDetector
from hil.link.frames import DAMAGED, LinkFrame
from hil.link.in_flight import InFlight, SentRequest
from hil.link.messages import Description, Request, description, encode
from hil.link.pending_request import POLL_AFTER_S, PendingRequest, RequestTime
from hil.link.wire import CURE, Counters, Wire
from hil.steady_clock import steady_s

LOG = logging.getLogger(__name__)
AGAIN_S, GREET_S = 2.0, 0.5  # how long to look for a reset of the board; from one greeting to the next
QUESTIONS = 3  # damaged frames before a greeting: the end of a frame that the reset cut off may spoil one
REPLY_TOO_LONG = 0xFFFFFFFF  # HIL_REPLY_TOO_LONG of firmware/library/src/hil_agent.h


class Transport:
    """Send requests to an agent and receive its replies.

    Args:
        port: an open serial port with a short read time-out.
        nonce: 32 bits that distinguish this session from the one before.
        alive: called while waiting; raises Blocked if the other end is known to be gone.
        cure: what to do about a silent board, as `Wire`.
        lost_s: returns the seconds in which the other end, a stand-in, could not run; they count for no deadline.

    Attributes:
        request_time: how long the last answered `request` took.
    """

    def __init__(
        self,
        port: Serial,
        nonce: int,
        alive: Callable[[], None] = lambda: None,
        cure: str = CURE,
        lost_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._wire, self._nonce, self._alive, self._lost_s = Wire(port, alive, cure), nonce, alive, lost_s
        self._flow = FlowControl(self._wire.networked)
        self._messages: Description = description()
        self._decoder = FrameDecoder(self._messages)
        self._seq = 0
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
            RigError: the link has no such request, or the agent only acknowledges it.
            Refused: the agent answered with an error.
            Silent: the agent does not answer, or sends nothing new.
            ProtocolMismatch: a frame does not fit the protocol.
            Blocked: the port is gone, or the board was reset.
            Faulted: the processor faulted.
        """
        request = self._messages.request(name, windowed=False)
        return self._exchange(request, encode(request.request, values), deadline_s, poll_after_s)

    def ask(self, number: int, body: bytes = b"", deadline_s: float = 60.0) -> bytes:
        """Send a request of one's own and return the body of its reply (docs/how-to/agent-library.md).

        Args:
            number: with which the firmware has registered it: 0x20 to 0x3F.
            body: at most 1024 bytes.
            deadline_s: for the reply, in seconds.

        Raises:
            RigError: it is no such number, or the body is too long or no bytes.
            Refused: the firmware has not registered it, or its handler returned an error.
            Silent, ProtocolMismatch, Blocked, Faulted: as `request`.
        """
        request = self._messages.own_request(number)
        if not isinstance(body, (bytes, bytearray, memoryview)):
            raise RigError(f"the body of {request.name} must be bytes, not {shown(body)}: encode it.")
        if isinstance(deadline_s, bool) or not isinstance(deadline_s, (int, float)) or not deadline_s > 0:
            raise RigError(f"deadline_s={shown(deadline_s)}: give the seconds to wait for {request.name}, above 0.")
        try:
            reply: bytes = self._exchange(request, bytes(body), deadline_s, POLL_AFTER_S)["body"]
        except Refused as refused:
            raise self._own_refusal(refused, number) from None
        return reply

    def _own_refusal(self, refused: Refused, number: int) -> Refused:
        """Return a refusal of a request of one's own in words."""
        if refused.code == str(self._messages.own.error):
            did = f"returned the error {refused.a}"
            if refused.a == REPLY_TOO_LONG:
                did = f"gave a reply of more than {self._messages.max_body:,} bytes"
            said = f"the handler of {refused.request} in the firmware {did}."
            return Refused(refused.request, "own_error", refused.a, refused.b, said)
        if refused.code == "unknown_request":
            said = f"the firmware has no {refused.request}: register it with HIL_REQUEST({number:#04x}, handler)."
            return Refused(refused.request, refused.code, refused.a, refused.b, said)
        return refused

    def _exchange(self, request: Request, body: bytes, deadline_s: float, poll_after_s: float) -> dict[str, Any]:
        name = request.name
        sent, before = self._number(request, body), replace(self.counters)
        pending, reset = PendingRequest(steady_s(), poll_after_s), ResetDetector(self._decoder, sent)
        lost_before = self._lost_s()
        self._flow.begin(pending.started)
        self._transmit(sent)
        while True:
            for frame in self._receive():
                now = steady_s()
                pending.frame_received()
                if reset.feed(frame):
                    raise self._reset_error(sent)
                if self._decoder.is_reply(frame, sent):
                    if not pending.is_accepted:  # else the time measures the work, not the line
                        self._flow.progress(now, pending.sent_once_at)
                    self.request_time = pending.time_taken(now, self.counters.frames_repeated - before.frames_repeated)
                    return self._decoder.reply(request, frame)
                if self._decoder.acknowledges(frame, sent) and pending.acknowledged(now):
                    self._flow.progress(now, pending.sent_once_at)
                else:
                    self._no_progress(frame, single=True)
            now = steady_s()
            able = now - (self._lost_s() - lost_before)  # the time for deadlines
            if able - pending.started > deadline_s or (not pending.is_accepted and self._flow.is_over(able)):
                sentence = f"the agent did not answer {name!r} within {now - pending.started:.1f} s"
                self._give_up(sent, sentence, before)
            self._repeat_if_due(sent, pending, now)

    def _repeat_if_due(self, sent: SentRequest, pending: PendingRequest, now: float) -> None:
        """Send a request again if it is time to; raise `Blocked` if the board says nothing because it was reset."""
        if pending.is_poll_due(now):
            pending.polled(now)
            self._transmit(sent, again=True)
        elif pending.is_mute(now):
            if self._was_reset(sent):
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
        request = self._messages.request(name, windowed=True)
        numbered = (self._number(request, encode(request.request, body)) for body in bodies)
        in_flight = InFlight(self._window)
        following = next(numbered, None)
        refusal: Refused | None = None
        before, lost_before = replace(self.counters), self._lost_s()
        while in_flight.frames or following is not None:
            following = self._fill(in_flight, following, numbered)
            for frame in self._receive():
                control = self._decoder.control(frame)
                if refusal is None and control == "error" and in_flight.has(frame.seq):
                    refusal = self._decoder.refusal(name, frame)
                    if following is not None:
                        self._seq, following = following.seq, None  # it is not sent, so its number is free
                    in_flight.acknowledge(frame.seq + 1)
                    self._flow.progress(steady_s(), in_flight.sent_at)
                elif control in ("ack", "nak") and in_flight.acknowledge(self._decoder.expected(frame)):
                    self._flow.progress(steady_s(), in_flight.sent_at)
                    lost_before = self._lost_s()
                elif in_flight.frames:
                    self._no_progress(frame, single=len(in_flight.frames) == 1)
            now = steady_s()
            if in_flight.frames and self._flow.is_over(now - (self._lost_s() - lost_before)):
                waited = f"{self._flow.waited(now):.0f} s"
                sentence = f"the agent has accepted nothing new for {waited} during {name!r}"
                self._give_up(in_flight.frames[0], sentence, before)
            self._repeat_those_due(in_flight, now)
        if refusal is not None:  # raised here because all frames in flight must arrive to keep the numbers in sequence
            raise refusal

    def _fill(self, in_flight: InFlight, first: SentRequest | None, rest: Iterator[SentRequest]) -> SentRequest | None:
        """Send requests while there is room for them; return the first that has none, None if all are sent."""
        while first is not None and in_flight.has_room(len(first.wire)):
            now = steady_s()
            if not in_flight.frames:
                self._flow.begin(now)
            in_flight.add(first, now)
            self._transmit(first)
            first = next(rest, None)
        return first

    def _repeat_those_due(self, in_flight: InFlight, now: float) -> None:
        """Send the first request in flight again, or all of them, if it is time to."""
        if in_flight.frames and self._flow.is_due(now):
            again = list(in_flight.frames) if self._flow.repeat_all else [in_flight.frames[0]]
            self._flow.repeated(now, [sent.seq for sent in again])
            in_flight.repeated(sent.seq for sent in again)
            for sent in again:
                self._transmit(sent, again=True)

    def _no_progress(self, frame: LinkFrame, single: bool) -> None:
        """Count an answer that acknowledges nothing new; it extends no deadline."""
        if self._decoder.control(frame) == "nak":
            self.counters.naks += 1
            self._flow.nak_received(steady_s(), frame.seq, single)
        else:
            self.counters.stale += 1

    def _give_up(self, sent: SentRequest, sentence: str, before: Counters) -> NoReturn:
        """Raise `Silent` with what arrived instead of an answer, or the reason: the other end exited, or a reset."""
        self._alive()
        received = self.counters.received_since(before, self._wire.recent)
        if sent.seq and self._was_reset(sent):
            raise self._reset_error(sent)
        raise Silent(f"{sentence}{received}: {self._wire.cure}")

    @staticmethod
    def _reset_error(sent: SentRequest) -> Blocked:
        return Blocked(
            "link",
            f"the board was reset: it has forgotten the session of {sent.name!r}. "
            "Check its supply (brown-out) and its reset line, and whether its program resets it.",
        )

    def _was_reset(self, sent: SentRequest) -> bool:
        """Send `hello` with the known nonce again, repeat a request, and return whether the board was reset.

        After a reset this is the agent's first greeting, and it expects number 1. It then executes request 1 itself, as
        an agent does that was not reset. For request 1 the host therefore sends damaged frames before `hello`: an agent
        that was reset asks for them again in no session, any other in the session that it has.
        """
        now, reset = steady_s(), ResetDetector(self._decoder, sent)
        greet_at, until = now, now + AGAIN_S
        questions = [DAMAGED] * QUESTIONS if sent.seq == 1 else []
        while now < until:
            if now >= greet_at:  # more than once: a reply that the reset cut short spoils the frame after it
                greet_at = now + GREET_S
                for data in (*questions, self._hello_frame(self._nonce), sent.wire):
                    self._wire.send(data)
            for frame in self._receive(of_no_session=True):
                if reset.feed(frame):
                    return True
            now = steady_s()
        return False

    def _hello_values(self, nonce: int) -> dict[str, int]:
        return {"nonce": nonce, "protocol": self._messages.protocol}

    def _hello_frame(self, nonce: int) -> bytes:
        hello = self._messages.requests["hello"]
        return LinkFrame(hello.id, nonce & 0xFF, 0, encode(hello.request, self._hello_values(nonce))).encode()

    def _number(self, request: Request, body: bytes) -> SentRequest:
        """Give a request the next number. Raises RigError if no frame holds its body."""
        seq, most = self._seq, self._messages.max_body
        if len(body) > most:
            raise RigError(f"the body of {request.name} has {len(body):,} bytes, of at most {most:,}: split it.")
        self._seq = (self._seq + 1) & 0xFFFF
        return SentRequest(seq, request, LinkFrame(request.id, self._nonce & 0xFF, seq, body).encode())

    def _transmit(self, sent: SentRequest, again: bool = False) -> None:
        self.counters.frames_sent += 1
        self.counters.frames_repeated += again
        if again:
            LOG.info("%s, number %d, is sent again", sent.name, sent.seq)
        self._wire.send(sent.wire)

    def _receive(self, of_no_session: bool = False) -> list[LinkFrame]:
        """Return the frames of this session; raise Faulted if one of any session reports a fault.

        With `of_no_session`, return also the naks of an agent that knows no session.
        """
        found = []
        for frame in self._wire.receive():
            self._decoder.check_fault(frame)
            if frame.session == self._nonce & 0xFF:
                found.append(frame)
                if self._decoder.control(frame) != "nak":
                    self._flow.answered(frame.seq, frame.type)
            elif of_no_session and self._decoder.knows_no_session(frame):
                found.append(frame)
        return found
