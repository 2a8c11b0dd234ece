"""When to send a frame again, and when to give up. Only progress counts: the agent accepted something new."""

from __future__ import annotations

import math
from collections import OrderedDict

REPEAT_AFTER_S = 0.3  # shortest time without progress after which the oldest frame is sent again
SLOWEST_S = 4.0  # the longest: a frame of 1 KB at 2,400 baud
LATE_S = 2.0  # the longest that answers which came late make it: above a retransmission by TCP (RFC 6298: 1 s)
BACK_OFF_S = 0.9  # limit of the doubled wait: ten repeats take little longer than SILENCE_S
LOST = 3  # time-outs before the wait doubles, on a line that loses frames although the other end answers at once
FORGET = 0.998  # of that for each accepted frame: half of it after 350
NAK_PAUSE_S = 0.02  # lets the rest of a damaged window pass before it is sent again
SILENCE_S = 8.0  # time without progress after which the agent counts as gone
REPEATS = 10  # at least so many, and as many time-outs, before the agent counts as gone
REMEMBERED = 64  # repeated frames that are checked for a second answer
SMOOTH, SPREAD, SPREADS = 1 / 8, 1 / 4, 4.0  # of the round trip: RFC 6298, section 2


class FlowControl:
    """The retransmission timer of a line; one exchange follows the other.

    It measures the round trip of frames that were not repeated (RFC 6298; Karn's rule). If a repeated frame is answered
    twice, the repeat was too early and the time-out doubles.

    Besides, the wait doubles with every time-out until there is progress (RFC 6298, 5.5), up to `BACK_OFF_S`: a
    receiver that is slower than the repeats would never get to their end. On a line that is known to lose frames, the
    first repeats come at a constant rate. All times are wall time in seconds.

    Args:
        networked: whether the line is behind a network. Then the doubled time-out is forgotten slowly: TCP, which has
            delayed a frame by a retransmission, does so again.

    Attributes:
        repeat_all: whether to repeat all frames in flight (the agent sent a nak), or only the oldest.
    """

    def __init__(self, networked: bool = False) -> None:
        self._latest_s = LATE_S if networked else REPEAT_AFTER_S
        self._after_s = self._late_s = REPEAT_AFTER_S  # by the round trip, and by answers that came late
        self._round_s: float | None = None
        self._spread_s = 0.0
        self._sent_again: OrderedDict[int, set[int]] = OrderedDict()  # types of the answers so far, by frame number
        self._since = self._due = 0.0
        self._repeats, self._pause_s = 0, NAK_PAUSE_S
        self._timeouts = 0  # without an answer since
        self._repeated_at: float | None = None  # when the last time-out sent a frame again
        self._loses_frames = False
        self._last_nak: int | None = None
        self.repeat_all = False

    def begin(self, now: float) -> None:
        """Start the timer: the first frame of an exchange is sent."""
        self._since, self._due = now, now + self._timeout_s
        self._repeats, self._pause_s = 0, NAK_PAUSE_S
        self._timeouts, self._repeated_at = 0, None
        self._last_nak, self.repeat_all = None, False

    def progress(self, now: float, sent_at: float | None) -> None:
        """Restart the timer: the agent accepted a frame, sent at `sent_at`; None if it was sent more than once."""
        if not self._repeats:  # else the time is that of the repeats, and the doubled time-out stays
            if sent_at is not None:
                self._learn(now - sent_at)
            self._after_s = self._measured()
        elif self._repeated_at is not None and now - self._repeated_at <= self._estimate_s() < self._timeout_s / 2:
            self._loses_frames = True  # the answer came one round trip after the repeat: all copies before it were lost
        self._late_s *= FORGET
        self.begin(now)

    def answered(self, seq: int, kind: int) -> None:
        """Note an answer. A second answer of one type to a repeated frame shows that the frame was not lost."""
        answers = self._sent_again.get(seq)
        if answers is None:
            return
        if kind in answers:
            self._after_s = min(2 * self._after_s, SLOWEST_S)
            self._late_s = min(max(self._late_s, self._after_s), self._latest_s)
            self._loses_frames = False
        answers.add(kind)

    def nak_received(self, now: float, seq: int, single: bool) -> None:
        """Note a nak.

        The naks of one pass through the window arrive in the order of its frames. A nak whose number does not decrease
        therefore belongs to a pass that has already been repeated.

        `seq` is the number of the frame that the nak answers. With `single`, only one frame is in flight, so each nak
        answers one copy of it.
        """
        fresh = single or self._last_nak is None or (seq - self._last_nak) & 0xFFFF >= 0x8000
        self._last_nak = seq
        self._timeouts = 0  # the agent has read the line up to this frame
        if fresh and not self.repeat_all:
            self.repeat_all = True
            self._due = min(self._due, now + self._pause_s)

    def is_due(self, now: float) -> bool:
        """Return whether it is time to send again."""
        return now >= self._due

    def repeated(self, now: float, seqs: list[int]) -> None:
        """Note that the frames with these numbers were sent again."""
        self._repeats += 1
        for seq in seqs:
            self._sent_again[seq] = set()
            self._sent_again.move_to_end(seq)
        while len(self._sent_again) > REMEMBERED:
            self._sent_again.popitem(last=False)
        if self.repeat_all:
            self._pause_s = min(2 * self._pause_s, self._after_s)
        else:
            self._timeouts += 1
            self._repeated_at = now
        self.repeat_all, self._due = False, now + self._wait_s()

    def is_over(self, now: float) -> bool:
        """Return whether the agent counts as gone."""
        return self._repeats >= REPEATS and now - self._since > max(SILENCE_S, REPEATS * self._timeout_s)

    def waited(self, now: float) -> float:
        """Return the seconds since the last progress."""
        return now - self._since

    @property
    def _timeout_s(self) -> float:
        return max(self._after_s, self._late_s)

    def _wait_s(self) -> float:
        """Return how long to wait for the answer to a frame that was sent again."""
        doublings = max(0, self._timeouts - LOST) if self._loses_frames else self._timeouts
        return min(self._timeout_s * 2.0**doublings, max(BACK_OFF_S, self._timeout_s))

    def _learn(self, round_s: float) -> None:
        if self._round_s is None:
            self._round_s, self._spread_s = round_s, round_s / 2
        else:
            self._spread_s += SPREAD * (abs(self._round_s - round_s) - self._spread_s)
            self._round_s += SMOOTH * (round_s - self._round_s)

    def _estimate_s(self) -> float:
        """Return the round trip and its spread (RFC 6298, 2.3), or infinity before the first measurement."""
        return math.inf if self._round_s is None else self._round_s + SPREADS * self._spread_s

    def _measured(self) -> float:
        if self._round_s is None:
            return self._after_s
        return min(max(REPEAT_AFTER_S, self._estimate_s()), SLOWEST_S)
