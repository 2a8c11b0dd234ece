"""The code that a board executed in a trial, coverage.npz in the folder of the trial, and what a run keeps to show it.

A run keeps the lines of its images, and the text of their source files, so that its coverage can be read where neither
is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hil.atomic_write import atomic_file
from hil.bounded_npz import read_npz, write_npz
from hil.errors import RigError, message_of
from hil.images.executed import FIELDS, Executed
from hil.images.line_map import LineMap
from hil.record.safe_paths import RERUN, safe_file

EXECUTED = "coverage.npz"
LINES = "lines-{}.npz"  # with the first digits of the image's digest
DIGITS = 16
SHA256_BYTES = 32
SOURCES = "sources.npz"
VERSION, LINES_VERSION, SOURCES_VERSION = 1, 2, 1


def write_executed(folder: Path, executed: Executed, image_sha256: str) -> None:
    """Write what a board executed in a trial, and the digest of the image that it ran.

    Raises:
        OSError: the disk is full; no partial file remains.
    """
    digest = np.frombuffer(bytes.fromhex(image_sha256), np.uint8)
    _write(folder / EXECUTED, VERSION, {"image": digest} | {name: getattr(executed, name) for name in FIELDS})


def read_executed(folder: Path, image_sha256: str | None) -> Executed | None:
    """Return what a board executed in a trial; None if the trial recorded no coverage.

    Args:
        folder: of the trial.
        image_sha256: digest of the image that the trial ran, from its record.

    Raises:
        RigError: the file is damaged, of another version, or of another image.
    """
    path = safe_file(folder, EXECUTED)
    if path is None:
        return None
    arrays = _read(path, VERSION)
    try:
        if _image_of(arrays, path) != image_sha256:
            raise RigError(f"{path} is of another image than the record of its trial: {RERUN}.")
        return Executed.from_arrays(arrays)
    except (KeyError, ValueError) as error:
        raise RigError(f"{path} is damaged ({message_of(error)}): {RERUN}.") from error


def image_of_executed(path: Path) -> str:
    """Return the SHA-256 of the image that a coverage.npz is of.

    Raises:
        RigError: the file is damaged, or of another version.
    """
    return _image_of(_read(path, VERSION), path)


def _image_of(arrays: Mapping[str, np.ndarray], path: Path) -> str:
    image = arrays.get("image")
    if image is None or image.dtype != np.uint8 or image.shape != (SHA256_BYTES,):
        raise RigError(f"{path} is damaged (it names no image): {RERUN}.")
    return image.tobytes().hex()


def write_lines(run: Path, lines: LineMap, image_sha256: str) -> None:
    """Write the lines of an image into the folder of a run.

    Raises:
        OSError: the disk is full; no partial file remains.
    """
    _write(run / LINES.format(image_sha256[:DIGITS]), LINES_VERSION, lines.arrays())


def read_lines(run: Path, image_sha256: str) -> LineMap | None:
    """Return the lines of an image from the folder of a run; None if they are not there.

    Raises:
        RigError: the file is damaged, or of another version.
    """
    path = safe_file(run, LINES.format(image_sha256[:DIGITS]))
    if path is None:
        return None
    arrays = _read(path, LINES_VERSION)
    try:
        return LineMap.from_arrays(arrays)
    except (KeyError, ValueError) as error:
        raise RigError(f"{path} is damaged ({error}): {RERUN}.") from error


def write_sources(run: Path, texts: Mapping[str, bytes]) -> None:
    """Write the contents of source files, by their names in the line tables, into the folder of a run.

    Raises:
        OSError: the disk is full; no partial file remains.
    """
    _write(run / SOURCES, SOURCES_VERSION, {name: np.frombuffer(text, np.uint8) for name, text in texts.items()})


def read_sources(run: Path) -> dict[str, list[str]]:
    """Return the lines of the source files of a run, by name; nothing if it kept none.

    Raises:
        RigError: the file is damaged, or of another version.
    """
    path = safe_file(run, SOURCES)
    if path is None:
        return {}
    arrays = _read(path, SOURCES_VERSION)
    return {
        name: text.astype(np.uint8).tobytes().decode("utf-8", "replace").split("\n")
        for name, text in arrays.items()
        if name != "version"
    }


def _read(path: Path, version: int) -> dict[str, np.ndarray]:
    arrays = read_npz(path, RERUN)
    found = arrays.get("version", np.array(0)).reshape(-1)[:1].tolist()
    if found != [version]:
        raise RigError(
            f"{path} has version {found[0] if found else 'none'} of the format, this trainrig reads {version}: "
            "use the version that wrote it."
        )
    return arrays


def _write(path: Path, version: int, arrays: Mapping[str, np.ndarray]) -> None:
    with atomic_file(path) as partial:
        write_npz(partial, {"version": np.array(version, np.int32), **arrays})
