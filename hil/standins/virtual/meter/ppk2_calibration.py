"""The calibration of one virtual Power Profiler Kit II: what it tells of itself, and the readings of its converter.

The conversion from readings to amperes, which is inverted here, is that of Nordic's app (pc-nrfconnect-ppk,
src/device/serialDevice.ts). With a reading a of four times the converter's 14 bits, the voltage V at the load, and the
constants of the range:

    x = (a - O) * 1.8 / 163840 / R
    current = UG * (x * (GS * x + GI) + S * V + I)

The constants are drawn around those that owners of real kits have published (the example in ppk2-rs, src/types.rs).
"""

from __future__ import annotations

import numpy as np

RANGES = 5
FULL_SCALE = (1 << 14) - 1
VOLT_PER_COUNT = 4 * 1.8 / 163840  # of the 14 bits, at the shunt

# Centre of each constant by range, and its spread: of the relative ones as a fraction, of O in readings.
_RELATIVE = {
    "R": ((1010.0, 101.6, 10.25, 0.955, 0.052), 0.03), "GS": ((0.0, 113.0, 18.0, 2.4, 0.073), 0.15),
    "GI": ((1.0, 0.97, 0.96, 0.952, 0.958), 0.02), "S": ((4.8e-8, 6.0e-7, 5.3e-6, 6.3e-5, 2.9e-3), 0.15),
    "I": ((-1.0e-7, -1.4e-6, 3.6e-5, -3.7e-4, -9.4e-3), 0.15), "UG": ((1.0, 1.0, 1.0, 1.0, 1.0), 0.05),
}  # fmt: skip
_OFFSET = ((113.0, 75.0, 85.0, 60.0, 87.0), 20.0)
_BEFORE_VDD, _AFTER_MODE = ("R", "GS", "GI", "O"), ("S", "I", "UG")


class Calibration:
    """Constants of one kit, float32[5] each, as in its memory.

    The converter reads what these constants make right: they include the user's gains with which the kit was delivered.

    Args:
        rng: generator that draws them.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.constants = {
            name: (np.array(centre) * (1 + rng.uniform(-spread, spread, RANGES))).astype(np.float32)
            for name, (centre, spread) in _RELATIVE.items()
        }
        offsets = np.array(_OFFSET[0]) + rng.uniform(-_OFFSET[1], _OFFSET[1], RANGES)
        self.constants["O"] = offsets.astype(np.float32)
        self._fixed = {name: values.astype(np.float64) for name, values in self.constants.items()}
        self._hardware = int(rng.integers(1 << 16))

    def shunt_volts(self, amps: np.ndarray, ranges: np.ndarray, rail: float) -> np.ndarray:
        """Return the voltage at the shunt that reads as a current.

        Args:
            amps: float64[n] [A].
            ranges: int64[n], 0 to 4.
            rail: voltage at the load [V].

        Returns:
            float64[n] [V].
        """
        r, gs, gi, s, i, ug = (self._fixed[name][ranges] for name in ("R", "GS", "GI", "S", "I", "UG"))
        rest = amps / ug - s * rail - i
        volts: np.ndarray = 2 * rest * r / (gi + np.sqrt(np.maximum(gi**2 + 4 * gs * rest, 0.0)))
        return volts

    def counts(self, volts: np.ndarray, ranges: np.ndarray) -> np.ndarray:
        """Return the converter's 14 bits; float64[n] [V], int64[n] -> int64[n]."""
        offset = self._fixed["O"][ranges] / 4
        counts: np.ndarray = np.clip(np.rint(volts / VOLT_PER_COUNT + offset), 0, FULL_SCALE).astype(np.int64)
        return counts

    def set_user_gain(self, number: int, gain: float) -> None:
        """Store another user's gain of a range; it changes what the kit tells, not what its converter reads."""
        self.constants["UG"][number] = gain

    def metadata(self, millivolts: int, mode: int) -> str:
        """Return the text that the kit sends when it is asked for its metadata.

        `virtual` is no word of a real kit: it tells that this one is a stand-in. It stands in the hardware number,
        because ppk2-api keeps no other line that is free.
        """
        lines = ["Calibrated: 0", *self._lines(_BEFORE_VDD), f"VDD: {millivolts}", f"HW: {self._hardware} virtual"]
        lines += [f"mode: {mode}", *self._lines(_AFTER_MODE), "IA: 56", "END"]
        return "".join(f"{line}\n" for line in lines)

    def _lines(self, names: tuple[str, ...]) -> list[str]:
        return [f"{name}{number}: {value:.20f}" for name in names for number, value in enumerate(self.constants[name])]
