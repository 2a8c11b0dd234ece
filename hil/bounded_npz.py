"""Write .npz files, and read them and .npy files from an untrusted source: sizes are checked before arrays are made."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from hil.bounded_read import read_file, take
from hil.errors import RigError, message_of

LARGEST = 256 << 20  # bytes of a file, and of all its arrays: the weights of the largest network have 2 MB
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what np.savez writes; other decompressors take no cap
SUFFIX = ".npy"
NUMBERS = "biuf"  # kinds of dtype: bool, int, uint, float


def read_npz(path: Path, cure: str, most: int = LARGEST, kinds: str = NUMBERS) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file by name.

    Args:
        path: of the file.
        cure: what to do about a wrong one, for a sentence.
        most: bytes that the file may have, and all arrays together.
        kinds: NumPy's letters for the kinds of dtype that the arrays may have.

    Raises:
        RigError: it is missing, damaged, too large, or holds anything but arrays of these kinds.
    """
    data, name = read_file(path, most, cure), str(path)
    arrays: dict[str, np.ndarray] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            for member in file.infolist():
                key = member.filename.removesuffix(SUFFIX)
                if key == member.filename or key in arrays:
                    raise ValueError(f"its member {member.filename[:40]!r} is no array, or is there twice")
                left = most - sum(array.nbytes for array in arrays.values())
                arrays[key] = _array(file, member, left, kinds, name, cure)
    except RigError:
        raise
    except Exception as error:  # a damaged zip file may raise nearly anything
        raise RigError(f"{name} cannot be read as .npz ({message_of(error)}): {cure}.") from error
    return arrays


def read_npy(path: Path, cure: str, most: int = LARGEST, kinds: str = NUMBERS) -> np.ndarray:
    """Return the array of an .npy file; arguments and errors as `read_npz`."""
    data = read_file(path, most, cure)
    try:
        return _unpacked(io.BytesIO(data), path.name, kinds)
    except Exception as error:  # a damaged header may raise nearly anything
        raise RigError(f"{path} cannot be read as .npy ({message_of(error)}): {cure}.") from error


def write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays as a compressed .npz file that `read_npz` reads. Raises OSError if the disk is full."""
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # the names are no options of the function


def _array(file: zipfile.ZipFile, member: zipfile.ZipInfo, most: int, kinds: str, name: str, cure: str) -> np.ndarray:
    """Unpack one member and make its array; the bytes are there before their shape is believed.

    Raises:
        ValueError: it is packed in another way, or its header is not that of its bytes.
    """
    if member.compress_type not in PACKINGS:
        raise ValueError(f"{member.filename[:40]!r} is packed by method {member.compress_type}")
    with file.open(member) as stream:
        return _unpacked(io.BytesIO(take(stream, most, f"{name}, unpacked,", cure)), member.filename, kinds)


def _unpacked(stream: io.BytesIO, name: str, kinds: str) -> np.ndarray:
    """Return the array of an .npy file in memory. Raises ValueError if its header is not that of its bytes."""
    version = npy.read_magic(stream)
    if version not in HEADERS:
        raise ValueError(f"{name[:40]!r} has version {version} of the format")
    shape, by_columns, dtype = HEADERS[version](stream)
    size = math.prod(shape) * dtype.itemsize
    numbers = stream.read()
    if dtype.kind not in kinds:
        raise ValueError(f"{name[:40]!r} has the dtype {dtype}, which holds no plain numbers")
    if min(shape, default=0) < 0 or size != len(numbers):
        raise ValueError(f"{name[:40]!r} holds {len(numbers)} bytes where its header says {dtype}{list(shape)}")
    return np.frombuffer(numbers, dtype).reshape(shape, order="F" if by_columns else "C").copy()
