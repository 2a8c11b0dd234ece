"""Weather: fog, snow, brightness. (Without ImageNet-C's frost, which uses photographs of ice.)"""

from __future__ import annotations

import numpy as np

from hil.training.data.corruption.blur import DIRECTIONS, along
from hil.training.data.corruption.grid import FRACTION, ONE, divided, fixed, length, nearly_normal, smooth_field

FOG = ((0.3, 1.0), (0.6, 1.0), (0.9, 0.8), (1.3, 0.7), (1.8, 0.6))  # density; how fast the weights of octaves fall
# Threshold of a flake, length of its fall in pixels of a 32-pixel image, whitening.
SNOW = ((2.2, 2.0, 0.1), (2.0, 2.5, 0.15), (1.8, 3.0, 0.2), (1.6, 3.5, 0.25), (1.4, 4.0, 0.3))
BRIGHTNESS = (0.1, 0.2, 0.3, 0.4, 0.5)  # fraction of white
CLOUDS = (2, 4, 8, 16)  # cells on each side, by octave
FALLING = (DIRECTIONS // 4, 3 * DIRECTIONS // 4)  # range of the snow's direction: diagonal, vertical, other diagonal


def fog(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Blend clouds of four octaves over the image; white stays white."""
    much, fading = FOG[severity - 1]
    clouds, weights = np.zeros(images.shape[:3], np.int64), 0
    for octave, cells in enumerate(CLOUDS):
        weight = fixed(1.0 / (1.0 + fading) ** octave)
        clouds += weight * smooth_field(rng, images.shape[:3], cells)
        weights += weight
    part = fixed(much)
    cloud = 255 * (clouds // weights)[..., None]  # 16 bits of fraction
    return divided((images << (2 * FRACTION)) + part * cloud, ONE * (ONE + part))


def snow(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Add motion-blurred flakes to a whitened image; each image has its own random direction."""
    threshold, way, whitening = SNOW[severity - 1]
    drawn = nearly_normal(rng, (*images.shape[:3], 1))
    flakes = np.where(drawn > fixed(threshold), 255, 0)
    fallen = along(flakes, length(images, way), rng.integers(FALLING[0], FALLING[1] + 1, len(images)))
    white = fixed(whitening)
    paler = (ONE - white) * images + white * np.maximum(images, (3 * images + 255) // 2)
    return divided(paler + 2 * ONE * fallen, ONE)


def brightness(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Add a constant to every pixel and channel."""
    light = (255 * fixed(BRIGHTNESS[severity - 1]) + ONE // 2) >> FRACTION
    brighter: np.ndarray = np.minimum(images + light, 255)
    return brighter
