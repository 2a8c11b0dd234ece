"""Directions of normal numbers: table, pool and streams, whatever the format of the weights.

docs/arithmetic-qzo-ff.md, section 3.
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

import numpy as np

from hil.training.methods.prng import ENTRIES, perturbation, start_state, words

STREAMS_A_DIRECTION = 256
BYTES = np.arange(256)
BINOMIAL = np.array([-91, -68, -45, -23, 0, 23, 45, 68, 91])  # by the number of ones among eight bits


@cache
def table(distribution: str) -> np.ndarray:
    """Return T, int8 [256]: the number that a byte stands for, in 1/32."""
    if distribution == "binomial":
        return BINOMIAL[[int(byte).bit_count() for byte in BYTES]].astype(np.int8)
    quantile = NormalDist().inv_cdf
    upper = [int(32 * quantile((2 * byte + 1) / 512) + 0.5) for byte in BYTES[128:].tolist()]
    return np.array([-z for z in reversed(upper)] + upper, np.int8)


def direction_pool(distribution: str, seed: int, step: int) -> np.ndarray:
    """Return what a field of nine bits stands for, int16 [512, 4]: the entries of a pool, then their negatives."""
    drawn = words(start_state(seed, step, 0), ENTRIES)
    entries = table(distribution).astype(np.int16)[drawn.astype("<u4").view(np.uint8).reshape(ENTRIES, 4)]
    return np.concatenate([entries, -entries])


def direction(pool: np.ndarray, seed: int, step: int, number: int, tensor: int, size: int) -> np.ndarray:
    """Return z of a direction in a tensor, int16 [size].

    Args:
        pool: the step's, as `direction_pool` returns it.
        seed: of the trial.
        step: index of the step.
        number: of the direction, from 0.
        tensor: index among the trained tensors, from 0.
        size: elements of the tensor.
    """
    return perturbation(pool, seed, step, STREAMS_A_DIRECTION * number + tensor, size)
