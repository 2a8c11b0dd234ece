"""Rounding, scales and zero points of the format affine8, a number at a time: docs/arithmetic-affine8.md, section 2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.oracle import qzo_ff
from tests.oracle.float32 import ONE, ZERO, Floats
from tests.oracle.numbers import F32

STEPS = F32(255)
NARROWEST = F32(2.0**-100)  # of a float tensor that is not zero
FAR = F32(512)


@dataclass
class Tensor:
    """Integers of -128..127; each stands for the real number `s * (q - z)`. A scale of 0 means that all are zero."""

    q: list[int]
    s: np.float32
    z: int

    @property
    def steps(self) -> list[int]:
        """Each q - z."""
        return [q - self.z for q in self.q]


@dataclass
class Range:
    """L and U of an error with a running range."""

    low: np.float32 = ZERO
    high: np.float32 = ZERO


def clamp(v: int, low: int, high: int) -> int:
    """Return v held in low..high."""
    return min(max(v, low), high)


def held(v: np.float32, low: float, high: float) -> np.float32:
    """Return a binary32 number held in low..high."""
    return F32(min(max(v, F32(low)), F32(high)))


def float_of(i: int) -> np.float32:
    """Return float(i) of an integer, rounded once, half to even."""
    return -qzo_ff.rounded(-i) if i < 0 else qzo_ff.rounded(i)


def rint(x: np.float32) -> int:
    """Return the nearest integer, half to even."""
    return int(np.rint(x))


def whole(x: np.float32, rounding: str) -> int:
    """Return Q(x) with the rounding `nearest` or `floor`."""
    return rint(x) if rounding == "nearest" else math.floor(x)


def rescale(a: int, by: tuple[int, int], rounding: str) -> int:
    """Return R(a, m, n) of the pair (m, n)."""
    m, n = by
    return (a * m + (2 ** (n - 1) if rounding == "nearest" else 0)) // 2**n


def factor(f: np.float32) -> tuple[int, int]:
    """Return (m, n) of a real factor."""
    if not np.isfinite(f) or f < F32(2.0**-126):
        return 0, 46
    half, exponent = math.frexp(float(f))
    m, n = int(half * 2**24) // 2**8, 16 - exponent  # k = exponent - 24
    if n < 16:
        return 65535, 16
    return (0, 46) if n > 46 else (m, n)


def zero_point(low: np.float32, j: np.float32, rounding: str) -> int:
    """Return the zero point of a range that begins at low, j steps being 1.0."""
    return min(whole((ZERO - low) * j, rounding), 255) - 128


def params(low: np.float32, high: np.float32, rounding: str) -> tuple[np.float32, np.float32, int]:
    """Return s, j and z of a range."""
    s = (high - low) / STEPS
    j = ONE / s
    return s, j, zero_point(low, j, rounding)


def quantize(x: np.float32, j: np.float32, z: int, rounding: str) -> int:
    """Return q of a real number."""
    return clamp(z + whole(held(x * j, -FAR, FAR), rounding), -128, 127)


def ends(values: Sequence[np.float32]) -> tuple[np.float32, np.float32]:
    """Return the smallest and the largest of some numbers and 0.0."""
    return min(ZERO, *values), max(ZERO, *values)


def float_tensor(values: Floats, rounding: str) -> Tensor:
    """Return the tensor of real numbers."""
    low, high = ends(values)
    if high - low < NARROWEST:
        return Tensor([0] * len(values), ZERO, 0)
    s, j, z = params(low, high, rounding)
    return Tensor([quantize(x, j, z, rounding) for x in values], s, z)


def integer_tensor(acc: list[int], c: np.float32, rounding: str) -> Tensor:
    """Return the tensor of exact sums that are worth c each."""
    lo, hi = min(0, *acc), max(0, *acc)
    wide = hi - lo
    if wide == 0 or c == 0:
        return Tensor([0] * len(acc), ZERO, 0)
    if wide <= 255:
        z = -lo - 128
        return Tensor([a + z for a in acc], c, z)
    by = factor(STEPS / float_of(wide))
    s = c / (float_of(by[0]) * F32(2.0 ** -by[1]))
    z = min(rescale(-lo, by, rounding), 255) - 128
    return Tensor([clamp(z + rescale(a, by, rounding), -128, 127) for a in acc], s, z)


def running_tensor(acc: list[int], c: np.float32, rounding: str, kept: Range, momentum: np.float32) -> Tensor:
    """Return the tensor of exact sums by the range that is kept, and move that range."""
    lo, hi = min(0, *acc), max(0, *acc)
    if hi - lo == 0 or c < NARROWEST:
        return Tensor([0] * len(acc), ZERO, 0)
    a, b = c * float_of(lo), c * float_of(hi)
    if kept.high - kept.low == 0:
        kept.low, kept.high = a, b
    s = max((kept.high - kept.low) / STEPS, c)
    z = zero_point(kept.low, ONE / s, rounding)
    by = factor(c / s)
    kept.low = kept.low + momentum * (a - kept.low)
    kept.high = kept.high + momentum * (b - kept.high)
    return Tensor([clamp(z + rescale(a, by, rounding), -128, 127) for a in acc], s, z)
