"""Rotation in integers: exact where it must be, near the real thing elsewhere, and the same bits for ever."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hil.training.data import load
from hil.training.data.warping import rotated

IMAGES = arrays.arrays(np.uint8, st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)))
SQUARES = st.integers(1, 9).flatmap(lambda side: arrays.arrays(np.uint8, (2, side, side)))


@given(IMAGES)
def test_no_degrees_change_nothing(images: np.ndarray) -> None:
    np.testing.assert_array_equal(rotated(images, 0), images)


@settings(deadline=None)
@given(SQUARES, st.integers(-3, 3))
def test_quarter_turns_are_those_of_numpy(images: np.ndarray, quarters: int) -> None:
    np.testing.assert_array_equal(rotated(images, 90 * quarters), np.rot90(images, quarters, axes=(1, 2)))


def by_floats(image: np.ndarray, degrees: float) -> np.ndarray:
    """The definition, pixel by pixel in floats: what lies at the turned place, between its four neighbours."""
    height, width = image.shape
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    out = np.zeros(image.shape)
    for i in range(height):
        for j in range(width):
            y, x = i - (height - 1) / 2, j - (width - 1) / 2
            at_y, at_x = s * x + c * y + (height - 1) / 2, c * x - s * y + (width - 1) / 2
            for row in (math.floor(at_y), math.floor(at_y) + 1):
                for column in (math.floor(at_x), math.floor(at_x) + 1):
                    if 0 <= row < height and 0 <= column < width:
                        out[i, j] += (1 - abs(at_y - row)) * (1 - abs(at_x - column)) * image[row, column]
    return out


@pytest.mark.parametrize("degrees", [30, 45, -17.5, 123])
def test_within_one_grey_level_of_floats(degrees: float) -> None:
    images = load("fashion-mnist-1k").train_images[:12]
    ours = rotated(images, degrees)
    for image, turned in zip(images, ours, strict=True):
        assert np.abs(by_floats(image, degrees) - turned).max() <= 0.52, (
            "half a level of rounding, and that of the angle"
        )


@pytest.mark.parametrize("degrees", [30, 45])
def test_brightness_in_the_middle_is_kept(degrees: int) -> None:
    """A disc that stays inside: its sum and its mean place stay."""
    y, x = np.mgrid[-13.5:14, -13.5:14]
    disc = np.where(np.hypot(y - 2, x + 3) < 7, 200, 0).astype(np.uint8)[None]
    turned = rotated(disc, degrees)
    assert abs(int(turned.sum()) / int(disc.sum()) - 1) < 0.01
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    place = [(turned[0] * axis).sum() / turned.sum() for axis in (y, x)]
    assert place == pytest.approx([2 * c - -3 * s, 2 * s + -3 * c], abs=0.05), "counter-clockwise: y points down"


def test_the_bits_never_change() -> None:
    images = load("fashion-mnist-1k").train_images
    digests = [hashlib.sha256(rotated(images, degrees).tobytes()).hexdigest()[:16] for degrees in (30, 45)]
    assert digests == ["0537be2c3a8b82e2", "c3a000fd64a62a65"]
