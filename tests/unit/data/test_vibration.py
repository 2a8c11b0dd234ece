"""The synthetic vibration: its form, and that each class is what its name says."""

from __future__ import annotations

import numpy as np
import pytest

from hil.training.data import load
from hil.training.data.vibration import (
    CLASSES,
    COUNTS,
    LENGTH,
    MACHINES,
    ORDERS,
    RATE,
    WIDTHS,
    _impulses,
    _resonance,
    _wave,
    made,
)


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


@pytest.mark.parametrize("name", MACHINES)
def test_as_many_windows_of_every_class(name: str) -> None:
    data = load(name)
    assert (data.train_images.shape, data.test_images.shape) == tuple((count, LENGTH, 1, 1) for count in COUNTS)
    for labels, count in ((data.train_labels, COUNTS[0]), (data.test_labels, COUNTS[1])):
        assert np.bincount(labels).tolist() == [count // CLASSES] * CLASSES
    both = [{image.tobytes() for image in images} for images in (data.train_images, data.test_images)]
    assert not both[0] & both[1]


def test_faults_shake_more_than_none_and_large_ones_more_than_small_ones() -> None:
    data = load("vibration")
    real = data.train_images.astype(float) - 128
    spread = np.array([real[data.train_labels == label].std() for label in range(CLASSES)])
    assert (spread[1:] > 1.2 * spread[0]).all()
    for place in range(3):
        sizes = spread[1 + 3 * place : 4 + 3 * place]
        assert sizes[0] < sizes[1] < sizes[2]
    assert abs(real.mean()) < 0.5
    assert (np.abs(real) >= 127).mean() < 0.001, "hardly anything is cut off"


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("size", range(3))
def test_impulses_come_at_the_order_of_their_place_in_pairs_of_their_size(place: int, size: int) -> None:
    count, speed = 50, 1797
    labels = np.full(count, 1 + 3 * place + size)
    hits = _impulses(labels, np.full(count, speed), generator())
    exits, entries = hits < 0, hits > 0
    width = WIDTHS[size]
    inside = exits[:, width:].sum()
    assert (exits[:, width:] & entries[:, :-width]).sum() == inside, "an entry goes before each exit"
    gaps = np.concatenate([np.diff(np.flatnonzero(row)) for row in exits])
    assert gaps.mean() == pytest.approx(60 * RATE / (speed * ORDERS[place] / 1e6), rel=0.02)


def test_no_fault_has_no_impulses() -> None:
    assert not _impulses(np.zeros(5, np.int64), np.full(5, 1797), generator()).any()


def test_a_resonance_rings_at_its_frequency_and_dies_away() -> None:
    hits = np.zeros((1, 400), np.int64)
    hits[0, 0] = 1 << 20
    ringing = _resonance(hits, 3000, 95)[0]
    expected = (1 << 20) * 0.95 ** np.arange(400) * np.sin(np.pi / 2 * (np.arange(400) + 1))
    assert np.abs(ringing - expected).max() < 0.001 * (1 << 20)


def test_a_wave_has_the_periods_of_its_shaft() -> None:
    wave = _wave(np.array([1797]), 10**6, np.array([0]))[0] / 65536
    seconds = np.arange(len(wave)) / RATE
    assert np.abs(wave - np.cos(2 * np.pi * 1797 / 60 * seconds)).max() < 0.01


def test_arrays_are_made_once() -> None:
    assert made("vibration")[0] is made("vibration")[0]
