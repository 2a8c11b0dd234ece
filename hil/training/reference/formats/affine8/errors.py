"""Errors of values, each sample with a scale and a zero point of its own (docs/arithmetic-affine8.md, section 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hil.training.graph.affine8 import params, rounded
from hil.training.reference.floats import F
from hil.training.reference.formats.affine8.rescale import factor, quantized, rescaled

NARROWEST = F(2.0**-100)  # of a float tensor that is not zero, and what a sum with a running range is worth
LARGEST_SCALE = F(2.0**40)
SHARE = F(2.0**14)  # of one of two errors that are added


@dataclass(frozen=True, eq=False)
class Affine8Errors:
    """The errors of a value for each sample.

    Attributes:
        centred: `e - z`, whole numbers in float64, [B, H, W, C].
        s: scales, float32 [B]; 0.0 where all errors of a sample are 0.
        z: zero points, int64 [B].
        wrong: where the scale is larger than the format has, bool [B]; the errors of such a sample are 0.
    """

    centred: np.ndarray
    s: np.ndarray
    z: np.ndarray
    wrong: np.ndarray

    @classmethod
    def of(cls, centred: np.ndarray, s: np.ndarray, z: np.ndarray, wrong: np.ndarray | None = None) -> Affine8Errors:
        """Return errors of these scales, which are checked."""
        beyond = ~(s <= LARGEST_SCALE)
        wrong = beyond if wrong is None else wrong | beyond
        if wrong.any():
            centred = np.where(_by_sample(wrong, centred), 0.0, centred)
            s, z = np.where(wrong, F(0), s), np.where(wrong, 0, z)
        return cls(centred, s, z, wrong)

    @property
    def stored(self) -> np.ndarray:
        """The errors as they are stored, int8."""
        q: np.ndarray = self.centred + _by_sample(self.z, self.centred)
        return q.astype(np.int8)

    def where(self, open: np.ndarray) -> Affine8Errors:
        """Return the errors that stay where a gate is open, bool [B, H, W, C] or what broadcasts to it; else 0."""
        return replace(self, centred=self.centred * open)


def _by_sample(numbers: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return numbers [B] so that they broadcast to an array [B, ...]."""
    return numbers.reshape(-1, *[1] * (like.ndim - 1))


def _extremes(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest number of each sample, or 0."""
    rows = x.reshape(len(x), -1)
    zero = x.dtype.type(0)
    return np.minimum(rows.min(axis=1), zero), np.maximum(rows.max(axis=1), zero)


def of_floats(x: np.ndarray, rounding: str) -> Affine8Errors:
    """Return binary32 errors [B, H, W, C] as errors."""
    low, high = _extremes(x)
    zero = high - low < NARROWEST
    s, j, z = params(np.where(zero, F(0), low), np.where(zero, F(1), high), rounding)
    q = quantized(x, _by_sample(j, x), _by_sample(z, x), rounding)
    centred = np.where(_by_sample(zero, x), 0, q - _by_sample(z, x)).astype(np.float64)
    return Affine8Errors.of(centred, np.where(zero, F(0), s), np.where(zero, 0, z))


def of_sums(acc: np.ndarray, c: np.ndarray, rounding: str) -> Affine8Errors:
    """Return int32 sums as errors: acc whole numbers in float64 [B, H, W, C], each worth c float32 [B]."""
    lo, hi = _extremes(acc)
    d = hi - lo
    zero, exact = (d == 0) | (c == 0), d <= 255
    m, n = factor(F(255) / np.where(exact, F(1), d.astype(F)))
    s = np.where(exact, c, c / (m.astype(F) * np.ldexp(F(1), -n)))
    z = np.minimum(np.where(exact, -lo, rescaled(-lo, m, n, rounding)), 255) - 128
    if exact.all():
        centred = acc
    else:
        m, n, at = (_by_sample(numbers, acc) for numbers in (m, n, z))
        centred = np.clip(rescaled(acc, m, n, rounding), -128 - at, 127 - at)
        centred = np.where(_by_sample(exact, acc), acc, centred)
    return _nonzero(centred, s, z, zero)


def _nonzero(centred: np.ndarray, s: np.ndarray, z: np.ndarray, zero: np.ndarray) -> Affine8Errors:
    if zero.any():
        centred = np.where(_by_sample(zero, centred), 0.0, centred)
    return Affine8Errors.of(centred, np.where(zero, F(0), s), np.where(zero, 0, z).astype(np.int64))


class RunningRange:
    """The range of one error that moves from sample to sample: L and U, which begin with 0.0."""

    def __init__(self, momentum: float) -> None:
        self.low = self.high = F(0)
        self._momentum = F(momentum)

    def of_sums(self, acc: np.ndarray, c: np.ndarray, rounding: str) -> Affine8Errors:
        """Return sums as errors, as the function of this name does, one sample after the other."""
        lo, hi = _extremes(acc)
        s, z = np.zeros(len(acc), F), np.zeros(len(acc), np.int64)
        zero = (lo == hi) | (c < NARROWEST)  # so that the scale and its reciprocal are normal numbers
        for sample in np.flatnonzero(~zero):
            s[sample], z[sample] = self._next(lo[sample], hi[sample], c[sample], rounding)
        m, n = factor(np.where(zero, F(1), c) / np.where(zero, F(1), s))
        m, n, at = (_by_sample(numbers, acc) for numbers in (m, n, z))
        centred = np.clip(rescaled(acc, m, n, rounding), -128 - at, 127 - at)
        return _nonzero(centred, s, z, zero)

    def _next(self, lo: np.float64, hi: np.float64, c: np.float32, rounding: str) -> tuple[np.float32, int]:
        """Return scale and zero point of a sample whose sums reach from lo to hi, and move the range."""
        a, b = c * F(lo), c * F(hi)
        if self.high - self.low == 0:
            self.low, self.high = a, b
        s = (self.high - self.low) / F(255)
        s = max(s, c)
        z = min(int(rounded((F(0) - self.low) * (F(1) / s), rounding)), 255) - 128
        self.low = self.low + self._momentum * (a - self.low)
        self.high = self.high + self._momentum * (b - self.high)
        return s, z


def joined(one: Affine8Errors, other: Affine8Errors, rounding: str) -> Affine8Errors:
    """Return the sum of two errors of one value."""
    both = (one.s != 0) & (other.s != 0)
    largest = np.where(both, np.maximum(one.s, other.s), F(1))
    shares = [np.rint((error.s / largest) * SHARE).astype(np.float64) for error in (one, other)]
    acc = sum(error.centred * _by_sample(share, one.centred) for error, share in zip((one, other), shares, strict=True))
    found = of_sums(np.where(_by_sample(both, acc), acc, 0.0), np.where(both, largest / SHARE, F(0)), rounding)
    alone = np.where(_by_sample(one.s != 0, acc), one.centred, other.centred)
    return Affine8Errors.of(
        np.where(_by_sample(both, acc), found.centred, alone),
        np.where(both, found.s, np.where(one.s != 0, one.s, other.s)),
        np.where(both, found.z, np.where(one.s != 0, one.z, other.z)),
        one.wrong | other.wrong | found.wrong,
    )
