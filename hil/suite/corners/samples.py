"""Drawn samples: noise, the two ends of the range, equal pixels, and images of large areas."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hil.training.graph.formats import Shape

WHITE = 255
TRAIN, TEST = 24, 12


def drawn_samples(seed: int, shape: Shape, count: int) -> np.ndarray:
    """Return uint8 images [count, height, width, channels] of five kinds in turn.

    They are noise, black and white pixels, one grey with few other pixels, large areas, and noise around one grey.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    images = np.zeros((count, *shape))
    for index in range(count):
        noise = rng.integers(0, WHITE + 1, shape)
        grey = rng.integers(0, WHITE + 1)
        match index % 5:
            case 0:
                images[index] = noise
            case 1:
                images[index] = WHITE * (noise > grey)
            case 2:
                images[index] = np.where(rng.random(shape) < 0.1, noise, grey)
            case 3:
                images[index, : shape[0] // 2] = noise[0, 0]
                images[index, :, shape[1] // 2 :] = noise[-1, -1]
            case _:
                images[index] = grey + (noise - 128) / 8
    return np.clip(np.rint(images), 0, WHITE).astype(np.uint8)


def write_samples(path: Path, seed: int, shape: Shape, classes: int) -> Path:
    """Write a data set of drawn samples with labels in turn as an .npz, and return its path."""
    train_y, test_y = ((np.arange(count) * 7 + 3) % classes for count in (TRAIN, TEST))
    train_x, test_x = drawn_samples(seed, shape, TRAIN), drawn_samples(seed + 1, shape, TEST)
    np.savez(path, train_x=train_x, train_y=train_y, test_x=test_x, test_y=test_y)
    return path
