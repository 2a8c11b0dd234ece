"""The default data set and the order of its samples."""

from __future__ import annotations

import gzip
import hashlib
from itertools import islice

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import batches, load
from hil.training.data.dataset import DEFAULT_FOLDER

NAME = "fashion-mnist-1k"
SHA256 = "225953b7ea044ddf684ff066ee2fd0894255dc3df31bbc5c618454f731fee1a2"


def test_shapes_and_balance() -> None:
    data = load(NAME)
    assert data.train_images.shape == (1000, 28, 28)
    assert data.test_images.shape == (500, 28, 28)
    assert data.train_images.dtype == data.train_labels.dtype == np.uint8
    assert np.bincount(data.train_labels).tolist() == [100] * 10
    assert np.bincount(data.test_labels).tolist() == [50] * 10


def test_training_and_test_images_are_apart() -> None:
    data = load(NAME)
    train = {image.tobytes() for image in data.train_images}
    assert len(train) == 1000
    assert not train & {image.tobytes() for image in data.test_images}


def test_images_are_pictures_of_their_classes() -> None:
    """A nearest-mean classifier does far better than chance: labels belong to their images."""
    data = load(NAME)
    train, test = (x.reshape(len(x), -1).astype(float) for x in (data.train_images, data.test_images))
    means = np.stack([train[data.train_labels == c].mean(axis=0) for c in range(10)])
    nearest = ((test[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == data.test_labels).mean() > 0.6


def test_the_digest_is_over_the_files_and_never_changes() -> None:
    folder = DEFAULT_FOLDER
    digest = hashlib.sha256()
    for part in ("train-images-idx3", "train-labels-idx1", "test-images-idx3", "test-labels-idx1"):
        digest.update(gzip.decompress((folder / f"{part}-ubyte.gz").read_bytes()))
    assert load(NAME).sha256 == digest.hexdigest() == SHA256


def test_an_unknown_set_gets_its_close_match() -> None:
    with pytest.raises(RigError, match=r"no data set 'fashion-mnits': did you mean fashion-mnist"):
        load("fashion-mnits")


@pytest.mark.parametrize("batch", [1, 7, 8, 999, 1000])
def test_every_epoch_is_a_permutation(batch: int) -> None:
    data, steps = load(NAME), 1000 // batch
    drawn = list(islice(batches(data, batch, seed=3), 3 * steps))
    assert all(len(indices) == batch for indices in drawn)
    epochs = [np.concatenate(drawn[e * steps : (e + 1) * steps]) for e in range(3)]
    for epoch in epochs:
        assert len(set(epoch.tolist())) == steps * batch
        assert 0 <= epoch.min() <= epoch.max() < 1000
    assert not np.array_equal(epochs[0], epochs[1])
    assert not np.array_equal(epochs[1], epochs[2])


def test_the_seed_decides_the_order() -> None:
    data = load(NAME)
    one, again, other = (np.concatenate(list(islice(batches(data, 8, seed), 50))) for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert (one != other).mean() > 0.9


def test_a_batch_that_is_too_large() -> None:
    with pytest.raises(RigError, match="a batch of 1001 is larger than the 1000 training images"):
        next(batches(load(NAME), 1001, 1))
