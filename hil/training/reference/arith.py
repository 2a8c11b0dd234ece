"""Integer rounding (docs/arithmetic.md, sections 1 and 2), on whole arrays."""

from __future__ import annotations

import numpy as np

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


def bits(magnitude: int) -> int:
    """Return the bits of an unsigned number: 0 for 0, else floor(log2) + 1."""
    return int(magnitude).bit_length()


def clip(x: np.ndarray, limit: int) -> np.ndarray:
    """Clip to -limit..limit."""
    clipped: np.ndarray = np.clip(x, -limit, limit)
    return clipped


def clip127(x: np.ndarray) -> np.ndarray:
    """Clip to -127..127."""
    return clip(x, 127)


def trunc_shift(x: np.ndarray, s: int) -> np.ndarray:
    """Return trunc(x / 2^s) in the type of `x`, which holds |x|; a shift of 31 or more gives 0."""
    if s >= 31:
        return np.zeros_like(x)
    cut: np.ndarray = np.sign(x) * (np.abs(x) >> s)
    return cut


def psto_shift(x: np.ndarray, s: int) -> np.ndarray:
    """Divide by 2^s with pseudo-stochastic rounding and clip to int8, in the type of `x`, which holds |x|.

    The low bits of x decide by themselves.
    """
    if s == 0:
        return clip127(x)
    sign, size = np.sign(x), np.abs(x)
    q = size >> s
    p = size - (q << s)
    half = s // 2
    high = p >> half
    low = p - (high << half)
    if s % 2:
        low = 2 * low
    rounded: np.ndarray = sign * np.minimum(q + (high > low), 127)
    return rounded
