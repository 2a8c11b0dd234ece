"""A window of a meter that may never come: read in a thread of its own, awaited within a bound and not silently."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from hil.errors import Blocked
from hil.steady_clock import steady_s
from hil.threads import start

T = TypeVar("T")
TOLD_S = 3.0  # of waiting, after which the operator is told
SPARE_S = 10.0  # for a driver that has reached its deadline, to say so


class Awaited(Generic[T]):
    """Reads a window in a thread while something else runs.

    Args:
        read: returns the window, or raises. It keeps the deadline if its driver does.
        meter: name of the meter, for messages.
        deadline_s: of the driver, in seconds from now.
        tell: called with a sentence for the operator.

    Raises MemoryError or RuntimeError if there is no memory for a thread.
    """

    def __init__(self, read: Callable[[], T], meter: str, deadline_s: float, tell: Callable[[str], None]) -> None:
        self._read, self._meter, self._tell = read, meter, tell
        self._began = steady_s()
        self._until = self._began + deadline_s + SPARE_S
        self._found: list[T] = []
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        start(self._thread)

    def _run(self) -> None:
        try:
            self._found.append(self._read())
        except Exception as error:  # handed to the thread that waits
            self._error = error

    def result(self, soon_s: float = 0.0, most_s: float = math.inf) -> T:
        """Return the window, which is expected in `soon_s` seconds.

        Args:
            soon_s: after which waiting for it begins to be worth a word.
            most_s: to wait for it at most, also before the deadline.

        Raises Blocked if it is not there in time, or soon after the deadline; else what `read` raised.
        """
        self._until = min(self._until, steady_s() + most_s)
        self._thread.join(min(soon_s + TOLD_S, self._left_s))
        if self._thread.is_alive() and self._left_s > TOLD_S:
            at = time.strftime("%H:%M:%S", time.localtime(time.time() + self._left_s))
            self._tell(
                f"the {self._meter} has not returned the window that is over: waiting for it until {at} at most "
                f"({self._left_s:.0f} s)."
            )
        self._thread.join(self._left_s)
        if self._error is not None:
            raise self._error
        if not self._found:
            within_s = self._until - self._began
            raise Blocked(
                "meter",
                f"the {self._meter} did not end its window within {within_s:.0f} s: power it down and up, or correct "
                "its driver if it is that of a plugin.",
            )
        return self._found[0]

    @property
    def _left_s(self) -> float:
        return max(0.0, self._until - steady_s())
