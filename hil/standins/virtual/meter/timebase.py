"""Clock of an instrument with a relative error."""

from __future__ import annotations

import numpy as np


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
