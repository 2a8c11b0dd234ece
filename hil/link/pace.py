"""When a frame is sent again, and when nothing more is hoped for. Only progress counts: that the agent has taken something new."""

from __future__ import annotations

from collections import OrderedDict

REPEAT_AFTER_S = 0.3  # wall time without progress after which the oldest frame is sent again; a line that has shown to be slow gets longer
SLOWEST_S = 4.0  # the longest such time: a frame of 1 KB at 2,400 baud
NAK_PAUSE_S = 0.02  # lets the rest of a damaged window pass by before it is sent again
SILENCE_S = 8.0  # wall time without progress after which the agent counts as gone
REPEATS = 10  # that many repeats a slow line gets before
REMEMBERED = 64  # repeated frames whose second answer is waited for
SMOOTH, SPREAD, SPREADS = 1 / 8, 1 / 4, 4.0  # of the round trip: RFC 6298, section 2


class Pace:
    """The time of one exchange after the other, all of them on the same line.

    The round trip is learnt from progress without a repeat (RFC 6298; Karn's rule). A repeated frame that is answered twice was repeated too
    early: then the time doubles. So a slow line is not flooded, and one that loses frames does not have to wait for long.

    Attributes:
        whole: whether all that is on its way is to be sent again (the agent has asked for it), or the oldest frame only.
    """

    def __init__(self) -> None:
        self._after_s = REPEAT_AFTER_S
        self._round_s: float | None = None
        self._spread_s = 0.0
        self._sent_again: OrderedDict[int, set[int]] = OrderedDict()  # kinds of answers so far, by number
        self._since = self._due = 0.0
        self._repeats, self._pause_s = 0, NAK_PAUSE_S
        self._last_nak: int | None = None
        self.whole = False

    def begin(self, now: float) -> None:
        """The first frame of an exchange is sent."""
        self._start(now)

    def progress(self, now: float) -> None:
        """The agent has taken something new."""
        if not self._repeats:
            self._learn(now - self._since)
        self._start(now)

    def answered(self, seq: int, kind: int) -> None:
        """A frame was answered. One that was repeated and is answered twice in one kind was not lost: the line is slower than thought."""
        answers = self._sent_again.get(seq)
        if answers is None:
            return
        if kind in answers:
            self._after_s = min(2 * self._after_s, SLOWEST_S)
        answers.add(kind)

    def asked_again(self, now: float, seq: int, alone: bool) -> None:
        """A nak has come.

        Naks of one pass through the window come in the order of its frames, so a number that does not fall is of a pass that has been answered to.

        Args:
            now: the time.
            seq: number of the frame that it answers.
            alone: only one frame is on its way, and each nak answers one sending of it.
        """
        fresh = alone or self._last_nak is None or (seq - self._last_nak) & 0xFFFF >= 0x8000
        self._last_nak = seq
        if fresh and not self.whole:
            self.whole = True
            self._due = min(self._due, now + self._pause_s)

    def is_due(self, now: float) -> bool:
        """Whether it is time to send again."""
        return now >= self._due

    def repeated(self, now: float, seqs: list[int]) -> None:
        """Frames were sent again: a second answer to one tells something."""
        self._repeats += 1
        for seq in seqs:
            self._sent_again[seq] = set()
            self._sent_again.move_to_end(seq)
        while len(self._sent_again) > REMEMBERED:
            self._sent_again.popitem(last=False)
        if self.whole:
            self._pause_s = min(2 * self._pause_s, self._after_s)
        self.whole, self._due = False, now + self._after_s

    def is_over(self, now: float) -> bool:
        """Whether the agent counts as gone."""
        return now - self._since > max(SILENCE_S, REPEATS * self._after_s)

    def waited(self, now: float) -> float:
        """Return the seconds since the last progress."""
        return now - self._since

    def _start(self, now: float) -> None:
        self._since, self._due = now, now + self._after_s
        self._repeats, self._pause_s = 0, NAK_PAUSE_S
        self._last_nak, self.whole = None, False

    def _learn(self, round_s: float) -> None:
        if self._round_s is None:
            self._round_s, self._spread_s = round_s, round_s / 2
        else:
            self._spread_s += SPREAD * (abs(self._round_s - round_s) - self._spread_s)
            self._round_s += SMOOTH * (round_s - self._round_s)
        self._after_s = min(max(REPEAT_AFTER_S, self._round_s + SPREADS * self._spread_s), SLOWEST_S)
