"""Directions and masks of QZO-FF: docs/arithmetic-qzo-ff.md, sections 3 and 7 (sparse update)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

from tests.oracle.numbers import F32, mix32, start, xorshift32

MASK32 = 0xFFFFFFFF


def table(distribution: str) -> list[int]:
    """Return T: the number that each byte stands for."""
    if distribution == "binomial":
        size = (0, 23, 45, 68, 91)
        ones = [i.bit_count() - 4 for i in range(256)]
        return [size[b] if b >= 0 else -size[-b] for b in ones]
    upper = [round(32 * NormalDist().inv_cdf((2 * i + 1) / 512)) for i in range(128, 256)]
    return [-t for t in reversed(upper)] + upper


def pool(settings: Any, step: int) -> list[list[int]]:
    """Return the 256 entries of four numbers of a step."""
    numbers, state, entries = table(settings.distribution), start(settings, step, 0), []
    for _ in range(256):
        state = xorshift32(state)
        entries.append([numbers[state >> 8 * j & 0xFF] for j in range(4)])
    return entries


def direction(settings: Any, step: int, i: int, tensor: int, count: int) -> list[int]:
    """Return z' of the direction i for the elements of a trained tensor."""
    entries, state = pool(settings, step), start(settings, step, 256 * i + tensor + 1)
    z: list[int] = []
    while len(z) < count:
        state = xorshift32(state)
        for j in range(3):
            f = state >> 9 * j & 511
            entry = entries[f & 255]
            z += entry if f < 256 else [-value for value in entry]
    return z[:count]


def mask(settings: Any, tensor: int, weights: Sequence[int], unit: Any) -> list[bool]:
    """Return which weights of a trained tensor are selected, from their values at rest."""
    n = len(weights)
    if settings.sparse == "top":
        count = max(1, (n * settings.keep + 128) // 256)
        chosen = set(sorted(range(n), key=lambda place: (-abs(weights[place]), place))[:count])
        return [place in chosen for place in range(n)]
    if settings.sparse == "random":
        state = mix32(mix32(settings.seed) ^ (0x27D4EB2F * (tensor + 1) & MASK32)) or 0x6D2B79F5
        bytes_: list[int] = []
        while len(bytes_) < n:
            state = xorshift32(state)
            bytes_ += [state >> 8 * j & 0xFF for j in range(4)]
        return [byte < settings.keep for byte in bytes_[:n]]
    if settings.sparse == "threshold":
        least = round(float(min(F32(settings.threshold) / unit, F32(2.0**30))))
        return [abs(w) >= least for w in weights]
    return [True] * n
