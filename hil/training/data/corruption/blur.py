"""Blur: gaussian, defocus, motion, zoom. Lengths are in pixels of a 32-pixel image; edge pixels pad the border."""

from __future__ import annotations

import math

import numpy as np

from hil.training.data.corruption.grid import FRACTION, ONE, divided, fixed, length, positions, read_at

GAUSSIAN = (0.5, 0.7, 0.9, 1.2, 1.6)  # standard deviation
DEFOCUS = (0.9, 1.2, 1.5, 2.0, 2.6)  # radius
MOTION = (2.0, 3.0, 4.0, 5.5, 7.0)  # length of the motion
ZOOM = (1.06, 1.11, 1.16, 1.21, 1.31)  # largest zoom factor; the factors go from 1.00 up to it in steps of 0.01
DIRECTIONS, STEPS = 32, 8  # directions in half a turn; steps on either half of the motion
SUPER = 16  # a disk is sampled at 16 x 16 points for each pixel


def gaussian_blur(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Blur with a Gaussian kernel cut at three standard deviations, first along one axis, then along the other."""
    sigma = length(images, GAUSSIAN[severity - 1]) / ONE
    reach = math.ceil(3 * sigma)
    line = np.array([[fixed(math.exp(-((at / sigma) ** 2) / 2)) for at in range(-reach, reach + 1)]], np.int64)
    return divided(_filtered(_filtered(images, line), line.T), int(line.sum()) ** 2)


def defocus_blur(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Blur with a disk; a pixel on its rim is weighted by its covered area."""
    radius = length(images, DEFOCUS[severity - 1])
    reach = (radius >> FRACTION) + 1
    points = (2 * np.arange((2 * reach + 1) * SUPER, dtype=np.int64) + 1) * ONE // (2 * SUPER) - reach * ONE - ONE // 2
    covered = points[:, None] ** 2 + points[None] ** 2 <= radius**2
    disk = covered.reshape(2 * reach + 1, SUPER, 2 * reach + 1, SUPER).sum((1, 3))
    return divided(_filtered(images, disk), int(disk.sum()))


def _filtered(images: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Return the image filtered with an integer kernel, not divided by the sum of the kernel."""
    rows, columns = kernel.shape[0] // 2, kernel.shape[1] // 2
    padded = np.pad(images, ((0, 0), (rows, rows), (columns, columns), (0, 0)), "edge")
    height, width = images.shape[1:3]
    total = np.zeros_like(images)
    for y, x in np.argwhere(kernel):
        total += kernel[y, x] * padded[:, y : y + height, x : x + width]
    return total


def motion_blur(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Blur along a line, each image in its own random direction."""
    directions = rng.integers(0, DIRECTIONS, len(images))
    return along(images, length(images, MOTION[severity - 1]), directions)


def along(images: np.ndarray, way: int, directions: np.ndarray) -> np.ndarray:
    """Return the mean along a line through every pixel.

    Args:
        images: int64 [n, height, width, channels].
        way: length of the line in pixels, with 16 bits of fraction.
        directions: direction for each image, in 32nds of half a turn.
    """
    out = np.empty_like(images)
    for direction in np.unique(directions):
        kernel = _line(way, math.pi * int(direction) / DIRECTIONS)
        out[directions == direction] = divided(_filtered(images[directions == direction], kernel), int(kernel.sum()))
    return out


def _line(way: int, angle: float) -> np.ndarray:
    """Return the kernel of 17 points on a line; bilinear interpolation distributes each over four pixels."""
    reach = (way >> (FRACTION + 1)) + 1
    kernel = np.zeros((2 * reach + 1, 2 * reach + 1), np.int64)
    for step in range(-STEPS, STEPS + 1):
        part = way * step // (2 * STEPS)
        y, x = (part * fixed(f(angle)) >> FRACTION for f in (math.sin, math.cos))
        row, column = y >> FRACTION, x >> FRACTION
        down, right = y - row * ONE, x - column * ONE
        for at_y, weight_y in ((row, ONE - down), (row + 1, down)):
            for at_x, weight_x in ((column, ONE - right), (column + 1, right)):
                if weight_y * weight_x:
                    kernel[reach + at_y, reach + at_x] += weight_y * weight_x
    return kernel


def zoom_blur(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Return the mean of the image and of its enlargements about the centre."""
    factors = range(100, round(100 * ZOOM[severity - 1]) + 1)
    y, x = positions(images)
    middle_y, middle_x = ((size - 1) * ONE // 2 for size in images.shape[1:3])
    total = np.zeros_like(images)
    for hundredths in factors:
        row = (y - middle_y) * 100 // hundredths + middle_y
        column = (x - middle_x) * 100 // hundredths + middle_x
        total += read_at(images, *np.broadcast_arrays(row, column))
    return divided(total, len(factors) << (2 * FRACTION))
