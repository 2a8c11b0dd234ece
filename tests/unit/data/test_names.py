"""Data sets by name: the fetched ones and what is made of them, and the user's own files."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import load, names
from hil.training.data.idx import idx_bytes
from hil.training.data.store import PARTS, data_folder, file_name, known_sets
from hil.training.data.user_files import user_sets
from hil.training.data.vibration import MACHINES
from hil.training.data.warping import rotated

RNG = np.random.Generator(np.random.PCG64(3))
OWN = (
    RNG.integers(0, 256, (7, 5, 4), np.uint8),
    np.arange(7, dtype=np.uint8),
    RNG.integers(0, 256, (3, 5, 4), np.uint8),
    np.array([9, 0, 9], np.uint8),
)
# Over the four arrays in IDX form (DataSet.sha256), of sets made from the verified files.
DIGESTS = {
    "mnist": "b2d8f5bf39174ee5",
    "fashion-mnist": "14410854cf7a2894",
    "mnist-50k": "d4b67c424e791613",
    "fashion-mnist-50k": "313fb2aa395bd5cc",
    "rotated-mnist-30": "4200892527959570",
    "rotated-mnist-45": "8166083588638edc",
    "rotated-fashion-mnist-30": "0044008267341058",
    "rotated-fashion-mnist-45": "22b85a5875bbe2e9",
    "furniture-clouds": "74bce7adf7fcabad",
    "watch": "e141a62cafb256cd",
    "watch-user-8": "7fd9700c812a0c75",
    "watch-user-9": "507dd5ed63f14636",
    "watch-user-10": "52a5c71e6f9eb2bc",
    "vibration": "d3acf1b27a48e855",
    "vibration-other": "863ba153ba9c7c50",
    "rotated-fashion-mnist-1k-30": "de87a9c330179e32",
    "rotated-fashion-mnist-1k-45": "4e2719e06cd69475",
}


def write(folder: Path, arrays: tuple[np.ndarray, ...] = OWN, test: str = "t10k", packed: bool = False) -> str:
    folder.mkdir(exist_ok=True)
    for part, array in zip(PARTS, arrays, strict=True):
        data, name = idx_bytes(array), part.replace("t10k", test) + "-ubyte"
        (folder / f"{name}{'.gz' if packed else ''}").write_bytes(gzip.compress(data) if packed else data)
    return f"idx:{folder}"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("test", ["t10k", "test"])
def test_the_user_s_own_files(tmp_path: Path, test: str, packed: bool) -> None:
    data = load(write(tmp_path / "own", test=test, packed=packed))
    for ours, theirs in zip(
        (data.train_images, data.train_labels, data.test_images, data.test_labels), OWN, strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert data.sha256 == hashlib.sha256(b"".join(idx_bytes(array) for array in OWN)).hexdigest()


@pytest.mark.parametrize(
    "arrays, said",
    [
        ((OWN[0][:6], *OWN[1:]), "holds 6 train images and 7 labels"),
        ((*OWN[:2], OWN[2][:, :4], OWN[3]), "images of 5x4 and 4x4: give them the same size"),
        ((*OWN[:2], OWN[2][:0], OWN[3][:0]), "holds 0 test images and 0 labels"),
        ((OWN[0].reshape(7, 20), *OWN[1:]), "images in 2 and labels in 1 dimensions"),
    ],
)
def test_own_files_that_do_not_belong_together(tmp_path: Path, arrays: tuple[np.ndarray, ...], said: str) -> None:
    with pytest.raises(RigError, match=said):
        load(write(tmp_path / "own", arrays))


def test_an_own_file_is_missing(tmp_path: Path) -> None:
    name = write(tmp_path / "own")
    (tmp_path / "own" / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(RigError, match=r"holds no t10k-labels-idx1-ubyte \(or .gz\): put the four IDX files there"):
        load(name)


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist-50k", "rotated-mnist-30"])
def test_a_set_that_was_not_fetched_says_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("TRAINRIG_DATA", str(tmp_path))
    full = "fashion-mnist" if "fashion" in name else "mnist"
    with pytest.raises(RigError, match=f"data set {full} is not in {tmp_path}/{full}: run `hil data fetch {full}`"):
        load(name)


def test_arrays_cannot_be_changed_by_who_loads_them() -> None:
    with pytest.raises(ValueError, match="read-only"):
        load("fashion-mnist-1k").train_images[0, 0, 0] = 1


def fetched(name: str) -> bool:
    if name in MACHINES or "1k" in name:
        return True
    full = next(full for full in sorted(known_sets(), key=len, reverse=True) if full in name)
    return all((data_folder() / full / file_name(part)).is_file() for part in PARTS)


def test_every_name_is_pinned() -> None:
    assert set(DIGESTS) == set(names()) - {"fashion-mnist-1k", *user_sets()}


@pytest.mark.parametrize("name", DIGESTS)
def test_the_real_sets(name: str) -> None:
    if not fetched(name):
        pytest.skip("this set was not fetched here: `hil data fetch`")
    data = load(name)
    assert data.sha256.startswith(DIGESTS[name])
    if "watch" in name or name in MACHINES or "1k" in name:
        return  # test_watch.py, test_vibration.py
    if name == "furniture-clouds":
        assert (data.train_images.shape, data.test_images.shape) == ((262, 16, 16, 3), (60, 16, 16, 3))
        assert set(data.train_labels.tolist()) == set(data.test_labels.tolist()) == set(range(10))
        return
    train, test = (1024, 1024) if name.startswith("rotated") else (50_000 if name.endswith("50k") else 60_000, 10_000)
    assert (len(data.train_images), len(data.test_images)) == (train, test)
    assert np.bincount(data.train_labels).min() > 0.08 * train


def test_rotated_images_are_turned_originals_with_their_labels() -> None:
    if not fetched("fashion-mnist"):
        pytest.skip("this set was not fetched here: `hil data fetch`")
    full, data = load("fashion-mnist"), load("rotated-fashion-mnist-30")
    turned = {
        image.tobytes(): label for image, label in zip(rotated(full.test_images, 30), full.test_labels, strict=True)
    }
    assert len({image.tobytes() for image in data.test_images}) == 1024, "none is drawn twice"
    assert [turned[image.tobytes()] for image in data.test_images] == data.test_labels.tolist()
