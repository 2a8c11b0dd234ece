"""Systematic errors, noise and clock of one virtual instrument."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FlawLimits:
    """Limits of error.

    Gains and time base are relative. Offsets are in A and V, the drift in A/s. Noise is the standard deviation in A and
    V at an aperture of 1 s.
    """

    gain: float
    offset_a: float
    voltage_gain: float
    voltage_offset_v: float
    timebase: float
    noise_a: float
    noise_v: float = 0.0
    drift_a_per_s: float = 0.0


class Flaws(FlawLimits):
    """Errors of one instrument: signed, drawn once within limits."""

    @classmethod
    def draw(cls, limits: FlawLimits, rng: np.random.Generator, beyond: float = 1.0) -> Flaws:
        """Draw each error uniformly within its limit times `beyond`.

        With `beyond` above 1 a test can make a check fail. Noise is not drawn: it is that of the limits.
        """
        one = {name: float(rng.uniform(-limit, limit)) * beyond for name, limit in vars(limits).items()}
        return cls(**one | {"noise_a": limits.noise_a, "noise_v": limits.noise_v})

    def current(self, true: np.ndarray, aperture_s: float, t_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return readings of true mean currents over an aperture: float64[n] A; `t_s` is the time of each [s]."""
        noise = rng.normal(0, self.noise_a / np.sqrt(aperture_s), true.shape) if self.noise_a else 0.0
        return true * (1 + self.gain) + self.offset_a + self.drift_a_per_s * t_s + noise

    def voltage(self, true: float, n: int, aperture_s: float, rng: np.random.Generator) -> np.ndarray:
        """Return n readings of a voltage: float64[n] V."""
        noise = rng.normal(0, self.noise_v / np.sqrt(aperture_s), n) if self.noise_v else np.zeros(n)
        return true * (1 + self.voltage_gain) + self.voltage_offset_v + noise


class Timebase:
    """Conversion between true time and an instrument's own time.

    Args:
        error: relative error of the clock; 50e-6 for a clock that is fast by 50 ppm.
    """

    def __init__(self, error: float) -> None:
        self._rate = 1 + error

    def own(self, true_ps: int) -> int:
        """Return the instrument's time at a true time; picoseconds."""
        return round(true_ps * self._rate)

    def true(self, own_ps: np.ndarray) -> np.ndarray:
        """Return the true times of times of the instrument; int64[n] picoseconds."""
        return np.rint(own_ps / self._rate).astype(np.int64)
