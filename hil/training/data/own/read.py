"""Read own data by path, with their card."""

from __future__ import annotations

import hashlib
import os
from itertools import islice
from pathlib import Path

from hil.bounded_npz import LARGEST
from hil.bounded_read import read_file
from hil.errors import RigError, printable
from hil.training.data.card import Arrays, DataSetCard, counted
from hil.training.data.names import FILES
from hil.training.data.own import csv_file, npz_file
from hil.training.data.own.features import made_of
from hil.training.data.own.image_folder import MOST_FILES, read_images
from hil.training.data.own.network_input import NetworkInput
from hil.training.data.own.split import GIVEN, rule
from hil.training.data.own.statement import FILE, read_statement

OF_IMAGES = "all images in the order of their paths: path in the folder, NUL, SHA-256 of the file"


def read_own(path: Path, of: NetworkInput | None) -> tuple[Arrays, DataSetCard]:
    """Return the arrays and the card of a folder of images by class, of an .npz or of a .csv.

    Args:
        path: of the folder or file.
        of: the input of the network that the data are for; None to read them as they are.

    Raises:
        RigError: they are missing, or make no data set.
    """
    if not path.exists():
        raise RigError(
            f"there are no data at {path}: give a folder of images by class, or a file {' or '.join(FILES)}."
        )
    stated = read_statement(path)
    name = printable(path.absolute().name)
    if path.is_dir():
        made, sha256 = read_images(path, stated, of)
        kind, hashed, split_given = "images by class", OF_IMAGES, (path / "train").is_dir()
    elif path.suffix.lower() in FILES:
        kind = path.suffix.lower().removeprefix(".")
        parts = npz_file.read_parts(path) if kind == "npz" else [csv_file.read_part(path)]
        made, hashed, split_given = made_of(parts, stated, of, path), "the file", len(parts) > 1
        sha256 = hashlib.sha256(read_file(path, LARGEST, "give a smaller file")).hexdigest()
    else:
        raise RigError(f"{path} is no data set: give a folder of images by class, or a file {' or '.join(FILES)}.")
    height, width, channels = made.arrays[0].shape[1:]
    return made.arrays, DataSetCard(
        name=stated.name or Path(name).stem,
        kind=kind,
        file=name,
        changes="",
        sha256=sha256,
        sha256_of=hashed,
        licence=stated.licence,
        source=stated.source,
        split=GIVEN if split_given else rule(stated.test_percent),
        split_seed=stated.split_seed,
        shape=(height, width, channels),
        range=made.range,
        classes=counted(made.classes, made.arrays[1], made.arrays[3]),
    )


def state_of(path: Path) -> str:
    """Return a digest of names, sizes and times of own data and their card, which changes when they do."""
    state = hashlib.sha256()
    files = [path, (path if path.is_dir() else path.parent) / FILE]
    if path.is_dir():
        inside = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
        files += sorted(islice(inside, MOST_FILES))  # more are refused
    for file in files:
        try:
            facts = file.stat()
        except OSError:
            continue
        state.update(os.fsencode(file) + f" {facts.st_size} {facts.st_mtime_ns}\0".encode())
    return state.hexdigest()
