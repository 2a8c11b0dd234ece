"""Corrupted images: the same bytes everywhere, and each corruption does what its name says."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import load
from hil.training.data.corruption.by_name import CORRUPTIONS, FAMILIES, SEVERITIES, corrupted
from hil.training.data.corruption.digital import _cosines, _overlaps
from hil.training.data.corruption.grid import ONE, nearly_normal, read_at, smooth_field
from hil.training.data.corruption.noise import poisson_limits

NAMES = sorted(CORRUPTIONS)


def clothes(count: int = 100) -> np.ndarray:
    return load("fashion-mnist-1k").test_images[:count]


def coloured(count: int = 20, side: int = 32) -> np.ndarray:
    """Squares of 5 pixels, which no block of a corruption lies on, with grain."""
    rng = np.random.default_rng(1)
    squares = rng.integers(0, 226, (count, 7, 7, 3)).repeat(5, 1).repeat(5, 2)[:, :side, :side]
    return (squares + rng.integers(0, 30, squares.shape)).astype(np.uint8)


def damage(images: np.ndarray, name: str, severity: int) -> float:
    changed = corrupted(images, name, severity, 0).astype(float) - images
    return float(np.sqrt(np.mean(changed**2)))


def test_the_four_families_are_there() -> None:
    assert list(FAMILIES) == ["noise", "blur", "weather", "digital"]
    assert [len(family) for family in FAMILIES.values()] == [4, 4, 3, 4]


@pytest.mark.parametrize("name", NAMES)
def test_shape_type_and_growth_with_severity(name: str) -> None:
    for images in (clothes(), coloured()):
        before = images.copy()
        out = corrupted(images, name, 3, 0)
        assert (out.shape, out.dtype) == (images.shape, np.uint8)
        np.testing.assert_array_equal(images, before)
        damages = [damage(images, name, severity) for severity in SEVERITIES]
        assert damages == sorted(damages) or images.ndim == 4, "squares of 5 pixels can suit a larger pixel better"
        assert damages[0] > 3
        assert damages[-1] > 1.2 * damages[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_makes_the_same_images_and_a_grey_image_is_a_channel(name: str) -> None:
    images = clothes(20)
    one = corrupted(images, name, 4, 7)
    np.testing.assert_array_equal(one, corrupted(images, name, 4, 7))
    np.testing.assert_array_equal(one, corrupted(images[..., None], name, 4, 7)[..., 0])
    drawn = name not in ("gaussian-blur", "defocus-blur", "zoom-blur", "brightness", "contrast", "pixelate", "jpeg")
    assert np.array_equal(one, corrupted(images, name, 4, 8)) != drawn


def test_many_images_are_corrupted_in_parts_of_which_none_is_lost() -> None:
    images = clothes(500).repeat(3, 0)
    out = corrupted(images, "gaussian-noise", 2, 0)
    assert np.all(np.abs(out.astype(int) - images).max((1, 2)) > 5)
    assert not np.array_equal(out[:500], out[1000:1500])


def test_noise_has_the_moments_of_its_distribution() -> None:
    grey = np.full((40, 28, 28), 128, np.uint8)
    for name, severity, spread in (
        ("gaussian-noise", 2, 0.12 * 255),
        ("speckle-noise", 2, 0.2 * 128),
        ("shot-noise", 2, 255 * (128 / 255 / 25) ** 0.5),
    ):
        out = corrupted(grey, name, severity, 0).astype(float)
        assert out.mean() == pytest.approx(128, abs=4 * spread / 177), name  # 177: the root of the number of pixels
        assert out.std() == pytest.approx(spread, rel=0.02), name
    impulse = corrupted(grey, "impulse-noise", 5, 0)
    assert np.mean(impulse == 0) == pytest.approx(0.135, abs=0.01)
    assert np.mean(impulse == 255) == pytest.approx(0.135, abs=0.01)
    assert np.all((impulse == 128) | (impulse == 0) | (impulse == 255))
    black = corrupted(np.zeros((2, 28, 28), np.uint8), "shot-noise", 5, 0)
    assert not black.any()


def test_sums_of_twelve_are_nearly_normal() -> None:
    drawn = nearly_normal(np.random.default_rng(0), (100_000,)) / ONE
    assert drawn.mean() == pytest.approx(0, abs=0.01)
    assert drawn.std() == pytest.approx(1, abs=0.01)
    for limit, part in ((1.0, 0.6827), (2.0, 0.9545)):
        assert np.mean(np.abs(drawn) < limit) == pytest.approx(part, abs=0.006)


@pytest.mark.parametrize("mean", [0.01, 0.5, 3.0, 25.0, 60.0])
def test_counts_of_photons_are_poissons(mean: float) -> None:
    parts = np.diff(poisson_limits(mean), prepend=0) / 2**32
    counts = np.arange(len(parts))
    assert parts.sum() == pytest.approx(1, abs=1e-9)
    assert (parts * counts).sum() == pytest.approx(mean, rel=1e-6)
    assert (parts * (counts - mean) ** 2).sum() == pytest.approx(mean, rel=1e-5)


def test_reading_between_pixels_is_bilinear_and_holds_the_edge() -> None:
    image = np.array([[[[10], [20]], [[30], [60]]]])
    at = lambda y, x: read_at(image, np.array([[[round(y * ONE)]]]), np.array([[[round(x * ONE)]]])).item() / ONE**2  # noqa: E731
    assert (at(0, 0), at(1, 1), at(0.5, 0.5), at(0.25, 0)) == (10, 60, 30, 15)
    assert (at(-3, 5), at(9, -9)) == (20, 30)


def test_a_smooth_field_is_in_range_and_smooth() -> None:
    field = smooth_field(np.random.default_rng(0), (50, 32, 32), 4)
    assert 0 <= field.min() < 0.1 * ONE
    assert 0.9 * ONE < field.max() <= ONE
    assert np.abs(np.diff(field, axis=1)).max() <= ONE // 8 + 1, "a lattice of 8 pixels: an eighth a pixel at most"


@pytest.mark.parametrize("name", ["gaussian-blur", "defocus-blur", "motion-blur", "zoom-blur", "pixelate", "elastic"])
def test_what_only_moves_light_leaves_a_plain_image_alone(name: str) -> None:
    for grey in (0, 77, 255):
        plain = np.full((3, 28, 28), grey, np.uint8)
        np.testing.assert_array_equal(corrupted(plain, name, 5, 0), plain)


@pytest.mark.parametrize("name", ["gaussian-blur", "defocus-blur", "motion-blur"])
def test_blur_spreads_a_point_about_its_place(name: str) -> None:
    point = np.zeros((8, 33, 33), np.uint8)
    point[:, 16, 16] = 255
    out = corrupted(point, name, 5, 0).astype(float)
    assert np.all(np.abs(out.sum((1, 2)) - 255) <= 25), "rounding, a point of 255 over up to 70 pixels"
    np.testing.assert_allclose(out, out[:, ::-1, ::-1], atol=1)
    assert np.all(out[:, 16, 16] < 128)


def test_weather_and_light_make_brighter() -> None:
    images = clothes()
    for name in ("fog", "snow", "brightness"):
        out = corrupted(images, name, 3, 0).astype(int)
        dark = images.mean((1, 2)) < 100
        assert np.all(out.mean((1, 2))[dark] > images.mean((1, 2))[dark]), name
    np.testing.assert_array_equal(corrupted(images, "brightness", 2, 0), np.minimum(images.astype(int) + 51, 255))


def test_contrast_keeps_the_mean_and_takes_its_part_of_the_spread() -> None:
    images = clothes().astype(float)
    out = corrupted(clothes(), "contrast", 2, 0)
    np.testing.assert_allclose(out, 0.5 * images + 0.5 * images.mean((1, 2), keepdims=True), atol=0.51)


def test_pixelate_averages_equal_areas() -> None:
    overlaps = _overlaps(7, 28)
    assert np.all(overlaps.sum(1) == 28)
    assert np.all(_overlaps(9, 28).sum(0) == 9)
    images = clothes(5)
    out = corrupted(images, "pixelate", 5, 0)  # 7 of 28: whole pixels
    means = images.reshape(5, 7, 4, 7, 4).astype(int).sum((2, 4))
    np.testing.assert_array_equal(out, ((2 * means + 16) // 32).repeat(4, 1).repeat(4, 2))


def test_the_cosines_are_orthonormal() -> None:
    basis = _cosines() / 2**13
    np.testing.assert_allclose(basis @ basis.T, np.eye(8), atol=3e-4)


def test_data_sets_are_corrupted_by_name() -> None:
    clean, spoilt = load("fashion-mnist-1k"), load("fashion-mnist-1k+gaussian-noise-5")
    assert spoilt.name == "fashion-mnist-1k+gaussian-noise-5"
    np.testing.assert_array_equal(spoilt.train_images, corrupted(clean.train_images, "gaussian-noise", 5, 0))
    np.testing.assert_array_equal(spoilt.test_images, corrupted(clean.test_images, "gaussian-noise", 5, 1))
    np.testing.assert_array_equal(spoilt.test_labels, clean.test_labels)
    assert spoilt.sha256 != clean.sha256
    for name, words in (
        ("+gaussian-noise-6", "severity 6"),
        ("+gausian-noise-5", "gaussian-noise"),
        ("+fog", "no data set"),
    ):
        with pytest.raises(RigError, match=words):
            load("fashion-mnist-1k" + name)


def test_the_bytes_are_the_same_on_every_computer() -> None:
    digests = {
        name: hashlib.sha256(b"".join(corrupted(clothes(50), name, s, 1).tobytes() for s in SEVERITIES)).hexdigest()[
            :16
        ]
        for name in CORRUPTIONS
    }
    assert digests == DIGESTS


DIGESTS = {
    "gaussian-noise": "937c221a7787596d",
    "shot-noise": "b95a07bdfef47d9c",
    "impulse-noise": "acc961da36ca888d",
    "speckle-noise": "26597e41a5f0b6dd",
    "gaussian-blur": "c15a030a51b30c41",
    "defocus-blur": "dcc75001cab1b045",
    "motion-blur": "5c79aa03336d92c1",
    "zoom-blur": "ddb6f213e5655c82",
    "fog": "5c6ab3c9f06d4d3a",
    "snow": "0949c381914356b6",
    "brightness": "d1e2dfb074678c8f",
    "contrast": "1447bcf5ca604151",
    "elastic": "1419a48e4cff6af9",
    "pixelate": "78a0efab2b6925df",
    "jpeg": "8607e5a7ed6bfc79",
}
