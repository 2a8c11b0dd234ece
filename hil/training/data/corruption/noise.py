"""Noise: gaussian, shot, impulse, speckle. The amounts are those of ImageNet-C, since noise does not depend on size."""

from __future__ import annotations

import math

import numpy as np

from hil.training.data.corruption.grid import FRACTION, ONE, divided, fixed, nearly_normal

GAUSSIAN = (0.08, 0.12, 0.18, 0.26, 0.38)  # standard deviation, as a fraction of white
SHOT = (60, 25, 12, 5, 3)  # photons of a white pixel
IMPULSE = (0.03, 0.06, 0.09, 0.17, 0.27)  # fraction of the pixels that become black or white
SPECKLE = (0.15, 0.2, 0.35, 0.45, 0.6)  # standard deviation, as a fraction of the pixel
DRAWN_BITS = 32  # bits of the random number that selects a photon count
MOST_STANDARD_DEVIATIONS = 12  # range of the tabulated counts above the mean


def gaussian_noise(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Add normal noise."""
    return divided(
        (images << (2 * FRACTION)) + 255 * fixed(GAUSSIAN[severity - 1]) * nearly_normal(rng, images.shape), ONE * ONE
    )


def speckle_noise(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Add normal noise proportional to the pixel."""
    noise = images * fixed(SPECKLE[severity - 1]) * nearly_normal(rng, images.shape)
    return divided((images << (2 * FRACTION)) + noise, ONE * ONE)


def impulse_noise(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Make some pixels black and about as many white."""
    drawn, part = rng.integers(0, ONE, images.shape), fixed(IMPULSE[severity - 1])
    return np.where(drawn < part // 2, 0, np.where(drawn < part, 255, images))


def shot_noise(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Replace every pixel by a Poisson-distributed photon count with the pixel as its mean."""
    photons = SHOT[severity - 1]
    drawn = rng.integers(0, 1 << DRAWN_BITS, images.shape)
    counts = np.zeros_like(images)
    for pixel in np.unique(images):
        here = images == pixel
        counts[here] = np.searchsorted(poisson_limits(int(pixel) * photons / 255), drawn[here], side="right")
    return divided(counts * 255, photons)


def poisson_limits(mean: float) -> np.ndarray:
    """Return the cumulative distribution function of a Poisson variable, in units of 2^-32.

    The count for a random number is the number of entries that are less than or equal to it.
    """
    if not mean:
        return np.array([1 << DRAWN_BITS], np.int64)
    most = math.ceil(mean + MOST_STANDARD_DEVIATIONS * math.sqrt(mean) + MOST_STANDARD_DEVIATIONS)
    parts = [math.exp(count * math.log(mean) - mean - math.lgamma(count + 1)) for count in range(most)]
    return np.array([round(min(part, 1.0) * 2**DRAWN_BITS) for part in np.cumsum(parts)], np.int64)
