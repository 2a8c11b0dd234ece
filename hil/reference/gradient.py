"""The sum of gradients whose exponents differ (docs/arithmetic.md, section 7)."""

from __future__ import annotations

import numpy as np

from hil.reference.arith import INT32_MAX, INT32_MIN, trunc_shift


class Gradient:
    """The sum of a layer's gradients over a batch, with the exponent of its largest sample so far."""

    def __init__(self) -> None:
        self.exponent: int | None = None
        self.total = np.zeros(0, np.int64)

    def add(self, gradient: np.ndarray, exponent: int) -> None:
        """Add one sample: int64 [weights], in the order of the batch."""
        if self.exponent is None:
            self.exponent, self.total = exponent, np.zeros_like(gradient)
        if exponent > self.exponent:
            self.total = trunc_shift(self.total, exponent - self.exponent)
            self.exponent = exponent
        aligned = trunc_shift(gradient, self.exponent - exponent)
        self.total = np.clip(self.total + aligned, INT32_MIN, INT32_MAX)
