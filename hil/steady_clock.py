"""The time of a run: the computer's clock at its begin, and from there on a clock that nobody sets."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone


class _Kept:
    """The functions as they were when the rig was loaded.

    Libraries that stop the time of a test, such as freezegun, replace `time.monotonic` and `time.time` in every module
    that has them under a name. They do not look into classes.
    """

    monotonic, unix = staticmethod(time.monotonic), staticmethod(time.time)


def steady_s() -> float:
    """Return the seconds of the monotonic clock, also while a test has stopped or replaced `time.monotonic`.

    Deadlines and durations of the rig are taken from it: a device goes on meanwhile.
    """
    return _Kept.monotonic()


@dataclass(frozen=True)
class SteadyClock:
    """UTC that runs on evenly if the computer's clock is set back or forward.

    Other processes of this computer may use it too: the monotonic clock is one for the whole system (clock_gettime(2)).

    Attributes:
        unix_s: UNIX time when this clock was set.
        monotonic_s: `steady_s()` at that moment.
    """

    unix_s: float
    monotonic_s: float

    @classmethod
    def set(cls) -> SteadyClock:
        """Return a clock that is set by the computer's clock now."""
        return cls(_Kept.unix(), steady_s())

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.fromtimestamp(self.unix_s + steady_s() - self.monotonic_s, timezone.utc)

    def stamp(self) -> str:
        """Return the time as the record has it, to the second."""
        return self.now().isoformat(timespec="seconds")
