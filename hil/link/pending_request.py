"""A request that waits for its reply: when to poll the agent, and how long the request took."""

from __future__ import annotations

from dataclasses import dataclass

POLL_AFTER_S = 1.0  # from the agent's acknowledgement to the first poll, and from poll to poll
MUTE_AFTER_S = 10.0  # of unanswered polls before a new hello; then twice as long, because a long step may not answer


@dataclass(frozen=True)
class RequestTime:
    """How long a request took, in seconds.

    Attributes:
        least_s: lower limit of the agent's work: from the accepted frame to the last acknowledgement or the reply.
        most_s: upper limit: from the first frame to the reply.
        again: frames that were sent again.
    """

    least_s: float
    most_s: float
    again: int


class PendingRequest:
    """A request without a reply so far, first sent at `now`. Times are in seconds on one monotonic clock.

    After the agent accepted it, nothing is sent for `poll_after_s`.
    """

    def __init__(self, now: float, poll_after_s: float) -> None:
        self.started = now
        self._sent_at = now  # when the frame that the agent accepted was sent
        self._poll_after_s = poll_after_s
        self._poll_at: float | None = None  # set once the agent accepted the request
        self._worked_s = 0.0  # by the last acknowledgement
        self._unanswered_since: float | None = None
        self._patience_s = MUTE_AFTER_S

    @property
    def is_accepted(self) -> bool:
        """Whether the agent acknowledged the request."""
        return self._poll_at is not None

    @property
    def sent_once_at(self) -> float | None:
        """When it was sent; None if it was sent again before the agent accepted it."""
        return self.started if self._sent_at == self.started else None

    def repeated(self, now: float) -> None:
        """Note that the request was sent again, before the agent accepted it."""
        self._sent_at = now

    def polled(self, now: float) -> None:
        """Note that the request was sent again, after the agent accepted it."""
        self._poll_at = now + self._poll_after_s
        if self._unanswered_since is None:
            self._unanswered_since = now

    def frame_received(self) -> None:
        """Note that an undamaged frame arrived."""
        self._unanswered_since = None

    def acknowledged(self, now: float) -> bool:
        """Note an acknowledgement; return whether it is the first."""
        self._worked_s = now - self._sent_at
        if self._poll_at is not None:
            return False
        self._poll_at = now + self._poll_after_s
        return True

    def is_poll_due(self, now: float) -> bool:
        """Return whether it is time to poll the agent."""
        return self._poll_at is not None and now >= self._poll_at

    def is_mute(self, now: float) -> bool:
        """Return whether polls have gone unanswered for so long that the agent needs a new hello."""
        return self._unanswered_since is not None and now - self._unanswered_since > self._patience_s

    def double_patience(self) -> None:
        """Wait twice as long next time: the agent was greeted and had not been reset."""
        self._unanswered_since, self._patience_s = None, 2 * self._patience_s

    def time_taken(self, now: float, again: int) -> RequestTime:
        """Return how long the request took, by the time of its reply and the number of frames that were sent again."""
        most_s = now - self.started
        return RequestTime(self._worked_s if again else most_s, most_s, again)
