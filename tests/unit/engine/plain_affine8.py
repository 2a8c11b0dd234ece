"""Section 2 of docs/arithmetic-affine8.md in fractions: exact numbers, each operation rounded by itself.

Written from the text alone, for rules that C, NumPy and the oracle have from one hand.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from fractions import Fraction

LARGEST_SCALE = Fraction(2**40)


def near(x: Fraction) -> Fraction:
    """Return the nearest binary32 number, half to even; one that is too large is no case of these tests."""
    if x == 0:
        return Fraction(0)
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, -126) - 23)
    rounded = round(x / unit) * unit
    assert abs(rounded) < 2**128
    return rounded


def number(bits: int) -> Fraction:
    """Return the binary32 number of a bit pattern."""
    return Fraction(struct.unpack("<f", struct.pack("<I", bits))[0])


def bits(x: Fraction) -> int:
    """Return the bit pattern of a binary32 number."""
    assert near(x) == x
    return int(struct.unpack("<I", struct.pack("<f", float(x)))[0])


def clamp(x: Fraction, low: Fraction | int, high: Fraction | int) -> Fraction:
    return min(max(x, Fraction(low)), Fraction(high))


def whole(x: Fraction, rounding: str) -> int:
    """Return Q(x)."""
    return round(x) if rounding == "nearest" else math.floor(x)


def rescaled(a: int, m: int, n: int, rounding: str) -> int:
    """Return R(a, m, n)."""
    return (a * m + (2 ** (n - 1) if rounding == "nearest" else 0)) // 2**n


def factor(x: Fraction) -> tuple[int, int]:
    """Return m, n of a factor."""
    if x < Fraction(2) ** -126:
        return 0, 46
    k = 0
    while x * Fraction(2) ** -k >= 2**24:
        k += 1
    while x * Fraction(2) ** -k < 2**23:
        k -= 1
    mantissa = x * Fraction(2) ** -k
    assert mantissa.denominator == 1
    n = -(k + 8)
    if n < 16:
        return 65535, 16
    return (0, 46) if n > 46 else (int(mantissa) // 2**8, n)


def params(low: Fraction, high: Fraction, rounding: str) -> tuple[Fraction, Fraction, int]:
    """Return s, j, z of a range."""
    s = near(near(high - low) / 255)
    j = near(1 / s)
    return s, j, min(whole(near(near(-low) * j), rounding), 255) - 128


def quantized(x: Fraction, j: Fraction, z: int, rounding: str) -> int:
    return min(max(z + whole(clamp(near(x * j), -512, 512), rounding), -128), 127)


@dataclass(frozen=True)
class Error:
    """An error of 8 bits."""

    q: list[int]
    s: Fraction
    z: int

    @property
    def shown(self) -> tuple[list[int], int, int]:
        """q, the bits of s, z."""
        return self.q, bits(self.s), self.z


def zero_error(count: int) -> Error:
    return Error([0] * count, Fraction(0), 0)


def error_of_sums(acc: list[int], c: Fraction, rounding: str) -> Error:
    """Return an integer tensor with its own range."""
    lo, hi = min(0, *acc), max(0, *acc)
    width = hi - lo
    if width == 0 or c == 0:
        return zero_error(len(acc))
    if width <= 255:
        return Error([a - lo - 128 for a in acc], c, -lo - 128)
    m, n = factor(near(255 / near(Fraction(width))))
    s = near(c / (m * Fraction(2) ** -n))
    z = min(rescaled(-lo, m, n, rounding), 255) - 128
    return Error([min(max(z + rescaled(a, m, n, rounding), -128), 127) for a in acc], s, z)


@dataclass
class Running:
    """L and U."""

    momentum: Fraction
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)

    def error_of_sums(self, acc: list[int], c: Fraction, rounding: str) -> Error:
        """Return an integer tensor with the range of earlier samples."""
        lo, hi = min(0, *acc), max(0, *acc)
        if lo == hi or c < Fraction(2) ** -100:
            return zero_error(len(acc))
        a, b = near(c * near(Fraction(lo))), near(c * near(Fraction(hi)))
        if near(self.high - self.low) == 0:
            self.low, self.high = a, b
        s = max(near(near(self.high - self.low) / 255), c)
        j = near(1 / s)
        z = min(whole(near(-self.low * j), rounding), 255) - 128
        m, n = factor(near(c / s))
        self.low = near(self.low + near(self.momentum * near(a - self.low)))
        self.high = near(self.high + near(self.momentum * near(b - self.high)))
        return Error([min(max(z + rescaled(each, m, n, rounding), -128), 127) for each in acc], s, z)
