"""Data sets by name, and the order in which their samples are trained on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from hil.data.idx import idx_bytes, read_idx
from hil.errors import RigError, close_matches

FOLDERS = {"fashion-mnist-1k": Path(__file__).parent / "fashion_mnist"}


@dataclass(frozen=True, eq=False)
class DataSet:
    """Images uint8 [n, height, width] and labels uint8 [n], to train on and to test with.

    `sha256` is over the four arrays in IDX form, in the order of the fields.
    """

    name: str
    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    sha256: str


@cache
def load(name: str) -> DataSet:
    """Return a data set by name.

    Raises:
        RigError: no such data set, or its files are missing or damaged.
    """
    if name not in FOLDERS:
        raise RigError(f"there is no data set {name!r}: {close_matches(name, FOLDERS)}")
    folder = FOLDERS[name]
    arrays = [
        read_idx(folder / f"{part}-ubyte.gz")
        for part in ("train-images-idx3", "train-labels-idx1", "test-images-idx3", "test-labels-idx1")
    ]
    for images, labels in (arrays[:2], arrays[2:]):
        if len(images) != len(labels):
            raise RigError(f"{folder} holds {len(images)} images and {len(labels)} labels: fetch the set again.")
    return DataSet(name, *arrays, sha256=hashlib.sha256(b"".join(idx_bytes(array) for array in arrays)).hexdigest())


def batches(data: DataSet, batch: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the indices of one batch after another, for ever.

    Every epoch is a permutation of the training set by NumPy's PCG64 seeded with (seed, epoch); what is left over at its end and fills no batch is dropped.

    Raises:
        RigError: a batch larger than the training set.
    """
    n = len(data.train_images)
    if batch > n:
        raise RigError(
            f"a batch of {batch} is larger than the {n} training images of {data.name}: choose a smaller batch."
        )
    epoch = 0
    while True:
        order = np.random.Generator(np.random.PCG64([seed, epoch])).permutation(n)
        for start in range(0, n - batch + 1, batch):
            yield order[start : start + batch]
        epoch += 1
