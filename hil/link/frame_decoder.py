"""Decode the agent's frames by the description of the protocol (docs/link.md)."""

from __future__ import annotations

from typing import Any

from hil.link.failures import Faulted, ProtocolMismatch, Refused
from hil.link.frames import LinkFrame
from hil.link.in_flight import SentRequest
from hil.link.messages import REPLY_BIT, Description, Fields, MessageError, Request, decode


class FrameDecoder:
    """Classify and decode frames.

    Every method that decodes a body raises ProtocolMismatch if its length does not fit the description.
    """

    def __init__(self, messages: Description) -> None:
        self._messages = messages
        self._controls = {control.id: control for control in messages.controls.values()}

    def check_fault(self, frame: LinkFrame) -> None:
        """Raise Faulted if the frame reports a fault of the processor."""
        if self.control(frame) == "fault":
            raise Faulted(**self._decoded("fault", self._messages.controls["fault"].fields, frame))

    def control(self, frame: LinkFrame) -> str:
        """Return the name of a control frame, as in messages.toml; empty for the reply to a request."""
        found = self._controls.get(frame.type)
        return found.name if found is not None else ""

    def is_greeting(self, frame: LinkFrame) -> bool:
        """Return whether the frame is the reply to `hello`."""
        return frame.type == self._messages.requests["hello"].id | REPLY_BIT

    def is_reply(self, frame: LinkFrame, sent: SentRequest) -> bool:
        """Return whether the frame ends a request, by its reply or by an error."""
        wanted = sent.request.id | REPLY_BIT
        return frame.seq == sent.seq and (frame.type == wanted or self.control(frame) == "error")

    def acknowledges(self, frame: LinkFrame, sent: SentRequest) -> bool:
        """Return whether the frame says that the agent accepted a request."""
        return self.control(frame) == "ack" and sent.is_before(self.expected(frame))

    def requests_first(self, frame: LinkFrame, sent: SentRequest) -> bool:
        """Return whether the agent answers a request other than the first by asking for the first."""
        return self.control(frame) == "nak" and frame.seq == sent.seq and self.expected(frame) == 1 < sent.seq

    def knows_no_session(self, frame: LinkFrame) -> bool:
        """Return whether the frame is the nak of an agent that has had no `hello` since it started.

        Once it has had one, its naks carry the session, and it expects number 1 or a later one.
        """
        return self.control(frame) == "nak" and frame.session == frame.seq == self.expected(frame) == 0

    def expected(self, frame: LinkFrame) -> int:
        """Return the number that an ack or nak says is expected next."""
        control = self._controls[frame.type]
        expected: int = self._decoded(control.name, control.fields, frame)["expected"]
        return expected

    def refusal(self, name: str, frame: LinkFrame) -> Refused:
        """Return the exception for an error frame that answers the request `name`."""
        error = self._decoded("error", self._messages.controls["error"].fields, frame)
        return Refused(name, self._messages.errors.get(error["code"], str(error["code"])), error["a"], error["b"])

    def reply(self, request: Request, frame: LinkFrame) -> dict[str, Any]:
        """Return the fields of the reply to a request; raise Refused if the frame is an error."""
        if self.control(frame) == "error":
            raise self.refusal(request.name, frame)
        return self._decoded(request.name, request.reply, frame)

    @staticmethod
    def _decoded(name: str, fields: Fields, frame: LinkFrame) -> dict[str, Any]:
        try:
            return decode(fields, frame.body)
        except MessageError as error:
            raise ProtocolMismatch(name, str(error)) from error


class ResetDetector:
    """Detect a reset of the agent: it answers a greeting, and a nak shows that it has forgotten the session.

    The nak asks for request 1 although another was sent, or, before the greeting, knows no session. It is not enough
    alone: a line may repeat an old nak without end.
    """

    def __init__(self, decoder: FrameDecoder, sent: SentRequest) -> None:
        self._decoder, self._sent, self._greeted, self._forgotten = decoder, sent, False, False

    def feed(self, frame: LinkFrame) -> bool:
        """Add a frame; return whether it completes the signs of a reset."""
        self._forgotten |= self._decoder.knows_no_session(frame)
        greets = self._decoder.is_greeting(frame)
        self._greeted |= greets
        return (greets and self._forgotten) or (self._greeted and self._decoder.requests_first(frame, self._sent))
