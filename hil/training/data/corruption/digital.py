"""Digital corruptions: contrast, elastic, pixelate, jpeg."""

from __future__ import annotations

import math

import numpy as np

from hil.training.data.corruption.grid import FRACTION, ONE, divided, fixed, length, positions, read_at, smooth_field

CONTRAST = (0.75, 0.5, 0.4, 0.3, 0.15)  # remaining fraction of the contrast
ELASTIC = (0.8, 1.2, 1.6, 2.1, 2.7)  # largest displacement, in pixels of a 32-pixel image
PIXELATE = (0.6, 0.5, 0.4, 0.3, 0.25)  # new side length as a fraction of the old one
JPEG = (25, 18, 15, 10, 7)  # quality
CELLS = 4  # cells on each side of the displacement field
SIDE, BASIS_BITS = 8, 13  # side of a block; bits of fraction of the cosines
# ITU-T T.81, table K.1: luminance
LUMINANCE = np.array([
    [16, 11, 10, 16, 24, 40, 51, 61], [12, 12, 14, 19, 26, 58, 60, 55], [14, 13, 16, 24, 40, 57, 69, 56],
    [14, 17, 22, 29, 51, 87, 80, 62], [18, 22, 37, 56, 68, 109, 103, 77], [24, 35, 55, 64, 81, 104, 113, 92],
    [49, 64, 78, 87, 103, 121, 120, 101], [72, 92, 95, 98, 112, 100, 103, 99],
])  # fmt: skip


def contrast(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Move every pixel towards the mean of its image and channel."""
    pixels, left = images.shape[1] * images.shape[2], fixed(CONTRAST[severity - 1])
    total = images.sum((1, 2), keepdims=True)
    return divided(left * pixels * images + (ONE - left) * total, ONE * pixels)


def elastic(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Move every pixel by a smooth random field."""
    most = length(images, ELASTIC[severity - 1])
    moved = [
        start + (most * (2 * smooth_field(rng, images.shape[:3], CELLS) - ONE) >> FRACTION)
        for start in positions(images)
    ]
    return divided(read_at(images, moved[0], moved[1]), ONE * ONE)


def pixelate(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Average over fewer, larger pixels."""
    height, width = images.shape[1:3]
    rows, columns = (max(round(PIXELATE[severity - 1] * size), 1) for size in (height, width))
    total = np.einsum("ry,nyxc,sx->nrsc", _overlaps(rows, height), images, _overlaps(columns, width))
    small = divided(total, height * width)
    back_y, back_x = ((2 * np.arange(size) + 1) * few // (2 * size) for size, few in ((height, rows), (width, columns)))
    return small[:, back_y][:, :, back_x]


def _overlaps(few: int, many: int) -> np.ndarray:
    """Return the overlap of each of `few` large pixels with each of `many` small ones, int64 [few, many].

    Every row sums to `many`.
    """
    large, small = np.arange(few)[:, None] * many, np.arange(many)[None] * few
    overlaps: np.ndarray = np.maximum(np.minimum(large + many, small + few) - np.maximum(large, small), 0)
    return overlaps


def jpeg(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Quantize the cosine transform of 8 x 8 blocks as JPEG does for luminance, each channel separately."""
    count, height, width, channels = images.shape
    padded = np.pad(images, ((0, 0), (0, -height % SIDE), (0, -width % SIDE), (0, 0)), "edge")
    rows, columns = padded.shape[1] // SIDE, padded.shape[2] // SIDE
    blocks = padded.reshape(count, rows, SIDE, columns, SIDE, channels).transpose(0, 1, 3, 5, 2, 4) - 128
    # The quantization table of a quality below 50, scaled as by the Independent JPEG Group.
    basis, table = _cosines(), np.clip((LUMINANCE * (5000 // JPEG[severity - 1]) + 50) // 100, 1, 255)
    whole = table << (2 * BASIS_BITS)
    coefficients = basis @ blocks @ basis.T
    levels = np.sign(coefficients) * ((2 * np.abs(coefficients) + whole) // (2 * whole))
    again = basis.T @ (levels * table) @ basis + (128 << (2 * BASIS_BITS))
    pixels = divided(again, 1 << (2 * BASIS_BITS)).transpose(0, 1, 4, 2, 5, 3).reshape(padded.shape)
    return pixels[:, :height, :width]


def _cosines() -> np.ndarray:
    """Return the orthonormal cosine basis with 13 bits of fraction, int64 [frequency, position]."""
    scales = [2**BASIS_BITS * math.sqrt((1 if k == 0 else 2) / SIDE) for k in range(SIDE)]
    return np.array([
        [round(scale * math.cos((2 * n + 1) * k * math.pi / (2 * SIDE))) for n in range(SIDE)]
        for k, scale in enumerate(scales)
    ], np.int64)  # fmt: skip
