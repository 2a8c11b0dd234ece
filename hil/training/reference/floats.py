"""exp and log in binary32, every operation rounded by itself (docs/arithmetic.md, section 5)."""

from __future__ import annotations

import math

import numpy as np

F = np.float32
LOG2_E = F(float.fromhex("0x1.715476p+0"))
LN2_HIGH = F(float.fromhex("0x1.62e400p-1"))
LN2_LOW = F(float.fromhex("0x1.7f7d1cp-20"))
SQRT_2 = F(float.fromhex("0x1.6a09e6p+0"))
EXP_TERMS = [F(1 / math.factorial(i)) for i in range(8)]
LOG_TERMS = [F(1 / (2 * i + 1)) for i in range(5)]
UNDERFLOW = F(-87.0)


def exp32(x: np.ndarray) -> np.ndarray:
    """Return e^x for float32 x <= 0, any shape."""
    x = np.asarray(x, F)
    inside = np.where(x < UNDERFLOW, F(0), x)
    k = np.rint(inside * LOG2_E)
    r = (inside - k * LN2_HIGH) - k * LN2_LOW
    p = np.full_like(r, EXP_TERMS[7])
    for term in EXP_TERMS[6::-1]:
        p = p * r + term
    scale = ((k.astype(np.int32) + 127) << 23).view(F)
    return np.where(x < UNDERFLOW, F(0), p * scale)


def log32(x: np.ndarray) -> np.ndarray:
    """Return ln x for normal float32 x > 0, any shape."""
    x = np.asarray(x, F)
    pattern = x.view(np.int32)
    k = (pattern >> 23) - 127
    m = ((pattern & 0x7FFFFF) | 0x3F800000).view(F)
    large = m > SQRT_2
    m = np.where(large, m * F(0.5), m)
    k = np.where(large, k + 1, k).astype(F)
    f = (m - F(1)) / (m + F(1))
    q = f * f
    p = np.full_like(q, LOG_TERMS[4])
    for term in LOG_TERMS[3::-1]:
        p = p * q + term
    logarithm: np.ndarray = k * LN2_HIGH + ((F(2) * f) * p + k * LN2_LOW)
    return logarithm


def float32_of(value: int) -> np.float32:
    """Return an integer of 0 or more of up to 64 bits, rounded to binary32 once."""
    shift = max(value.bit_length() - 40, 0)
    kept = (value >> shift) | bool(value & ((1 << shift) - 1))  # what is cut off may decide a half
    return F(math.ldexp(kept, shift))
