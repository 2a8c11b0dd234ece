"""One energy window: what a meter saw before, during and after the steps between two edges of the marker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

PHASES = ("idle before", "steps", "idle after")


@dataclass(frozen=True)
class Readings:
    """Readings of a stretch: begin of each aperture in seconds, current in amperes, voltage in volts; arrays of one length."""

    t_s: np.ndarray
    current_a: np.ndarray
    voltage_v: np.ndarray

    def between(self, begin: float, end: float) -> Readings:
        """Return the readings that begin in a stretch of time."""
        chosen = (self.t_s >= begin) & (self.t_s < end)
        return Readings(self.t_s[chosen], self.current_a[chosen], self.voltage_v[chosen])

    @property
    def power_w(self) -> np.ndarray:
        """Power of each reading: the product of its own voltage and current, never of means."""
        return self.current_a * self.voltage_v


@dataclass(frozen=True)
class WindowTrace:
    """The readings before, between and after the two edges, `interval_s` apart, each the mean over `aperture_s`."""

    before: Readings
    steps: Readings
    after: Readings
    interval_s: float
    aperture_s: float

    @property
    def duration_s(self) -> float:
        """Time between the edges: both are found up to one interval late, by the reading that begins next."""
        return float(self.after.t_s[0] - self.steps.t_s[0])

    def idle(self, idle_s: float) -> Readings:
        """Return the readings of the sleep before the first and behind the second edge, without those that reach over an edge."""
        first, second = float(self.steps.t_s[0]), float(self.after.t_s[0])
        before = self.before.between(first - 0.9 * idle_s, first - 1.5 * self.interval_s)
        after = self.after.between(second, second + 0.9 * idle_s)
        pairs = ((a, b) for a, b in zip(vars(before).values(), vars(after).values(), strict=True))
        return Readings(*(np.concatenate(pair) for pair in pairs))

    def table(self, number: int) -> pd.DataFrame:
        """Return the power trace: t_s from the first edge, power_w, window, phase."""
        parts = zip(PHASES, (self.before, self.steps, self.after), strict=True)
        frames = [pd.DataFrame({"t_s": r.t_s, "power_w": r.power_w, "window": number, "phase": p}) for p, r in parts]
        table = pd.concat(frames, ignore_index=True)
        table["t_s"] -= float(self.steps.t_s[0])
        return table
