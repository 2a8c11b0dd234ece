"""Locate the full data sets on this computer, and verify their files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hil.bounded_read import packaged_toml
from hil.cache import cache_folder
from hil.errors import RigError, close_matches
from hil.training.data.idx import idx_bytes, read_idx
from hil.training.data.user_files import user_sets

PARTS = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
FOLDER_VARIABLE = "TRAINRIG_DATA"
SOURCES = Path(__file__).parent / "sources.toml"


@dataclass(frozen=True)
class Known:
    """A full data set as sources.toml describes it.

    Attributes:
        name, title, licence: of the set.
        by_hand: URL for a download by hand.
        sha256, md5: digests of the decompressed IDX bytes, by part.
        sources: download sources in order of preference, each with its `kind`.
        split: the rule that divides it into training and test images.
        images: whether it has images of digits or clothes, from which the sets of ElasticZO are made (dataset.py).
    """

    name: str
    title: str
    licence: str
    by_hand: str
    sha256: dict[str, str]
    md5: dict[str, str]
    sources: Sequence[dict[str, Any]]
    split: str = "its publisher's"
    images: bool = True


def known_sets(path: Path = SOURCES) -> dict[str, Known]:
    """Return the full data sets by name."""
    return {name: Known(name, **facts) for name, facts in packaged_toml(path).items()}


def image_sets() -> list[str]:
    """Return the names of the full sets of images of digits or clothes."""
    return [name for name, known in known_sets().items() if known.images]


def find_set(name: str) -> Known:
    """Return a full data set by name. Raises RigError if there is no such set."""
    known = known_sets()
    if name in user_sets():
        own = user_sets()[name]
        raise RigError(
            f"{name} is not fetched but downloaded by hand: put {', '.join(own.files)} (with .gz) from {own.by_hand} "
            f"into {data_folder() / name}. Its licence: {own.licence}."
        )
    if name not in known:
        raise RigError(f"there is no full data set {name!r} to fetch: {close_matches(name, known)}")
    return known[name]


def data_folder() -> Path:
    """Return the folder that holds one folder for each data set: TRAINRIG_DATA, else the rig's cache folder."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    return Path(chosen) if chosen else cache_folder()


def file_name(part: str) -> str:
    """Return the file name of a part."""
    return f"{part}-ubyte.gz"


def verify(known: Known, part: str, data: bytes, origin: str) -> None:
    """Check the IDX bytes of one part. Raises RigError if the bytes are not those of the data set."""
    digest = hashlib.sha256(data).hexdigest()
    md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
    if (digest, md5) != (known.sha256[part], known.md5[part]):
        raise RigError(
            f"{part} from {origin} is not {known.name}'s (SHA-256 {digest[:16]}..., not {known.sha256[part][:16]}...)"
        )


def read_set(known: Known, folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the four verified arrays of a set: training images and labels, test images and labels.

    Raises:
        RigError: a file is missing, damaged or not the expected one.
    """
    arrays = []
    for part in PARTS:
        path = folder / file_name(part)
        array = read_idx(path)
        try:
            verify(known, part, idx_bytes(array), str(path))
        except RigError as error:
            raise RigError(f"{error}: run `hil data fetch {known.name}` to replace it.") from error
        arrays.append(array)
    return arrays[0], arrays[1], arrays[2], arrays[3]
