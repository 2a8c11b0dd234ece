"""pexpect's search in the bytes of a port, with a deadline in the time of a stand-in, and in time linear in what comes.

pexpect searches all that it has not matched again with each part that comes. Here a match of new bytes begins at most
`WINDOW` bytes before them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pexpect
from pexpect.spawnbase import SpawnBase

from hil.process_time import AbleTime

WINDOW = 1 << 16  # bytes
Pattern: TypeAlias = "re.Pattern[bytes] | type[pexpect.EOF] | type[pexpect.TIMEOUT]"


class Deadline:
    """Some seconds from now, without those in which the other end, a stand-in, could not run.

    Args:
        seconds: None: never over.
        lost_s: returns the seconds in which the other end could not run.
    """

    def __init__(self, seconds: float | None, lost_s: Callable[[], float]) -> None:
        self._seconds, self._time = seconds, AbleTime(lost_s)
        self._last_look = False

    @property
    def began(self) -> float:
        """When it began, by `steady_s`."""
        return self._time.began

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return self._seconds is not None and self._time.seconds >= self._seconds

    def allows_a_look(self) -> bool:
        """Return whether to look for bytes: until the time is over, and once after it.

        This process may not have run in time to see what came in time; but a device that never stops must not extend
        the time.
        """
        if not self.is_over:
            return True
        allowed, self._last_look = not self._last_look, True
        return allowed


class Expecter:
    """The search by the rules of pexpect: of the matches that begin first, that of the pattern listed first.

    Args:
        more: returns bytes that came, empty after the deadline. Raises pexpect.EOF if no more can come.

    Attributes:
        data: all bytes that came and were not matched.
        before: bytes before the last match; all unread ones after a time-out.
        after: bytes of the last match, or pexpect.TIMEOUT or pexpect.EOF.
        match: the last match, or pexpect.TIMEOUT or pexpect.EOF.
    """

    def __init__(self, more: Callable[[], bytes]) -> None:
        self._more = more
        self.data = bytearray()
        self.before: Any = None
        self.after: Any = None
        self.match: Any = None

    @property
    def unread(self) -> bytes:
        """A copy of `data`."""
        return bytes(self.data)

    @unread.setter
    def unread(self, data: bytes) -> None:
        self.data = bytearray(data)

    def compiled(self, patterns: Sequence[Any]) -> list[Pattern]:
        """Return patterns as pexpect compiles them: `.` of one in text matches a line's end too. Raises re.error."""
        found: list[Pattern] = SpawnBase().compile_pattern_list(
            [each.encode() if isinstance(each, str) else each for each in patterns]
        )
        return found

    def expect(self, patterns: Sequence[Pattern], window: int | None) -> int:
        """Wait for a pattern, and return its index.

        Args:
            patterns: of `compiled`.
            window: search only this many of the last bytes; None: all that is there, and then with each part that comes
                the last `WINDOW` bytes before it.

        Raises:
            pexpect.TIMEOUT, pexpect.EOF: of `more`, if they are not listed.
        """
        data, searched = self.data, 0
        try:
            while True:
                begin = max(0, searched - WINDOW if window is None else len(data) - window)
                index = self._search(patterns, data, begin)
                if index is not None:
                    return index
                searched = len(data)
                came = self._more()
                self.data = data  # a port that was opened again has discarded it
                if not came:
                    return self._ended(patterns, pexpect.TIMEOUT, pexpect.TIMEOUT(""))
                data += came
        except pexpect.EOF as gone:
            return self._ended(patterns, pexpect.EOF, gone)

    def _search(self, patterns: Sequence[Pattern], data: bytearray, begin: int) -> int | None:
        first: tuple[int, int] | None = None
        for index, pattern in enumerate(patterns):
            if isinstance(pattern, re.Pattern) and (found := pattern.search(data, begin)) is not None:
                first = min(first or (found.start(), index), (found.start(), index))
        if first is None:
            return None
        start, index = first
        self.match = _kept(patterns[index], data, begin)
        end = self.match.end()
        self.before, self.after = bytes(data[:start]), self.match[0]
        del data[:end]
        return index

    def _ended(self, patterns: Sequence[Pattern], kind: Any, error: BaseException) -> int:
        self.before, self.after, self.match = bytes(self.data), kind, None
        if kind is pexpect.EOF:
            self.data.clear()
        if kind not in patterns:
            raise error
        self.match = kind
        return patterns.index(kind)


def _kept(pattern: Any, data: bytearray, begin: int) -> re.Match[bytes]:
    """Return the match in `data`, of bytes that nobody changes: without what comes after it, unless that decides it."""
    found = pattern.search(data, begin)
    spans = [found.span(group) for group in range(pattern.groups + 1)]
    short = pattern.search(bytes(data[: found.end()]), begin)
    if short is not None and spans == [short.span(group) for group in range(pattern.groups + 1)]:
        return short  # type: ignore[no-any-return]
    return pattern.search(bytes(data), begin)  # type: ignore[no-any-return]
