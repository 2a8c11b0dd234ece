"""Sets that the user downloads by hand: labels from 0, images upright, the publisher's files where they are known."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import load
from hil.training.data.idx import idx_bytes
from hil.training.data.store import find_set
from hil.training.data.user_files import read_user_set, user_sets

RNG = np.random.Generator(np.random.PCG64(11))
IMAGES = [RNG.integers(0, 256, (n, 28, 28), np.uint8) for n in (30, 27)]


def write(folder: Path, name: str, packed: bool = True) -> list[bytes]:
    known = user_sets()[name]
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for index, file in enumerate(known.files):
        images = IMAGES[index // 2]
        labels = (np.arange(len(images)) % known.classes + known.first_label).astype(np.uint8)
        data = idx_bytes(labels if index % 2 else images)
        found.append(gzip.compress(data, mtime=0) if packed else data)
        (folder / f"{file}{'.gz' if packed else ''}").write_bytes(found[-1])
    return found


@pytest.mark.parametrize("packed", [True, False])
def test_letters_begin_at_0_and_stand_upright(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    monkeypatch.setenv("TRAINRIG_DATA", str(tmp_path))
    write(tmp_path / "emnist-letters", "emnist-letters", packed)
    data = load("emnist-letters")
    np.testing.assert_array_equal(data.train_images, IMAGES[0].transpose(0, 2, 1))
    np.testing.assert_array_equal(data.test_labels, np.arange(27) % 26)
    assert load("emnist-letters@20").train_images.shape == (20, 28, 28)


def test_files_of_a_known_publisher_are_compared_with_his(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINRIG_DATA", str(tmp_path))
    files = write(tmp_path / "kmnist", "kmnist")
    with pytest.raises(RigError, match=r"train-images-idx3-ubyte.gz is not the file of kmnist .*download it again"):
        load("kmnist")
    packed = tuple(hashlib.sha256(file).hexdigest() for file in files)
    arrays = read_user_set(replace(user_sets()["kmnist"], packed=packed), tmp_path / "kmnist")
    np.testing.assert_array_equal(arrays[2], IMAGES[1])


def test_other_labels_are_refused(tmp_path: Path) -> None:
    known = replace(user_sets()["emnist-letters"], first_label=0, classes=26)
    write(tmp_path, "emnist-letters")
    with pytest.raises(RigError, match="holds labels that emnist-letters does not have"):
        read_user_set(known, tmp_path)


def test_what_is_missing_says_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINRIG_DATA", str(tmp_path))
    said = r"emnist-digits-test-labels-idx1-ubyte \(with .gz\) from https://.*gzip.zip"
    with pytest.raises(RigError, match=f"does not hold the four files of emnist-digits: download .*{said}"):
        load("emnist-digits")
    with pytest.raises(RigError, match=f"emnist-digits is not fetched but downloaded by hand: put .*{said}"):
        find_set("emnist-digits")
