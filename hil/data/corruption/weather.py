"""Weather: fog, snow, brightness. (ImageNet-C's frost is photographs of ice, which are not part of this project.)"""

from __future__ import annotations

import numpy as np

from hil.data.corruption.blur import DIRECTIONS, along
from hil.data.corruption.grid import FRACTION, ONE, divided, fixed, length, nearly_normal, smooth_field

FOG = ((0.3, 1.0), (0.6, 1.0), (0.9, 0.8), (1.3, 0.7), (1.8, 0.6))  # how much, and how fast finer clouds fade
SNOW = (
    (2.2, 2.0, 0.1),
    (2.0, 2.5, 0.15),
    (1.8, 3.0, 0.2),
    (1.6, 3.5, 0.25),
    (1.4, 4.0, 0.3),
)  # threshold of a flake, way it falls, whitening
BRIGHTNESS = (0.1, 0.2, 0.3, 0.4, 0.5)  # part of white
CLOUDS = (2, 4, 8, 16)  # cells of the octaves
FALLING = (DIRECTIONS // 4, 3 * DIRECTIONS // 4)  # directions of snow: from one diagonal over down to the other


def fog(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Lay clouds of four octaves over the image; white stays white."""
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
    """Let flakes fall, every image in a direction of its own, over a whitened image."""
    threshold, way, whitening = SNOW[severity - 1]
    drawn = nearly_normal(rng, (*images.shape[:3], 1))
    flakes = np.where(drawn > fixed(threshold), 255, 0)
    fallen = along(flakes, length(images, way), rng.integers(FALLING[0], FALLING[1] + 1, len(images)))
    white = fixed(whitening)
    paler = (ONE - white) * images + white * np.maximum(images, (3 * images + 255) // 2)
    return divided(paler + 2 * ONE * fallen, ONE)


def brightness(images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Add light to every pixel and channel."""
    light = (255 * fixed(BRIGHTNESS[severity - 1]) + ONE // 2) >> FRACTION
    return np.minimum(images + light, 255)
