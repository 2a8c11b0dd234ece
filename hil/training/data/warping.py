"""Resize and rotate images and change their channels, in integers only, so every computer gives the same bytes."""

from __future__ import annotations

import math

import numpy as np

from hil.errors import RigError
from hil.training.data.corruption.grid import ONE, divided, read_at

FRACTION = 16  # bits of sine and cosine
POSITION = FRACTION + 1  # bits of fraction of a source position; doubled coordinates make every image centre an integer
IMAGES_AT_A_TIME = 200


def resized(images: np.ndarray, height: int, width: int, channels: int) -> np.ndarray:
    """Interpolate images bilinearly at the centres of the new pixels; a grey image is repeated in every channel.

    Args:
        images: uint8 [n, height, width] or [n, height, width, channels].
        height, width, channels: of the result.

    Returns:
        uint8 [n, height, width, channels].

    Raises:
        RigError: coloured images cannot be converted to another number of channels.
    """
    wide = images if images.ndim == 4 else images[..., None]
    if wide.shape[3] not in (1, channels):
        raise RigError(
            f"images of {wide.shape[3]} channels cannot be converted to {channels}: request {wide.shape[3]}."
        )
    y, x = (
        ((2 * np.arange(new, dtype=np.int64) + 1) * old * ONE // (2 * new) - ONE // 2)
        for new, old in ((height, wide.shape[1]), (width, wide.shape[2]))
    )
    at = np.broadcast_arrays(y[None, :, None], x[None, None])
    out = np.empty((len(wide), height, width, channels), np.uint8)
    for start in range(0, len(wide), IMAGES_AT_A_TIME):
        part = slice(start, start + IMAGES_AT_A_TIME)
        out[part] = divided(read_at(wide[part], at[0], at[1]), ONE * ONE)
    return out


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
