"""The time of a run: the computer's clock at its begin, and from there on a clock that nobody sets."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone


@dataclass(frozen=True)
class SteadyClock:
    """UTC that runs on evenly if the computer's clock is set back or forward.

    Other processes of this computer may use it too: the monotonic clock is one for the whole system (clock_gettime(2)).

    Attributes:
        unix_s: UNIX time when this clock was set.
        monotonic_s: `time.monotonic()` at that moment.
    """

    unix_s: float
    monotonic_s: float

    @classmethod
    def set(cls) -> SteadyClock:
        """Return a clock that is set by the computer's clock now."""
        return cls(time.time(), time.monotonic())

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.fromtimestamp(self.unix_s + time.monotonic() - self.monotonic_s, timezone.utc)

    def stamp(self) -> str:
        """Return the time as the record has it, to the second."""
        return self.now().isoformat(timespec="seconds")
