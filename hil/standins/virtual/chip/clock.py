"""Virtual time in picoseconds, from executed instructions, the core's clock, and sleep.

The model has one cost: an instruction takes one core clock cycle. Cycles and seconds are therefore modelled, not
measured: they do not include memory latency, dual issue and branch prediction of a real core. Times are integers: a
deadline converted to an instruction count and back is never too early.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

PS_PER_S = 10**12
SLEEPS_KEPT = 100_000


class Clock:
    """Virtual time in integer picoseconds.

    Args:
        count: returns the number of instructions executed since power-on.
        hz: clock frequency of the core.
    """

    def __init__(self, count: Callable[[], int], hz: int) -> None:
        self._count = count
        self._slow = 0.0
        self.hz = hz
        self._base_ps = 0
        self._base_count = count()
        self.asleep_ps = 0
        # Begin and end of the latest sleeps: the model of the current needs them.
        self.sleeps: deque[tuple[int, int]] = deque(maxlen=SLEEPS_KEPT)

    @property
    def now(self) -> int:
        """Virtual time since power-on in picoseconds."""
        return self._base_ps + (self._count() - self._base_count) * PS_PER_S // self.hz

    def set_frequency(self, hz: int) -> None:
        """Change the clock frequency of the core from now on."""
        self._base_ps, self._base_count = self.now, self._count()
        self.hz = round(hz * (1 - self._slow))

    def go_slow(self, share: float) -> None:
        """Let the core's clock be slower than its registers say from now on, by a share of it: a wrong oscillator."""
        self._slow = share
        self.set_frequency(self.hz)

    def count_at(self, deadline: int) -> int:
        """Return the instruction count at which virtual time reaches `deadline` (picoseconds)."""
        return self._base_count + -(-(deadline - self._base_ps) * self.hz // PS_PER_S)

    def sleep_until(self, deadline: int) -> None:
        """Advance time while the core sleeps; a deadline in the past has no effect."""
        begin = self.now
        self._pass_until(deadline)
        if deadline > begin:
            self.sleeps.append((begin, deadline))

    def wait_until(self, deadline: int) -> None:
        """Advance time without instructions while the core is awake (a stalled bus)."""
        asleep = self.asleep_ps
        self._pass_until(deadline)
        self.asleep_ps = asleep

    def _pass_until(self, deadline: int) -> None:
        now = self.now
        if deadline > now:
            self.asleep_ps += deadline - now
            self._base_ps, self._base_count = deadline, self._count()
