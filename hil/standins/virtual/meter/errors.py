"""The errors of one virtual instrument: drawn once within (or, to see a check fail, beyond) limits, and its noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Limits:
    """Limits of error: shares for gains and time base, amperes and volts for offsets; noise as the standard deviation at an aperture of a second."""

    gain: float
    offset_a: float
    voltage_gain: float
    voltage_offset_v: float
    timebase: float
    noise_a: float
    noise_v: float = 0.0
    drift_a_per_s: float = 0.0


class Errors(Limits):
    """What one instrument has of them: signed, within the limits it was drawn from."""

    @classmethod
    def draw(cls, limits: Limits, rng: np.random.Generator, beyond: float = 1.0) -> Errors:
        """Draw them, each uniform within its limits times `beyond`; noise is that of the limits: the rig sees more of it, and takes it into account."""
        one = {name: float(rng.uniform(-limit, limit)) * beyond for name, limit in vars(limits).items()}
        return cls(**one | {"noise_a": limits.noise_a, "noise_v": limits.noise_v})

    def current(self, true: np.ndarray, aperture_s: float, t_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return what is read of true mean currents: float64[n] amperes, each over an aperture, at times in seconds."""
        noise = rng.normal(0, self.noise_a / np.sqrt(aperture_s), true.shape) if self.noise_a else 0.0
        return true * (1 + self.gain) + self.offset_a + self.drift_a_per_s * t_s + noise

    def voltage(self, true: float, n: int, aperture_s: float, rng: np.random.Generator) -> np.ndarray:
        """Return n readings of a voltage."""
        noise = rng.normal(0, self.noise_v / np.sqrt(aperture_s), n) if self.noise_v else np.zeros(n)
        return true * (1 + self.voltage_gain) + self.voltage_offset_v + noise
