"""What the coordinator of a simulated night costs: processor time by kind of call, its lock, its messages."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

WINDOW_S = 300.0  # loads are of such parts of the night
EVERY = 20


class LoadMeter:
    """Sums, each also by windows of the night.

    Args:
        now: returns the virtual time in seconds.

    Attributes:
        processor: measured processor seconds of the coordinator's own code, by kind.
        calls: answered calls, by kind.
        delays: virtual seconds from a call to its answer, by kind.
        busy: processor seconds by window; `locked`: virtual seconds in which the lock was held, by window.
        messages: messages to clients, by window; `rpcs`: calls, by window.
        most_sessions: most sessions at once.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._overhead_s = _overhead()
        self._begun: dict[str, int] = defaultdict(int)
        self._last: dict[str, float] = defaultdict(float)
        self.reset()

    def reset(self) -> None:
        """Forget everything so far."""
        self.processor: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)
        self.delays: dict[str, list[float]] = defaultdict(list)
        self.busy: dict[int, float] = defaultdict(float)
        self.locked: dict[int, float] = defaultdict(float)
        self.messages: dict[int, int] = defaultdict(int)
        self.rpcs: dict[int, int] = defaultdict(int)
        self.opened: dict[int, int] = defaultdict(int)
        self.most_sessions = 0

    async def timed(self, kind: str, coroutine: Any) -> Any:
        """Await a coroutine of the coordinator. Of `EVERY` of a kind one is timed, the others are charged the same.

        A look at the clock of processor time may take longer than a call.
        """
        timed_now = self.next_is_timed(kind)
        self._begun[kind] += 1
        if not timed_now:
            self.work(kind, self._last[kind])
            return await coroutine
        timed = _TimedCoroutine(coroutine, self._overhead_s)
        try:
            return await timed
        finally:
            self._last[kind] = timed.seconds
            self.work(kind, timed.seconds)

    def next_is_timed(self, kind: str) -> bool:
        """Return whether the next of a kind is timed."""
        return self._begun[kind] % EVERY == 0

    def begun(self, kind: str) -> int:
        """Return how many of a kind there were, calls or steps that the coordinator takes by itself."""
        return self._begun[kind]

    def work(self, kind: str, seconds: float) -> None:
        """Add processor time."""
        self.processor[kind] += seconds
        self.busy[self._window()] += seconds

    def answered(self, kind: str, delay_s: float) -> None:
        """Count a call that was answered, or whose deadline passed, after this virtual time."""
        self.calls[kind] += 1
        self.delays[kind].append(delay_s)
        self.rpcs[self._window()] += 1

    def message(self) -> None:
        """Count a message to a client."""
        self.messages[self._window()] += 1

    def session(self, at_once: int) -> None:
        """Count a session that was opened."""
        self.opened[self._window()] += 1
        self.most_sessions = max(self.most_sessions, at_once)

    def lock(self, since: float) -> None:
        """Add that the lock was held from `since` until now."""
        until = self._now()
        while since < until:
            window = int(since // WINDOW_S)
            part = min(until, (window + 1) * WINDOW_S)
            self.locked[window] += part - since
            since = part

    def _window(self) -> int:
        return int(self._now() // WINDOW_S)


class _TimedCoroutine:
    """A coroutine whose processor time is measured, without that of what it waits for."""

    def __init__(self, coroutine: Any, overhead_s: float) -> None:
        self._coroutine, self._overhead_s, self.seconds = coroutine, overhead_s, 0.0

    def __await__(self) -> Generator[Any, Any, Any]:
        step: Callable[[Any], Any] = self._coroutine.send
        given: Any = None
        while True:
            began = time.thread_time()
            try:
                awaited = step(given)
            except StopIteration as end:
                return end.value
            finally:
                self.seconds += max(0.0, time.thread_time() - began - self._overhead_s)
            try:
                given, step = (yield awaited), self._coroutine.send
            except BaseException as error:
                given, step = error, self._coroutine.throw


def _overhead() -> float:
    """Return the processor time between two looks at the clock with nothing between them."""
    looks = [time.thread_time() for _ in range(50)]
    return float(np.median(np.diff(looks)))


class WatchedLock(asyncio.Lock):
    """A lock that says how long it was held."""

    def __init__(self, meter: LoadMeter) -> None:
        super().__init__()
        self._meter, self._since = meter, 0.0

    async def acquire(self) -> bool:  # type: ignore[override]  # the base says that it is always true
        """Wait for the lock and take it."""
        taken = await super().acquire()
        self._since = self._meter._now()
        return taken

    def release(self) -> None:
        """Give the lock back."""
        self._meter.lock(self._since)
        super().release()
