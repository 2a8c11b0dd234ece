"""Load data sets by name, and draw training batches from them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from hil.errors import RigError, close_matches
from hil.packaged import packaged_folder
from hil.training.data.card import Arrays, DataSetCard
from hil.training.data.corruption.by_name import corrupted
from hil.training.data.idx import idx_bytes
from hil.training.data.known_cards import known_card
from hil.training.data.names import CLASSES, CORRUPTED, IDX, PART, SIZED, TASK, as_text, is_own, is_there, split_name
from hil.training.data.own import NetworkInput, read_own, state_of
from hil.training.data.store import (
    FOLDER_VARIABLE,
    PARTS,
    data_folder,
    file_name,
    find_set,
    image_sets,
    known_sets,
    read_set,
)
from hil.training.data.tasks import FewShot, few_shot_task
from hil.training.data.user_files import read_folder, read_user_set, user_sets
from hil.training.data.vibration import MACHINES, made
from hil.training.data.warping import resized, rotated

DEFAULT = "fashion-mnist-1k"
DEFAULT_FOLDER = packaged_folder("fixtures/fashion_mnist", "fixtures/fashion_mnist")
PAPER_TRAIN = 50_000  # of the 60,000 training images, as in ElasticZO, section 5.1
ROTATED, ANGLES = 1024, (30, 45)  # images of each split, and degrees (ElasticZO, section 5.1)
DRAW = 1024  # first word of the seed that draws the rotated images; the second is the split


@dataclass(frozen=True, eq=False)
class DataSet:
    """Images and labels for training and testing.

    Attributes:
        name: as given to `load`.
        train_images, test_images: uint8 [n, height, width] or [n, height, width, channels].
        train_labels, test_labels: integers [n] from 0, uint8 unless there are more than 256 classes.
        sha256: over the four arrays as IDX files, in the order of the fields.
        card: what it is, where it comes from and who may use it.
    """

    name: str
    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    sha256: str
    card: DataSetCard


@dataclass(frozen=True)
class _Context:
    """What a data set depends on besides its name: the folder of full sets, the network, the state of own files."""

    root: Path
    network: NetworkInput | None
    state: str


def load(name: str | Path, network: NetworkInput | None = None) -> DataSet:
    """Return a data set by name, or the user's own by path (docs/data.md).

    Args:
        name: of the set, or the path of a folder of images, of an .npz or of a .csv; with suffixes.
        network: the input of the network for which own data are read; None to read them as they are.

    Raises:
        RigError: there is no such data set, or its files are missing or damaged.
    """
    text = as_text(name)
    base, _ = split_name(text)
    own = is_there(base)
    return _load(text, _Context(data_folder(), network if own else None, state_of(Path(base)) if own else ""))


def names() -> list[str]:
    """Return all names for `load`, except idx:FOLDER, paths and sets derived by a suffix (docs/data.md)."""
    images = image_sets()
    turned = [f"rotated-{name}-{angle}" for name in (*images, DEFAULT) for angle in ANGLES]
    return [DEFAULT, *known_sets(), *(f"{name}-50k" for name in images), *turned, *MACHINES, *user_sets()]


@lru_cache(maxsize=4)  # a full set is 55 MB
def _load(name: str, context: _Context) -> DataSet:
    if is_there(name):
        arrays, card = read_own(Path(name), context.network)
    elif spoilt := CORRUPTED.fullmatch(name):
        clean, corruption, severity = _load(spoilt["whole"], context), spoilt["corruption"], int(spoilt["severity"])
        # The split is part of the seed: training and test images have their own random numbers.
        arrays = _changed(clean, lambda images, split: corrupted(images, corruption, severity, split))
        card = clean.card.changed(name.removeprefix(clean.name), arrays)
    elif sized := SIZED.fullmatch(name):
        height, width, channels = map(int, sized.groups()[1:])
        if is_there(sized["whole"]):  # own data are read at this size, not at that of the network
            shape, network = (height, width, channels), context.network
            network = NetworkInput(shape) if network is None else replace(network, shape=shape)
            context = replace(context, network=network)
        small = _load(sized["whole"], context)
        arrays = _changed(small, lambda images, split: resized(images, height, width, channels))
        card = small.card.changed(name.removeprefix(small.name), arrays)
    elif task := TASK.fullmatch(name):
        whole = _load(task["whole"], context)
        chosen = FewShot(int(task["ways"]), int(task["shots"]), task["split"], int(task["number"]))
        arrays = few_shot_task(whole.train_images, whole.train_labels, whole.name, chosen)
        card = whole.card.changed(name.removeprefix(whole.name), arrays, renumbered=True)
    elif some := CLASSES.fullmatch(name):
        whole = _load(some["whole"], context)
        all_of_it = whole.train_images, whole.train_labels, whole.test_images, whole.test_labels
        arrays = of_classes(all_of_it, whole.name, [int(label) for label in some["labels"].split("-")])
        card = whole.card.changed(name.removeprefix(whole.name), arrays, renumbered=True)
    elif part := PART.fullmatch(name):
        whole = _load(part["whole"], context)
        arrays = _part(whole, int(part["first"]), int(part["held"] or 0))
        card = whole.card.changed(name.removeprefix(whole.name), arrays)
    elif is_own(name):
        arrays, card = read_own(Path(name), context.network)  # raises: it is not there
    else:
        arrays, card = _by_name(name, context.root)
    for array in arrays:
        array.flags.writeable = False
    return DataSet(name, *arrays, _digest(arrays), card)


def _digest(arrays: Arrays) -> str:
    return hashlib.sha256(b"".join(idx_bytes(array) for array in arrays)).hexdigest()


def _by_name(name: str, root: Path) -> tuple[Arrays, DataSetCard]:
    """Return a set without suffixes, and its card."""
    if name.startswith(IDX):
        arrays = read_folder(Path(name[len(IDX) :]))
    elif name in MACHINES:
        arrays = made(name)
    elif name in user_sets():
        arrays = read_user_set(user_sets()[name], root / name)
    elif name in names():
        return _derived(name, root)
    else:
        known = close_matches(name, [*names(), "idx:FOLDER"])
        if Path(name).is_dir():
            known = f"write ./{name} for the folder of that name."
        raise RigError(f"there is no data set {name!r}: {known}")
    return arrays, known_card(name, arrays, _digest(arrays))


def _derived(name: str, root: Path) -> tuple[Arrays, DataSetCard]:
    """Return a full set or the included one, its first 50,000 training images, or its rotated images."""
    turned = re.fullmatch(r"rotated-(.+)-(\d+)", name)
    full = turned.group(1) if turned else name.removesuffix("-50k")
    arrays = _fetched(full, root)
    card = known_card(full, arrays, _digest(arrays))
    if turned:
        degrees = int(turned.group(2))
        arrays = *_rotated(arrays[0], arrays[1], 0, degrees), *_rotated(arrays[2], arrays[3], 1, degrees)
        return arrays, card.changed(f", rotated by {degrees} degrees", arrays)
    if name != full:
        arrays = (arrays[0][:PAPER_TRAIN], arrays[1][:PAPER_TRAIN], *arrays[2:])
        return arrays, card.changed("-50k", arrays)
    return arrays, card


@lru_cache(maxsize=2)
def _fetched(name: str, root: Path) -> Arrays:
    if name == DEFAULT:
        return read_folder(DEFAULT_FOLDER)
    folder = root / name
    if not all((folder / file_name(part)).is_file() for part in PARTS):
        raise RigError(
            f"the data set {name} is not in {folder}: run `hil data fetch {name}`, "
            f"or set {FOLDER_VARIABLE} to the folder that holds it."
        )
    return read_set(find_set(name), folder)


def _rotated(images: np.ndarray, labels: np.ndarray, split: int, degrees: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw images of one split with NumPy's PCG64, the same images for every angle, and rotate them."""
    chosen = np.random.Generator(np.random.PCG64([DRAW, split])).permutation(len(images))[:ROTATED]
    return rotated(images[chosen], degrees), labels[chosen]


