"""The simulated board that the instruments measure: window after window, with exactly known energy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.truth import ScriptedTrace, VirtualTime

LONG_PS = 3600 * PS_PER_S  # duration of the last level
LEAST_LEVEL = 0.45  # of the phases of a step, over the largest


@dataclass(frozen=True)
class Load:
    """The current of a board."""

    step_s: float  # duration of a step
    shares: tuple[float, ...]  # of a step's time, with sum one
    levels_a: tuple[float, ...]  # current in each share
    idle_a: float  # current while asleep
    spread: float  # relative standard deviation of the current above idle between windows
    volt: float  # supply voltage

    @classmethod
    def draw(cls, rng: np.random.Generator, step_s: float, largest_a: float, spread: float, volt: float = 3.3) -> Load:
        """Draw a step of two to five phases with this largest current."""
        k = int(rng.integers(2, 6))
        shares = rng.dirichlet(np.full(k, 2.0))
        levels = rng.uniform(LEAST_LEVEL, 1.0, k)
        levels_a, idle_a = tuple(largest_a * levels / levels.max()), largest_a * float(rng.uniform(0.1, 0.35))
        return cls(step_s, tuple(shares), levels_a, idle_a, spread, volt)

    def net(self, burden_ohm: float) -> float:
        """Return the expected net energy of a step in joules, on the board's side of a meter with this resistance."""
        shares, levels = np.array(self.shares), np.array(self.levels_a)
        rise, square = shares @ levels - self.idle_a, shares @ levels**2 - self.idle_a**2
        return float(self.step_s * (self.volt * rise - burden_ohm * square))


class SharedTrace(ScriptedTrace):
    """A trace to which windows are appended; instruments, board and host share its clock."""

    def __init__(self, time: VirtualTime, load: Load) -> None:
        super().__init__(time, np.array([time.ps]), np.array([load.idle_a]), [], load.volt)
        self.time, self._load = time, load

    def window(self, begin_ps: int, steps: int, scale: float = 1.0) -> int:
        """Append a window and return the time of its last edge; the past is replaced by sleep.

        `scale` is a factor of the current above idle.
        """
        load = self._load
        ends = np.cumsum(load.shares) / np.sum(load.shares) * load.step_s * PS_PER_S
        parts = np.concatenate([[0.0], ends[:-1]])
        step_ps = load.step_s * PS_PER_S
        begins = begin_ps + np.rint(np.arange(steps)[:, None] * step_ps + parts).astype(np.int64).ravel()
        end_ps = begin_ps + round(steps * step_ps)
        levels = np.tile(load.idle_a + scale * (np.array(load.levels_a) - load.idle_a), steps)
        times = np.concatenate([[self.time.ps], begins, [end_ps, end_ps + LONG_PS]])
        currents = np.concatenate([[load.idle_a], levels, [load.idle_a] * 2])
        super().__init__(self.time, times, currents, [(begin_ps, 1), (end_ps, 0)], load.volt)
        return end_ps
