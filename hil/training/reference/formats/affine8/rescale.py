"""Factors of sums, and their rounding (docs/arithmetic-affine8.md, section 2), on whole arrays.

Integers are in float64, which holds them exactly: a sum has 32 bits and a sign, its product with m at most 48.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hil.training.graph.affine8 import rounded
from hil.training.reference.floats import F

LARGEST_M, LEAST_N, MOST_N = 2**16 - 1, 16, 46
SMALLEST_NORMAL = F(2.0**-126)
WIDEST = F(512)  # of a number before it is rounded to an output


def factor(f: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return m and n, float64 and int64, of binary32 numbers of any shape: f is about `m * 2^-n`."""
    f = np.asarray(f, F)
    fraction, power = np.frexp(f)
    normal = np.isfinite(f) & (f >= SMALLEST_NORMAL)
    m, n = np.floor(np.where(normal, fraction, 0).astype(np.float64) * 2.0**16), 16 - power.astype(np.int64)
    large, small = normal & (n < LEAST_N), ~normal | (n > MOST_N)
    m = np.where(large, float(LARGEST_M), np.where(small, 0.0, m))
    return m, np.where(large, LEAST_N, np.where(small, MOST_N, n))


def rescaled(a: np.ndarray, m: Any, n: Any, rounding: str) -> np.ndarray:
    """Return R(a, m, n) in float64; a are integers in float64, m and n broadcast to them."""
    unit = np.ldexp(1.0, -np.asarray(n))
    found: np.ndarray = a * (m * unit)  # exact: a times m has at most 48 bits
    found += 0.5 if rounding == "nearest" else 0.0  # -0 becomes 0: an integer has no sign of zero
    np.floor(found, out=found)
    return found


def quantized(x: np.ndarray, j: Any, z: Any, rounding: str = "nearest") -> np.ndarray:
    """Return q, int64, of binary32 numbers: 1 / j is the scale and z the zero point."""
    q: np.ndarray = np.clip(z + rounded(np.clip(x * j, -WIDEST, WIDEST), rounding), -128, 127)
    return q