def _changed(data: DataSet, change: Callable[[np.ndarray, int], np.ndarray]) -> Arrays:
    """Change the training images (split 0) and the test images (split 1); the labels stay."""
    return change(data.train_images, 0), data.train_labels, change(data.test_images, 1), data.test_labels


def _part(whole: DataSet, first: int, held: int) -> Arrays:
    """Return the first training images. The test images are the next `held` training images, or the set's if 0."""
    images, labels, count = whole.train_images, whole.train_labels, len(whole.train_images)
    if first + held > count:
        raise RigError(f"{whole.name} has {count} training images, not {first + held}: request fewer.")
    test = (
        (images[first : first + held], labels[first : first + held]) if held else (whole.test_images, whole.test_labels)
    )
    return images[:first], labels[:first], *test


def batches(data: DataSet, batch: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the sample indices of batch after batch, without end.

    Every epoch is a permutation of the training set by NumPy's PCG64 seeded with (seed, epoch). Samples at the end of
    an epoch that do not fill a batch are dropped.

    Raises:
        RigError: the batch is larger than the training set.
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


def of_classes(arrays: Arrays, name: str, labels: Sequence[int]) -> Arrays:
    """Return the samples with these labels, in their order; the first label becomes 0, the next 1, and so on.

    Args:
        arrays: training images and labels, test images and labels.
        name: of the data set, for messages.
        labels: the classes that are kept.

    Raises:
        RigError: a class twice, or without training or test images.
    """
    if len(set(labels)) < len(labels):
        raise RigError(f"{name}@classes-{'-'.join(map(str, labels))} names a class twice: name each once.")
    train, test = _kept(arrays[0], arrays[1], labels), _kept(arrays[2], arrays[3], labels)
    for new, label in enumerate(labels):
        if not all((part[1] == new).any() for part in (train, test)):
            known = ", ".join(str(one) for one in np.intersect1d(arrays[1], arrays[3]))
            raise RigError(f"{name} has no class {label} in both of its parts: choose of {known}.")
    return *train, *test


def _kept(images: np.ndarray, labels: np.ndarray, wanted: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    keep = np.isin(labels, wanted)
    order = np.argsort(wanted)
    places = np.searchsorted(np.asarray(wanted)[order], labels[keep])
    return images[keep], order[places].astype(labels.dtype)
