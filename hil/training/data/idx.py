"""Read IDX files, plain or gzipped: the format of MNIST (a magic word, big-endian dimensions, then the data)."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import IO

import numpy as np

from hil.bounded_read import read_at_most
from hil.errors import RigError

UINT8, INT16 = 0x08, 0x0B
LARGEST = 1 << 30  # bytes of a decompressed file; the largest set in this format (EMNIST) has half of that
MOST_RANK = 8
AGAIN = "fetch it again"


def read_idx(path: Path) -> np.ndarray:
    """Return the uint8 array of an IDX file, in the shape of its header. Never unpacks more than the header says.

    Raises:
        RigError: the file is missing, truncated, too long, or holds another type.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            return _parsed(gzip.GzipFile(fileobj=file) if packed else file, path)
    except OSError as error:
        raise RigError(
            f"the data file {path} cannot be read ({error.strerror or error}): "
            "reinstall trainrig, or give the path of an IDX file."
        ) from error
    except EOFError as error:
        raise RigError(f"the data file {path} is truncated: {AGAIN}.") from error
    except zlib.error as error:
        raise RigError(f"the data file {path} is damaged ({error}): {AGAIN}.") from error


def _parsed(stream: IO[bytes] | gzip.GzipFile, path: Path) -> np.ndarray:
    magic = stream.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] != UINT8:
        raise RigError(
            f"{path} is not an IDX file of bytes (it begins with {magic.hex(' ')}): give an IDX file of unsigned bytes."
        )
    rank = magic[3]
    header = stream.read(4 * rank)
    if len(header) < 4 * rank:
        raise RigError(f"{path} ends inside its header: {AGAIN}.")
    shape = struct.unpack(f">{rank}I", header)
    size = math.prod(shape)
    if rank > MOST_RANK or size > LARGEST:
        raise RigError(
            f"{path} has {rank} dimensions and {size:,} bytes by its header, more than {MOST_RANK} or {LARGEST:,}: "
            "give a smaller set."
        )
    data = read_at_most(stream, size + 1)
    if len(data) != size:
        found = "more" if len(data) > size else f"{len(data)}"
        raise RigError(f"{path} holds {found} bytes, but its header {shape} says {size}: {AGAIN}.")
    return np.frombuffer(data, np.uint8).reshape(shape)


def idx_bytes(array: np.ndarray) -> bytes:
    """Return an array as an IDX file: of bytes; of labels of more than 256 classes, of 16-bit integers, big-endian."""
    kind, stored = (UINT8, array.astype(np.uint8)) if array.dtype == np.uint8 else (INT16, array.astype(">i2"))
    return bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + stored.tobytes()
