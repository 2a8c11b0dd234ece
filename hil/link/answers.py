"""What a frame of the agent says, by the description of the protocol (docs/link.md)."""

from __future__ import annotations

from typing import Any

from hil.link.failures import Faulted, Misfit, Refused
from hil.link.flying import Sent
from hil.link.frames import Frame
from hil.link.messages import REPLY_BIT, Description, Fields, MessageError, decode


class Answers:
    """Reads frames.

    Args:
        messages: the description of the protocol.
    """

    def __init__(self, messages: Description) -> None:
        self._messages = messages
        self._controls = {control.id: control for control in messages.controls.values()}
        self._ids = {name: control.id for name, control in messages.controls.items()}
        self._greeting = messages.requests["hello"].id | REPLY_BIT

    def check_fault(self, frame: Frame) -> None:
        """Raise `Faulted` where a frame says that the processor has faulted."""
        if frame.type == self._ids["fault"]:
            raise Faulted(**self._decoded("fault", self._messages.controls["fault"].fields, frame))

    def is_error(self, frame: Frame) -> bool:
        """Whether the agent refuses a request."""
        return frame.type == self._ids["error"]

    def is_nak(self, frame: Frame) -> bool:
        """Whether the agent asks for frames again."""
        return frame.type == self._ids["nak"]

    def is_control(self, frame: Frame) -> bool:
        """Whether a frame says which number is expected next."""
        return frame.type in (self._ids["ack"], self._ids["nak"])

    def is_greeting(self, frame: Frame) -> bool:
        """Whether the agent answers a greeting."""
        return frame.type == self._greeting

    def is_reply(self, frame: Frame, sent: Sent) -> bool:
        """Whether a frame ends a request: by its reply, or by a refusal."""
        wanted = self._messages.requests[sent.name].id | REPLY_BIT
        return frame.seq == sent.seq and frame.type in (wanted, self._ids["error"])

    def acknowledges(self, frame: Frame, sent: Sent) -> bool:
        """Whether a frame says that the agent has taken a request.

        Raises:
            Misfit: it is no such frame by its length.
        """
        return frame.type == self._ids["ack"] and sent.is_before(self.expected(frame))

    def asks_for_first(self, frame: Frame, sent: Sent) -> bool:
        """Whether the agent, asked for another request than the first, expects the first.

        Raises:
            Misfit: the frame does not fit the protocol by its length.
        """
        return self.is_nak(frame) and frame.seq == sent.seq and self.expected(frame) == 1 < sent.seq

    def expected(self, frame: Frame) -> int:
        """Return the number that an ack or nak says is expected next.

        Raises:
            Misfit: the frame does not fit the protocol by its length.
        """
        control = self._controls[frame.type]
        expected: int = self._decoded(control.name, control.fields, frame)["expected"]
        return expected

    def refusal(self, name: str, frame: Frame) -> Refused:
        """Return what an error says of a request.

        Raises:
            Misfit: the frame does not fit the protocol by its length.
        """
        error = self._decoded("error", self._messages.controls["error"].fields, frame)
        return Refused(name, self._messages.errors.get(error["code"], str(error["code"])), error["a"], error["b"])

    def reply(self, name: str, frame: Frame) -> dict[str, Any]:
        """Return the fields of a reply.

        Raises:
            Refused: the agent answered with an error.
            Misfit: the frame does not fit the protocol.
        """
        if self.is_error(frame):
            raise self.refusal(name, frame)
        return self._decoded(name, self._messages.requests[name].reply, frame)

    @staticmethod
    def _decoded(name: str, fields: Fields, frame: Frame) -> dict[str, Any]:
        try:
            return decode(fields, frame.body)
        except MessageError as error:
            raise Misfit(name, str(error)) from error


class ResetSigns:
    """Whether an agent was reset: it answers a greeting, and asks for request 1 where another was sent.

    The second alone is no sign: a line may repeat an old nak for ever.

    Args:
        answers: reads the frames.
        sent: the request.
    """

    def __init__(self, answers: Answers, sent: Sent) -> None:
        self._answers, self._sent, self._greeted = answers, sent, False

    def are_in(self, frame: Frame) -> bool:
        """Take a frame, and return whether the agent was reset by what has come so far."""
        self._greeted |= self._answers.is_greeting(frame)
        return self._greeted and self._answers.asks_for_first(frame, self._sent)
