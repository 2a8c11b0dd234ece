"""Data sets from IDX files of the user: of any folder, or of a publisher whose files are downloaded by hand."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hil.bounded_read import packaged_toml, read_file
from hil.errors import RigError
from hil.training.data.card import Arrays
from hil.training.data.idx import LARGEST, read_idx

SETS = Path(__file__).parent / "user_sets.toml"
AGAIN = "download it again"


@dataclass(frozen=True)
class UserSet:
    """A set that the user downloads, as user_sets.toml describes it.

    Attributes:
        name, title, licence: of the set.
        by_hand: where its publisher has it.
        classes: how many it has.
        files: names of the four files without .gz, in the order of `Arrays`.
        packed: SHA-256 of the files as they are published (with .gz); empty if they are not known.
        first_label: label of the first class in the files.
        transposed: whether rows of the files are columns of the images.
    """

    name: str
    title: str
    licence: str
    by_hand: str
    classes: int
    files: tuple[str, ...]
    packed: tuple[str, ...] = ()
    first_label: int = 0
    transposed: bool = False


def user_sets() -> dict[str, UserSet]:
    """Return the sets by name."""
    return {name: UserSet(name, **facts) for name, facts in packaged_toml(SETS).items()}


def read_user_set(known: UserSet, folder: Path) -> Arrays:
    """Return the arrays of a set whose files are in a folder; labels begin at 0.

    Raises:
        RigError: a file is missing or damaged, or not the publisher's.
    """
    names = [find(folder, (file,)) for file in known.files]
    if not all(names):
        raise RigError(
            f"{folder} does not hold the four files of {known.name}: download {', '.join(known.files)} (with .gz) from "
            f"{known.by_hand} and put them there."
        )
    paths = [folder / name for name in names if name is not None]
    for path, expected in zip(paths, known.packed, strict=False):
        digest = hashlib.sha256(read_file(path, LARGEST, AGAIN)).hexdigest()
        if digest != expected:
            raise RigError(
                f"{path} is not the file of {known.name} (SHA-256 {digest[:16]}..., not {expected[:16]}...): {AGAIN}, "
                "and keep it packed."
            )
    arrays = [read_idx(path) for path in paths]
    for labels in arrays[1::2]:
        if labels.size and not known.first_label <= labels.min() <= labels.max() < known.first_label + known.classes:
            raise RigError(f"{folder} holds labels that {known.name} does not have: {AGAIN}.")
    images = [array.transpose(0, 2, 1) if known.transposed and array.ndim == 3 else array for array in arrays[::2]]
    train, test = (np.ascontiguousarray(array) for array in images)
    labels, test_labels = (np.asarray(array - np.uint8(known.first_label)) for array in arrays[1::2])
    return checked((train, labels, test, test_labels), folder)


def read_folder(folder: Path) -> Arrays:
    """Read four IDX files, plain or gzipped, with the names of MNIST's; the test split may be called `test` or `t10k`.

    Raises:
        RigError: a file is missing or damaged, or the files do not match each other.
    """
    arrays = []
    for split in (("train",), ("test", "t10k")):
        for kind in ("images-idx3", "labels-idx1"):
            possible = [f"{word}-{kind}-ubyte" for word in split]
            name = find(folder, possible)
            if name is None:
                raise RigError(
                    f"{folder} holds no {possible[-1]} (or .gz): put the four IDX files there under their usual names."
                )
            arrays.append(read_idx(folder / name))
    return checked((arrays[0], arrays[1], arrays[2], arrays[3]), folder)


def find(folder: Path, names: tuple[str, ...] | list[str]) -> str | None:
    """Return the first of these files that a folder has, packed before plain; None if it has none."""
    possible = (f"{name}{ending}" for name in names for ending in (".gz", ""))
    return next((name for name in possible if (folder / name).is_file()), None)


def checked(arrays: Arrays, folder: Path) -> Arrays:
    """Return arrays that belong together. Raises RigError if they do not."""
    for split, images, labels in (("train", *arrays[:2]), ("test", *arrays[2:])):
        if images.ndim != 3 or labels.ndim != 1:
            raise RigError(
                f"the {split} files in {folder} hold images in {images.ndim} and labels in {labels.ndim} "
                "dimensions: give images as [n, height, width] and labels as [n]."
            )
        if len(images) != len(labels) or not len(images):
            raise RigError(
                f"{folder} holds {len(images)} {split} images and {len(labels)} labels: give one label for each image."
            )
    if arrays[0].shape[1:] != arrays[2].shape[1:]:
        sizes = " and ".join("x".join(map(str, array.shape[1:])) for array in arrays[::2])
        raise RigError(f"{folder} holds training and test images of {sizes}: give them the same size.")
    return arrays
