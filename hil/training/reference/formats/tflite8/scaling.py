"""From exact sums in floats to outputs, in one float64 pass (docs/arithmetic-tflite.md, section 3).

Both roundings are one floor. With c = M 2^(shift - 31): `single` is floor(acc c + 1/2). Of `double`, with
n = -shift >= 1, nested floors are one, and the second rounding differs by the sign of acc in what it adds: it is
floor(acc c + 1/2 +- 2^-(n + 1)), + where acc >= 0; for n = 0 nothing is added to the half. (a is negative where acc is,
but for acc = -1 and M = 2^30, where both signs give 0.)

Exact: outputs lie within 2^8 of 0. Where |acc c| > 2^9 the output is clipped, whatever the float rounds. Else
|acc| <= 2^9 / c <= 2^(n + 10), so that for n <= 12 acc M < 2^53 and the sum, a multiple of 2^-(31 + n) below 2^10, has
at most 53 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

LARGEST_SHIFT = 12  # n above


@dataclass(frozen=True, eq=False)
class FloatScaling:
    """What one layer rescales by, in floats.

    Attributes:
        factor: float64 [O], c.
        nudge: float64 [O], 2^-(n + 1) or 0.
        low, high: limits of the output less its zero point.
    """

    factor: np.ndarray
    nudge: np.ndarray
    low: int
    high: int

    @classmethod
    def of(cls, multiplier: np.ndarray, shift: np.ndarray, rounding: str, low: int, high: int) -> FloatScaling | None:
        """Return the scaling, or None where floats do not hold it: multiplier int32 [O], shift int8 [O]."""
        down = -shift.astype(np.int64)
        if down.max() > LARGEST_SHIFT:
            return None
        nudge = np.where((down >= 1) & (rounding == "double"), np.exp2(-down - 1.0), 0.0)
        return cls(np.ldexp(multiplier.astype(np.float64), -down - 31), nudge, low, high)

    def of_channels(self, channels: np.ndarray | slice) -> FloatScaling:
        """Return the scaling of these channels, in their order."""
        return replace(self, factor=self.factor[channels], nudge=self.nudge[channels])

    def apply(self, acc: np.ndarray) -> np.ndarray:
        """Return outputs less their zero point, float32 [..., O], of integers in floats of any type [..., O]."""
        scaled = acc * self.factor
        if self.nudge.any():
            scaled += np.copysign(self.nudge, acc)
        scaled += 0.5
        np.floor(scaled, out=scaled)
        return np.clip(scaled, self.low, self.high, out=np.empty(acc.shape, np.float32), casting="same_kind")
