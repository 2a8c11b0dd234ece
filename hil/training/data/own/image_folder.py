"""Read own data from a folder of images: CLASS/*.png, or train/CLASS/*.png and test/CLASS/*.png."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from hil.bounded_read import read_file
from hil.errors import RigError, message_of, printable
from hil.training.data.own.features import Made
from hil.training.data.own.labels import check_classes, labels_of, numbers_of
from hil.training.data.own.network_input import NetworkInput
from hil.training.data.own.split import shuffled, split
from hil.training.data.own.statement import FILE, Statement
from hil.training.data.warping import resized

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp")
FORMATS = ("PNG", "JPEG", "BMP")
PARTS = ("train", "test")
MOST_FILES = 100_000
LARGEST_FILE = 64 << 20  # bytes
MOST_PIXELS = 1 << 26  # of an image: 192 MB in colour
LARGEST = 1 << 30  # bytes of all images at the size of the network
GREY, COLOUR = ("1", "L", "LA"), ("P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")  # modes of 8 bits or fewer a channel
LAYOUT = "put images into FOLDER/CLASS/, or into FOLDER/train/CLASS/ and FOLDER/test/CLASS/"
INSTALL = "pip install 'trainrig[images]'"


@dataclass(frozen=True)
class ImageFile:
    """An image: where it lies, its class, and its part (`train` or `test`; empty if the rig splits)."""

    path: Path
    name: str
    part: str


def image_files(folder: Path) -> list[ImageFile]:
    """Return the images of a folder, in the order of part, class and name by code points. None is opened.

    Raises:
        RigError: it holds no classes, a class without images, or files that are no images.
    """
    given = [part for part in PARTS if (folder / part).is_dir()]
    if len(given) == 1:
        other = PARTS[1 - PARTS.index(given[0])]
        raise RigError(f"{folder} has the folder {given[0]}, but no {other}: {LAYOUT}.")
    found: list[ImageFile] = []
    for part in given or [""]:
        place = folder / part
        beside, classes = _listed(place)
        if given and len(_listed(folder)[1]) > len(PARTS):
            raise RigError(f"{folder} has folders beside {' and '.join(PARTS)}: {LAYOUT}.")
        loose = [path.name for path in beside if path.suffix.lower() in ENDINGS]
        if loose or not classes:
            what = f"the image {loose[0]!r} in no class" if loose else "no folders of classes"
            raise RigError(f"{place} has {what}: {LAYOUT} (IDX files are read as idx:FOLDER).")
        for one in classes:
            files, nested = _listed(one)
            if not files or nested:
                what = f"the folder {nested[0].name!r} in a class" if nested else "no images"
                raise RigError(f"{one} has {what}: {LAYOUT}, or remove it.")
            found += [ImageFile(path, one.name, part) for path in files]
            if len(found) > MOST_FILES:
                raise RigError(f"{folder} has more than {MOST_FILES:,} files, the most that are read: give fewer.")
    for image in found:
        if image.path.suffix.lower() not in ENDINGS:
            raise RigError(f"{image.path} does not end in {', '.join(ENDINGS)}: convert it, or remove it.")
    return found


def _listed(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return files and folders of a folder by name, without hidden ones and card.toml."""
    try:
        with os.scandir(folder) as entries:
            seen = []
            for entry in entries:
                if not entry.name.startswith(".") and entry.name != FILE:
                    seen.append((entry.name, entry.is_dir()))
                if len(seen) > MOST_FILES:
                    raise RigError(f"{folder} has more than {MOST_FILES:,} files, the most that are read: give fewer.")
    except OSError as error:
        raise RigError(f"{folder} cannot be read ({error.strerror or error}): {LAYOUT}.") from error
    files, folders = (
        [folder / name for name, is_folder in sorted(seen) if is_folder is kind] for kind in (False, True)
    )
    return files, folders


