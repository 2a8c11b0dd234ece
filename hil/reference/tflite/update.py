"""The update of trained weights and biases (docs/arithmetic-zeroth-order.md, section 6; PMT, equation (8))."""

from __future__ import annotations

import numpy as np

from hil.reference.floats import F

LARGEST_WEIGHT = 126  # of a trained weight at rest
LARGEST_BIAS = 2**30 - 2**20
LARGEST_UPDATE = 2**30
LARGEST_SHIFT = 62
MANTISSA = 24  # bits of a binary32 number
SMALLEST_NORMAL = F(2.0**-126)


def stepped(
    values: np.ndarray, gradient: np.ndarray, exponent: np.ndarray, factor: np.ndarray, limit: int
) -> np.ndarray:
    """Return values after one step down their gradient, in the type of `values`.

    Args:
        values: integers [...].
        gradient: int64 [...], each in int32.
        exponent: integers that broadcast: the gradient is `gradient * 2^exponent`.
        factor: float32 that broadcasts: the learning rate with all that scales it.
        limit: of the values at rest.
    """
    normal = np.isfinite(factor) & (factor >= SMALLEST_NORMAL)
    fraction, power = np.frexp(np.where(normal, factor, F(1)))
    m = np.ldexp(fraction, MANTISSA).astype(np.int64)
    n = -(power.astype(np.int64) - MANTISSA + exponent)
    product = np.abs(gradient) * m  # below 2^55
    left = np.minimum(product, LARGEST_UPDATE) << np.clip(-n, 0, 31)
    right = np.clip(n, 1, LARGEST_SHIFT)
    shifted = np.where(n > LARGEST_SHIFT, 0, (product + (np.int64(1) << (right - 1))) >> right)
    size = np.where(normal, np.minimum(np.where(n <= 0, left, shifted), LARGEST_UPDATE), 0)
    return np.clip(values - np.sign(gradient) * size, -limit, limit).astype(values.dtype)
