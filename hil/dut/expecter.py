"""pexpect over the bytes of a port, with a deadline in the time of a stand-in."""

from __future__ import annotations

import io
from collections.abc import Callable

import pexpect
from pexpect.spawnbase import SpawnBase

from hil.process_time import AbleTime


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
        """When it began, by `time.monotonic`."""
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


class Expecter(SpawnBase):  # type: ignore[misc]
    """pexpect's search in what comes. Its deadline is that of `more`: pexpect itself only knows wall time.

    Args:
        more: returns bytes that came, empty after the deadline.
    """

    def __init__(self, more: Callable[[], bytes]) -> None:
        super().__init__(timeout=None)
        self.delayafterread = None  # the port waits
        self._more = more

    def read_nonblocking(self, size: int = 1, timeout: float | None = None) -> bytes:
        """Return bytes that came. Raises pexpect.TIMEOUT after the deadline."""
        data = self._more()
        if not data:
            raise pexpect.TIMEOUT("")
        return data

    @property
    def unread(self) -> bytes:
        """All bytes that came and were not matched."""
        return bytes(self._before.getvalue())

    @unread.setter
    def unread(self, data: bytes) -> None:
        self.buffer = data  # the part that is searched
        self._before = io.BytesIO()
        self._before.write(data)