def read_images(folder: Path, stated: Statement, of: NetworkInput | None) -> tuple[Made, str]:
    """Return the data set of a folder, and its SHA-256: over path, NUL and SHA-256 of every image in that order.

    Images are made grey or coloured and interpolated to the network's input as they are read. Without a network, all
    have the size of the first, and its number of channels.

    Raises:
        RigError: Pillow is missing, or the folder makes no data set; an image that cannot be read is named.
    """
    files = image_files(folder)
    numbers = numbers_of([image.name for image in files], str(folder))
    pillow = _pillow(folder)
    shape = of.shape if of is not None else _shape_of_first(pillow, files[0].path)
    if shape[2] not in (1, 3):
        raise RigError(f"the images of {folder} have 1 or 3 channels, the network takes {shape[2]}: choose another.")
    if len(files) * int(np.prod(shape)) > LARGEST:
        raise RigError(
            f"{folder} has {len(files):,} images, at {'x'.join(map(str, shape))} more than {LARGEST:,} bytes: "
            "give fewer images, or a smaller size."
        )
    pixels = np.empty((len(files), *shape), np.uint8)
    whole, contents = hashlib.sha256(), []
    for index, image in enumerate(files):
        data = read_file(image.path, LARGEST_FILE, "give a smaller image, or remove it")
        contents.append(hashlib.sha256(data).digest())
        whole.update(os.fsencode(image.path.relative_to(folder).as_posix()) + b"\0" + contents[-1])
        decoded = _decoded(pillow, data, image.path, shape[2])
        if of is None and decoded.shape != shape:
            raise RigError(
                f"{image.path} is {_size(decoded.shape)}, the first image {_size(shape)}: give all the same size, or "
                "name one, such as FOLDER@28x28x1."
            )
        pixels[index] = resized(decoded[None], *shape)[0]
    labels = labels_of([image.name for image in files], numbers)
    train, test = _parts(files, contents, stated)
    cure = "add images" if files[0].part else f"add images, or split them yourself: {LAYOUT}"
    check_classes(numbers, labels[train], labels[test], str(folder), cure)
    arrays = pixels[train], labels[train], pixels[test], labels[test]
    return Made(arrays, {number: name for name, number in numbers.items()}, None), whole.hexdigest()


def _parts(files: Sequence[ImageFile], contents: list[bytes], stated: Statement) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of training and test images, in the order of their draws."""
    if not files[0].part:
        return split(contents, stated.split_seed, stated.test_percent)
    places = [np.array([at for at, image in enumerate(files) if image.part == part], np.int64) for part in PARTS]
    train, test = (one[shuffled([contents[at] for at in one], stated.split_seed)] for one in places)
    return train, test


def _pillow(folder: Path) -> ModuleType:
    try:
        from PIL import Image
    except ImportError as error:
        raise RigError(f"the images of {folder} are read by Pillow, which is not installed: {INSTALL}.") from error
    return Image


def _opened(pillow: Any, data: bytes, path: Path) -> Any:
    """Return an image of which only the header was read. Raises RigError if it is none, or too large."""
    try:
        image = pillow.open(io.BytesIO(data), formats=FORMATS)
    except Exception as error:  # a damaged image may raise nearly anything
        raise _unreadable(path, error) from error
    width, height = image.size
    if not 0 < width * height <= MOST_PIXELS:
        raise RigError(f"{path} has {width:,} x {height:,} pixels: give images of 1 to {MOST_PIXELS:,} pixels.")
    if image.mode not in GREY + COLOUR:
        raise RigError(f"{path} has pixels of mode {image.mode}: convert it to 8 bits a channel.")
    return image


def _decoded(pillow: Any, data: bytes, path: Path, channels: int) -> np.ndarray:
    """Return the pixels, uint8 [height, width, channels]; grey is Rec. 601 luma, transparency is left out."""
    image = _opened(pillow, data, path)
    try:
        if image.mode not in GREY:
            image = image.convert("RGB")
        return np.asarray(image.convert("L" if channels == 1 else "RGB"), np.uint8).reshape(*image.size[::-1], channels)
    except Exception as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> RigError:
    kind = printable(message_of(error)).split(" <_io")[0]  # Pillow shows the address of the buffer
    return RigError(f"{path} cannot be read as PNG, JPEG or BMP ({kind}): save it again, or remove it.")


def _shape_of_first(pillow: Any, path: Path) -> tuple[int, int, int]:
    image = _opened(pillow, read_file(path, LARGEST_FILE, "give a smaller image"), path)
    return image.size[1], image.size[0], 1 if image.mode in GREY else 3


def _size(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))
