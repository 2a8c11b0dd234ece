"""Rotate images, in integers only, so every computer gives the same bytes."""

from __future__ import annotations

import math

import numpy as np

FRACTION = 16  # bits of sine and cosine
POSITION = FRACTION + 1  # bits of fraction of a source position; doubled coordinates make every image centre an integer


def rotated(images: np.ndarray, degrees: float) -> np.ndarray:
    """Rotate images counter-clockwise about their centre. Pixels from outside the image are 0.

    Bilinear interpolation. Sine and cosine are rounded to 16 bits of fraction; positions and weights are then exact.
    The weighted sum of four pixels (34 bits of fraction) is rounded to the nearest integer, halves up.

    Args:
        images: uint8 [n, height, width].
        degrees: the angle in degrees.

    Returns:
        uint8 [n, height, width].
    """
    _, height, width = images.shape
    cosine, sine = (round(f(math.radians(degrees)) * (1 << FRACTION)) for f in (math.cos, math.sin))
    y = 2 * np.arange(height, dtype=np.int64)[:, None] - (height - 1)
    x = 2 * np.arange(width, dtype=np.int64)[None, :] - (width - 1)
    source_y = sine * x + cosine * y + ((height - 1) << FRACTION)
    source_x = cosine * x - sine * y + ((width - 1) << FRACTION)
    top, left = source_y >> POSITION, source_x >> POSITION
    down, right = source_y - (top << POSITION), source_x - (left << POSITION)
    whole = 1 << POSITION
    total = np.full(images.shape, 1 << (2 * POSITION - 1), np.int64)
    for row, weight_y in ((top, whole - down), (top + 1, down)):
        for column, weight_x in ((left, whole - right), (left + 1, right)):
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            pixels = images[:, np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)].astype(np.int64)
            total += np.where(inside, weight_y * weight_x, 0) * pixels
    return (total >> (2 * POSITION)).astype(np.uint8)
