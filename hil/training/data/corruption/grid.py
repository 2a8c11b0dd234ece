"""Shared by the corruptions: rounding, lengths relative to the image size, interpolation, smooth random fields."""

from __future__ import annotations

import numpy as np

FRACTION = 16  # bits of fraction of a position, a weight or a factor
ONE = 1 << FRACTION
REFERENCE_SIDE = 32  # lengths are given in pixels of a 32-pixel image and scale with the shorter side of the image


def fixed(value: float) -> int:
    """Return a number with 16 bits of fraction."""
    return round(value * ONE)


def length(images: np.ndarray, pixels: float) -> int:
    """Return a length that is `pixels` at a side of 32, with 16 bits of fraction."""
    side: int = min(images.shape[1:3])
    return round(pixels * ONE * side / REFERENCE_SIDE)


def divided(total: np.ndarray, divisor: int) -> np.ndarray:
    """Return total / divisor as int64, rounded to the nearest integer, halves up, and clipped to 0..255."""
    quotient: np.ndarray = np.clip((2 * total + divisor) // (2 * divisor), 0, 255)
    return quotient


def read_at(images: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Interpolate images bilinearly at given positions; outside the image, the nearest pixel counts.

    Args:
        images: integers [n, height, width, channels].
        y, x: int64 positions with 16 bits of fraction, [n or 1, height', width'].

    Returns:
        int64 [n, height', width', channels] with 32 bits of fraction.
    """
    count, height, width, _ = images.shape
    same = len(y) == 1  # the same positions for all images, which are then read together
    which = slice(None) if same else np.arange(count)[:, None, None]
    y, x = np.clip(y, 0, (height - 1) * ONE), np.clip(x, 0, (width - 1) * ONE)
    top, left = y >> FRACTION, x >> FRACTION
    down, right = y - (top << FRACTION), x - (left << FRACTION)
    total = np.zeros((), np.int64)
    for row, weight_y in ((top, ONE - down), (np.minimum(top + 1, height - 1), down)):
        for column, weight_x in ((left, ONE - right), (np.minimum(left + 1, width - 1), right)):
            pixels = images[which, row[0], column[0]] if same else images[which, row, column]
            total = total + (weight_y * weight_x)[..., None] * pixels
    return total


def positions(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the pixels, int64 [1, height, 1] and [1, 1, width] with 16 bits of fraction."""
    height, width = images.shape[1:3]
    return np.arange(height, dtype=np.int64)[None, :, None] << FRACTION, np.arange(width, dtype=np.int64)[
        None, None
    ] << FRACTION


def smooth_field(rng: np.random.Generator, shape: tuple[int, int, int], cells: int) -> np.ndarray:
    """Draw a field for each image: uniform at the nodes of `cells` x `cells` squares, bilinear in between.

    Returns:
        int64 [n, height, width] in 0..2^16.
    """
    count, height, width = shape
    lattice = rng.integers(0, ONE + 1, (count, cells + 1, cells + 1, 1))
    y = (np.arange(height, dtype=np.int64) * cells * ONE // height)[None, :, None]
    x = (np.arange(width, dtype=np.int64) * cells * ONE // width)[None, None]
    y, x = np.broadcast_arrays(y, x)
    return read_at(lattice, y, x)[..., 0] >> (2 * FRACTION)


def nearly_normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw approximately normal numbers of mean 0 and variance 1, with 16 bits of fraction.

    Each is the sum of twelve uniform numbers, which avoids a floating-point logarithm.
    """
    total = np.full(shape, -6 * (ONE - 1), np.int64)
    for _ in range(12):
        total += rng.integers(0, ONE, shape, np.uint16)
    return total
