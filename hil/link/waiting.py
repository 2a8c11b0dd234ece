"""A request whose reply is waited for: when the agent is asked again, and what the request took."""

from __future__ import annotations

from dataclasses import dataclass

POLL_AFTER_S = 1.0  # after the agent has said that it works on the request
MUTE_AFTER_S = 10.0  # of polls without an answer; then twice as long, and so on: in a long step it answers nothing


@dataclass(frozen=True)
class Took:
    """What a request took.

    Attributes:
        least_s: seconds that the agent has worked on it at least: from the frame that it took to its last
            acknowledgement or its reply.
        most_s: seconds that it can have worked on it at most: from the first frame to the reply.
        again: frames that were sent again.
    """

    least_s: float
    most_s: float
    again: int


class Waiting:
    """A request that was sent. Times are those of one monotonic clock, in seconds.

    Args:
        now: when it was sent first.
        poll_after_s: how long nothing is sent once the agent has taken it.

    Attributes:
        started: when it was sent first.
    """

    def __init__(self, now: float, poll_after_s: float) -> None:
        self.started = now
        self._sent_at = now  # the frame that the agent has
        self._poll_after_s = poll_after_s
        self._poll_at: float | None = None  # once the agent has taken it
        self._worked_s = 0.0  # by the last acknowledgement
        self._unanswered_since: float | None = None
        self._patience_s = MUTE_AFTER_S

    @property
    def is_taken(self) -> bool:
        """Whether the agent has said that it works on the request."""
        return self._poll_at is not None

    def repeated(self, now: float) -> None:
        """The request, which the agent has not taken, was sent again."""
        self._sent_at = now

    def polled(self, now: float) -> None:
        """The request, which the agent has taken, was sent again."""
        self._poll_at = now + self._poll_after_s
        if self._unanswered_since is None:
            self._unanswered_since = now

    def heard(self) -> None:
        """A whole frame has come."""
        self._unanswered_since = None

    def acknowledged(self, now: float) -> bool:
        """The agent has said that it has the request; return whether that is new."""
        self._worked_s = now - self._sent_at
        if self._poll_at is not None:
            return False
        self._poll_at = now + self._poll_after_s
        return True

    def is_poll_due(self, now: float) -> bool:
        """Whether it is time to ask the agent again."""
        return self._poll_at is not None and now >= self._poll_at

    def is_mute(self, now: float) -> bool:
        """Whether the agent has answered no poll for so long that it is to be greeted."""
        return self._unanswered_since is not None and now - self._unanswered_since > self._patience_s

    def be_patient(self) -> None:
        """The agent was greeted and has not been reset: wait twice as long."""
        self._unanswered_since, self._patience_s = None, 2 * self._patience_s

    def took(self, now: float, again: int) -> Took:
        """Return what the request took, whose reply has come.

        Args:
            now: when it came.
            again: frames that were sent again.
        """
        most_s = now - self.started
        return Took(self._worked_s if again else most_s, most_s, again)
