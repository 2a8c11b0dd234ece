"""The update of trained weights and biases (docs/arithmetic-zeroth-order.md, section 6; PMT, equation (8))."""

from __future__ import annotations

import numpy as np

from hil.training.reference.floats import F
from hil.training.reference.formats.tflite8.factors import is_normal

LARGEST_WEIGHT = 126  # of a trained weight at rest
LARGEST_BIAS = 2**30 - 2**20
LARGEST_UPDATE = 2**30
LARGEST_VELOCITY = F(2**22)
SMALLEST_POWER, LARGEST_POWER = -125, 128  # np.frexp of the smallest and the largest normal number
LARGEST_SHIFT = 62
MANTISSA = 24  # bits of a binary32 number


def steps(gradient: np.ndarray, exponent: np.ndarray | int, factor: np.ndarray) -> np.ndarray:
    """Return D, by how much each number is lowered, int64 within +-2^30.

    Args:
        gradient: int64 [...], each in int32, to be multiplied by 2^exponent.
        exponent: integers that broadcast.
        factor: float32 that broadcasts: the learning rate with all that scales it.
    """
    normal = is_normal(factor)
    fraction, power = np.frexp(np.where(normal, factor, F(1)))
    m = np.ldexp(fraction, MANTISSA).astype(np.int64)
    n = -(power.astype(np.int64) - MANTISSA + exponent)
    product = np.abs(gradient) * m  # below 2^55
    left = np.minimum(product, LARGEST_UPDATE) << np.clip(-n, 0, 31)
    right = np.clip(n, 1, LARGEST_SHIFT)
    shifted = np.where(n > LARGEST_SHIFT, 0, (product + (np.int64(1) << (right - 1))) >> right)
    size = np.where(normal, np.minimum(np.where(n <= 0, left, shifted), LARGEST_UPDATE), 0)
    signed: np.ndarray = np.sign(gradient) * size
    return signed


def momentum_steps(
    velocity: np.ndarray, momentum: float, gradient: np.ndarray, exponent: int, factor: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the next V, float32, and D (docs/arithmetic-tflite.md, section 7.4); other arguments as of `steps`.

    Args:
        velocity: V, float32 [...]; 0 before the first step.
        momentum: M, above 0.
        exponent: E, that of the output's factor added.
    """
    fraction, power = np.frexp(factor)
    power = power + exponent  # what is scaled lies in 2^(power - 1) <= F < 2^power
    moves = is_normal(factor) & (power <= LARGEST_POWER)
    scaled = np.where(power < SMALLEST_POWER, F(0), np.ldexp(fraction, np.clip(power, SMALLEST_POWER, LARGEST_POWER)))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        moved = np.clip(F(momentum) * velocity + gradient.astype(F) * scaled, -LARGEST_VELOCITY, LARGEST_VELOCITY)
    after = np.where(moves, moved, velocity)
    return after, np.where(moves, np.rint(after).astype(np.int64), 0)


def lowered(values: np.ndarray, by: np.ndarray, limit: int) -> np.ndarray:
    """Return integers less D, held in +-limit, in the type of `values`."""
    held: np.ndarray = np.clip(values - by, -limit, limit)
    return held.astype(values.dtype)
