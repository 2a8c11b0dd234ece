"""A meter without a wire: readings of a scene by a kind, a rate and errors, straight into a Capture."""

from __future__ import annotations

import numpy as np

from hil.benchmarks.energy.simulated_board import Load, SharedTrace
from hil.energy.capture import Capture, Edge
from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.truth import VirtualTime, mean_current

NONE = Flaws(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Scene:
    """A load under a reader; `window` lives through one window and returns what was read of it."""

    def __init__(
        self,
        load: Load,
        seed: int,
        interval_s: float,
        aperture_s: float,
        errors: Flaws = NONE,
        jitter: float = 0.0,
        sharp: bool = False,
    ):
        self.rng, self.time, self.load = np.random.default_rng(seed), VirtualTime(), load
        self.stage = SharedTrace(self.time, load)
        self.interval_s, self.aperture_s, self.errors, self.jitter, self.sharp = (
            interval_s,
            aperture_s,
            errors,
            jitter,
            sharp,
        )

    def window(self, steps: int, idle_s: float) -> Capture:
        begin = self.time.ps
        up = begin + round((idle_s + self.rng.uniform(0, 2 * self.interval_s)) * PS_PER_S)
        down = self.stage.window(up, steps, 1 + self.load.spread * self.rng.standard_normal())
        self.time.ps = down + round((idle_s + 3 * self.interval_s) * PS_PER_S)
        t = self._times(begin / PS_PER_S, self.time.ps / PS_PER_S - self.interval_s)
        begins = np.rint(t * PS_PER_S).astype(np.int64)
        aperture_ps = round(self.aperture_s * PS_PER_S)
        true = mean_current(self.stage, begins, aperture_ps) if aperture_ps else self.stage.current(begins)
        current = self.errors.current(true, self.aperture_s or 1.0, t - t[0], self.rng)
        volt = self.errors.voltage(self.load.volt, len(t), self.aperture_s or 1.0, self.rng)
        skew = 1 + self.errors.timebase
        edges = tuple(self._edge(time / PS_PER_S, t, level == 1) for time, level in self.stage.edges())
        edges = tuple(Edge(edge.t_s * skew, edge.half_s, edge.high) for edge in edges)
        return Capture(t * skew, current * volt, current, volt, self.aperture_s, self.interval_s, edges, 0.1, 0)

    def _times(self, begin: float, end: float) -> np.ndarray:
        n = int((end - begin) / self.interval_s)
        return begin + self.interval_s * (np.arange(n) + self.jitter * self.rng.uniform(0, 1, n))

    def _edge(self, at: float, t: np.ndarray, high: bool) -> Edge:
        """Known exactly, or noticed by the first reading that begins after it."""
        if self.sharp:
            return Edge(at, 0.0, high)
        seen = t[np.searchsorted(t, at)]
        return Edge(float(seen) - self.interval_s / 2, self.interval_s / 2, high)
