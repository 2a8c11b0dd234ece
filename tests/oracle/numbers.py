"""Integers and floats: docs/arithmetic.md, sections 1, 2, 5 and 8, a number at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.methods.graph_settings import GraphSettings

F32 = np.float32
MASK32 = 0xFFFFFFFF
LOG2_E, SQRT2 = F32(float.fromhex("0x1.715476p+0")), F32(float.fromhex("0x1.6a09e6p+0"))
LN2_HIGH, LN2_LOW = F32(float.fromhex("0x1.62e400p-1")), F32(float.fromhex("0x1.7f7d1cp-20"))


@dataclass(frozen=True)
class Tensor:
    """Integers in flattened order with one exponent: each stands for `value * 2**exponent`."""

    values: list[int]
    exponent: int


def bits(m: int) -> int:
    """Return the bits of an unsigned m (section 1): 0 for 0, else floor(log2 m) + 1."""
    return len(f"{m:b}") if m else 0


def clip127(x: int) -> int:
    """Return x held in -127..127."""
    return min(max(x, -127), 127)


def trunc_shift(x: int, n: int) -> int:
    """Return x / 2**n rounded toward zero."""
    return abs(x) >> n if x >= 0 else -(abs(x) >> n)


def round_shift(x: int, s: int) -> int:
    """Return x / 2**s, half away from zero, clipped (section 2); s >= 1."""
    q = trunc_shift(x, s)
    return clip127(q + trunc_shift(x - q * 2**s, s - 1))


def psto_shift(x: int, s: int) -> int:
    """Return x / 2**s rounded pseudo-stochastically, clipped (section 2); s >= 0."""
    if s == 0:
        return clip127(x)
    q = trunc_shift(x, s)
    p = abs(x - q * 2**s)
    h = s // 2
    hi = p >> h
    lo = p - (hi << h)
    lo = 2 * lo if s % 2 else lo
    up = 1 if hi > lo else 0
    return clip127(q + up if x > 0 else q - up)


def exp32(x: np.float32) -> np.float32:
    """Return e**x in binary32 for x <= 0, rounded as section 5 says."""
    if x < F32(-87.0):
        return F32(0.0)
    k = np.rint(x * LOG2_E)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = F32(1 / math.factorial(7))
    for i in (6, 5, 4, 3, 2, 1, 0):
        p = p * r + F32(1 / math.factorial(i))
    return p * F32(2.0 ** int(k))


def log32(x: np.float32) -> np.float32:
    """Return ln x in binary32 for normal x > 0, rounded as section 5 says."""
    half, exponent = math.frexp(float(x))
    m, k = F32(2 * half), exponent - 1
    if m > SQRT2:
        m, k = m / F32(2), k + 1
    f = (m - F32(1)) / (m + F32(1))
    q = f * f
    p = F32(1 / 9)
    for i in (3, 2, 1, 0):
        p = p * q + F32(1 / (2 * i + 1))
    return F32(k) * LN2_HIGH + ((F32(2) * f) * p + F32(k) * LN2_LOW)


def mix32(h: int) -> int:
    """Return the scrambled word of section 8."""
    h ^= h >> 16
    h = h * 0x85EBCA6B & MASK32
    h ^= h >> 13
    h = h * 0xC2B2AE35 & MASK32
    return h ^ h >> 16


def xorshift32(x: int) -> int:
    """Return the next word of the stream of section 8."""
    x ^= x << 13 & MASK32
    x ^= x >> 17
    return x ^ x << 5 & MASK32


def start(settings: ElasticZoSettings | GraphSettings, step: int, i: int) -> int:
    """Return the state before the first word.

    It is that of the pool for i = 0, of the stream of trained tensor i - 1 else (section 8).
    """
    key = mix32((settings.seed + 0x9E3779B9 * (step + 1)) & MASK32)
    return mix32(key ^ (0x27D4EB2F * i & MASK32)) or 0x6D2B79F5


def noise_pool(settings: ElasticZoSettings, step: int) -> list[list[int]]:
    """Return the 256 entries of four numbers that one step draws its noise from (section 8)."""
    state, r_max, pool = start(settings, step, 0), settings.r_max, []
    for _ in range(256):
        a = xorshift32(state)
        b = state = xorshift32(a)
        entry = []
        for i in range(4):
            a_i, b_i = a >> 8 * i & 0xFF, b >> 8 * i & 0xFF
            entry.append(0 if a_i < settings.p_zero else ((b_i * (2 * r_max + 1) + r_max) >> 8) - r_max)
        pool.append(entry)
    return pool


def perturbation(settings: ElasticZoSettings, step: int, tensor: int, count: int) -> list[int]:
    """Return z for the `count` weights of one trained tensor (index from 0) at one step (section 8)."""
    pool = noise_pool(settings, step)
    state: int = start(settings, step, tensor + 1)
    z: list[int] = []
    while len(z) < count:
        x = state = xorshift32(state)
        for j in range(3):
            f = x >> 9 * j & 511
            entry = pool[f & 255]
            z += entry if f < 256 else [-value for value in entry]
    return z[:count]
