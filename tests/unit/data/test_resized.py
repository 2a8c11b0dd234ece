"""Other sizes of images, by name."""

from __future__ import annotations

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import load
from hil.training.data.corruption.by_name import corrupted
from hil.training.data.warping import resized


def test_the_same_size_changes_nothing_and_repeats_grey() -> None:
    images = load("fashion-mnist-1k").test_images[:10]
    out = resized(images, 28, 28, 3)
    assert out.shape == (10, 28, 28, 3)
    for channel in range(3):
        np.testing.assert_array_equal(out[..., channel], images)


def test_a_size_three_times_as_large_keeps_every_pixel_in_its_middle() -> None:
    images = np.random.default_rng(0).integers(0, 256, (5, 7, 9, 3)).astype(np.uint8)
    out = resized(images, 21, 27, 3)
    np.testing.assert_array_equal(out[:, 1::3, 1::3], images)
    between = (2 * images[:, :-1].astype(float) + images[:, 1:]) / 3
    np.testing.assert_allclose(out[:, 2:-1:3, 1::3], between, atol=0.51)


def test_against_bilinear_reading_in_floats() -> None:
    images = np.random.default_rng(1).integers(0, 256, (3, 28, 28)).astype(np.uint8)
    out = resized(images, 32, 45, 1)[..., 0]
    for y in range(32):
        for x in range(45):
            row, column = (np.clip((i + 0.5) * 28 / n - 0.5, 0, 27) for i, n in ((y, 32), (x, 45)))
            top, left = int(row), int(column)
            below, right = min(top + 1, 27), min(left + 1, 27)
            f, g = row - top, column - left
            wanted = (1 - f) * ((1 - g) * images[:, top, left] + g * images[:, top, right]) + f * (
                (1 - g) * images[:, below, left] + g * images[:, below, right]
            )
            np.testing.assert_allclose(out[:, y, x], wanted, atol=0.52)


def test_data_sets_by_name() -> None:
    small, large = load("fashion-mnist-1k"), load("fashion-mnist-1k@32x32x3")
    assert large.train_images.shape == (1000, 32, 32, 3)
    np.testing.assert_array_equal(large.test_images, resized(small.test_images, 32, 32, 3))
    np.testing.assert_array_equal(large.train_labels, small.train_labels)
    first = load("fashion-mnist-1k+contrast-2@32x32x3")
    np.testing.assert_array_equal(first.test_images, resized(corrupted(small.test_images, "contrast", 2, 1), 32, 32, 3))
    after = load("fashion-mnist-1k@32x32x3+contrast-2")
    np.testing.assert_array_equal(after.test_images, corrupted(large.test_images, "contrast", 2, 1))
    for name, words in (("fashion-mnist-1k@32x32x3@16x16x1", "request 3"), ("fashion-mnist-1k@32x32", "no data set"), ("fashion-mnist-1k@0x4x1", "no data set")):  # fmt: skip
        with pytest.raises(RigError, match=words):
            load(name)
