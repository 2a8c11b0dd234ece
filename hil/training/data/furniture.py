"""Point clouds of the furniture in Debian's package `sweethome3d-furniture` (docs/data.md)."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hil.bounded_read import take
from hil.errors import RigError
from hil.training.data.clouds import as_bytes, drawn, read_obj

CATALOGUES = ("BlendSwap-CC-0", "BlendSwap-CC-BY", "KatorLegaz", "Reallusion", "Scopia")
FILES = tuple(f"{name}.sh3f" for name in CATALOGUES)
LIST = "PluginFurnitureCatalog.properties"
SEED = 40  # first word of the seeds: [SEED, class, shape] draws a cloud, [SEED, class] the split of a class,
# [SEED, 10 + split] the order
TEST_SHARE = 5  # of the shapes of a class, one in five is for testing
LARGEST_LIST, LARGEST_MODEL = 4 << 20, 32 << 20  # bytes; the largest model has 6 MB
ANOTHER = "take another version of the package"

# The classes, each with words of the English names. A name belongs to the first class that has one of its words.
CLASSES: Mapping[str, frozenset[str]] = {
    "lamp": frozenset({"lamp", "light", "lights", "lantern", "chandelier"}),
    "person": frozenset({"female", "male", "boy", "girl"}),
    "sofa": frozenset({"sofa", "couch"}),
    "bed": frozenset({"bed", "crib"}),
    "chair": frozenset({"chair", "armchair", "stool"}),
    "cabinet": frozenset({"cabinet", "cupboard", "wardrobe", "dresser", "bookcase", "shelves"}),
    "table": frozenset({"table", "desk"}),
    "opening": frozenset({"door", "window"}),
    "plant": frozenset({"plant", "tree", "flowers", "bush"}),
    "vehicle": frozenset({"sedan", "truck", "bus", "scooter", "bike", "bicycle", "van", "suv", "car", "ford", "seat"}),
}
OTHER = frozenset({"fan", "bat", "box"})  # words of names that belong to no class: a table fan is no table


@dataclass(frozen=True)
class FurnitureShape:
    """One entry of a catalogue."""

    catalogue: str
    model: str  # the OBJ file in the catalogue
    rotation: str  # nine numbers, row by row; empty for none


def read_clouds(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Make the data set from the catalogues in a folder.

    Returns:
        Training clouds and labels, test clouds and labels: uint8 [n, 16, 16, 3] and [n].

    Raises:
        RigError: a catalogue or a model cannot be read.
    """
    with ExitStack() as stack:
        catalogues = {name: stack.enter_context(_opened(folder / f"{name}.sh3f")) for name in CATALOGUES}
        return _split(catalogues)


def _split(catalogues: Mapping[str, zipfile.ZipFile]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw the clouds of every class, and split them by shape."""
    parts: dict[bool, list[tuple[np.ndarray, int]]] = {False: [], True: []}
    by_class = _shapes(catalogues)
    for label, name in enumerate(CLASSES):
        clouds = []
        for number, shape in enumerate(by_class[name]):
            text = _member(catalogues[shape.catalogue], shape.model, LARGEST_MODEL)
            try:
                vertices, faces = read_obj(text)
                rng = np.random.Generator(np.random.PCG64([SEED, label, number]))
                clouds.append(as_bytes(drawn(_rotated(vertices, shape.rotation), faces, rng)))
            except RigError as error:
                raise RigError(f"{shape.model} of {shape.catalogue}: {error}: {ANOTHER}.") from error
        order = np.random.Generator(np.random.PCG64([SEED, label])).permutation(len(clouds))
        tested = set(order[: len(clouds) // TEST_SHARE].tolist())
        for number, cloud in enumerate(clouds):
            parts[number in tested].append((cloud, label))
    return *_shuffled(parts[False], 0), *_shuffled(parts[True], 1)


def _shuffled(part: list[tuple[np.ndarray, int]], split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return clouds and labels in a drawn order, so that the last ones may be held out."""
    order = np.random.Generator(np.random.PCG64([SEED, len(CLASSES) + split])).permutation(len(part))
    return np.stack([part[place][0] for place in order]), np.array([part[place][1] for place in order], np.uint8)


def class_of(name: str) -> str | None:
    """Return the class of an English name; None if it belongs to none."""
    words = set(re.findall("[a-z]+", name.lower()))
    return None if words & OTHER else next((one for one, its in CLASSES.items() if words & its), None)


def _shapes(catalogues: Mapping[str, zipfile.ZipFile]) -> dict[str, list[FurnitureShape]]:
    """Return the shapes of every class, in the order of the catalogues and their lists."""
    found: dict[str, list[FurnitureShape]] = {name: [] for name in CLASSES}
    for catalogue, archive in catalogues.items():
        for entry in _entries(_member(archive, LIST, LARGEST_LIST).decode("latin-1")):
            name, model = class_of(entry.get("name", "")), entry.get("model", "")
            if name is not None and model.endswith(".obj"):
                found[name].append(FurnitureShape(catalogue, model.lstrip("/"), entry.get("modelRotation", "")))
    if empty := [name for name, its in found.items() if len(its) < TEST_SHARE]:
        raise RigError(f"the catalogues have fewer than {TEST_SHARE} shapes of the class {empty[0]}: {ANOTHER}.")
    return found


def _entries(text: str) -> Iterator[dict[str, str]]:
    """Yield the entries of a list, lines such as `name#12=Oak chair`, by their number."""
    entries: dict[int, dict[str, str]] = defaultdict(dict)
    for key, number, value in re.findall(r"^(\w+)#(\d{1,6})=(.*)$", text, re.MULTILINE):
        entries[int(number)][key] = value.strip()
    for _, entry in sorted(entries.items()):
        yield entry


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise RigError(f"{path.name} cannot be read ({error}): {ANOTHER}.") from error


def _member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Return a file of a catalogue, which is a zip archive."""
    try:
        with archive.open(name) as file:
            return take(file, most, name, ANOTHER)
    except (OSError, EOFError, KeyError, NotImplementedError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise RigError(f"{name} cannot be read ({error}): {ANOTHER}.") from error


def _rotated(vertices: np.ndarray, rotation: str) -> np.ndarray:
    """Return vertices turned as the catalogue says."""
    if not rotation:
        return vertices
    try:
        rows = np.array([float(word) for word in rotation.split()]).reshape(3, 3)
    except ValueError as error:
        raise RigError(f"its rotation cannot be read ({error})") from error
    x, y, z = vertices.T
    return np.stack([row[0] * x + row[1] * y + row[2] * z for row in rows], axis=1)
