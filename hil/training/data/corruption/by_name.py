"""Corrupt images by name: four families after Hendrycks and Dietterich, for small images.

Source: "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations" (2019). Implemented with NumPy
in integers and with its own generators, so every computer gives the same bytes. docs/data.md lists the differences from
ImageNet-C and CIFAR-10-C.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.errors import RigError, close_matches
from hil.training.data.corruption import blur, digital, noise, weather

Corruption = Callable[[np.ndarray, int, np.random.Generator], np.ndarray]
FAMILIES: dict[str, dict[str, Corruption]] = {
    "noise": {
        "gaussian-noise": noise.gaussian_noise,
        "shot-noise": noise.shot_noise,
        "impulse-noise": noise.impulse_noise,
        "speckle-noise": noise.speckle_noise,
    },
    "blur": {
        "gaussian-blur": blur.gaussian_blur,
        "defocus-blur": blur.defocus_blur,
        "motion-blur": blur.motion_blur,
        "zoom-blur": blur.zoom_blur,
    },
    "weather": {"fog": weather.fog, "snow": weather.snow, "brightness": weather.brightness},
    "digital": {
        "contrast": digital.contrast,
        "elastic": digital.elastic,
        "pixelate": digital.pixelate,
        "jpeg": digital.jpeg,
    },
}
CORRUPTIONS = {name: corruption for family in FAMILIES.values() for name, corruption in family.items()}
SEVERITIES = (1, 2, 3, 4, 5)
DRAW = 2019  # first word of the seed; then the index of the corruption, the severity, the caller's seed
IMAGES_AT_A_TIME = 1000


def corrupted(images: np.ndarray, name: str, severity: int, seed: int) -> np.ndarray:
    """Corrupt images. The random numbers depend only on name, severity, seed and the shape of the images.

    Args:
        images: uint8 [n, height, width] or [n, height, width, channels].
        name: one of `CORRUPTIONS`.
        severity: 1..5.
        seed: last word of the seed, for example the split.

    Returns:
        uint8, in the same shape.

    Raises:
        RigError: there is no such corruption or severity.
    """
    if name not in CORRUPTIONS:
        raise RigError(f"there is no corruption {name!r}: {close_matches(name, CORRUPTIONS)}")
    if severity not in SEVERITIES:
        raise RigError(f"severity {severity} of {name} does not exist: choose one in 1..5.")
    rng = np.random.Generator(np.random.PCG64([DRAW, list(CORRUPTIONS).index(name), severity, seed]))
    out = np.empty((*images.shape[:3], images.shape[3] if images.ndim == 4 else 1), np.uint8)
    for start in range(0, len(images), IMAGES_AT_A_TIME):
        part = slice(start, start + IMAGES_AT_A_TIME)
        wide = images[part].reshape(-1, *out.shape[1:]).astype(np.int64)
        out[part] = CORRUPTIONS[name](wide, severity, rng)
    return out.reshape(images.shape)
