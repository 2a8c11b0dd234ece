"""IDX files, plain or gzipped: the format of MNIST and its kin (a magic word, big-endian dimensions, then bytes)."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path

import numpy as np

from hil.errors import RigError

UINT8 = 0x08


def read_idx(path: Path) -> np.ndarray:
    """Return the uint8 array of an IDX file, in the shape that its header gives.

    Raises:
        RigError: the file is missing, truncated, too long or holds another type.
    """
    try:
        raw = path.read_bytes()
        data = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except OSError as error:
        raise RigError(
            f"the data file {path} cannot be read ({error.strerror or error}): reinstall trainrig, or give the path of an IDX file."
        ) from error
    except EOFError as error:
        raise RigError(f"the data file {path} is truncated: fetch it again.") from error
    except zlib.error as error:
        raise RigError(f"the data file {path} is damaged ({error}): fetch it again.") from error
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] != UINT8:
        raise RigError(
            f"{path} is no IDX file of bytes (it begins with {data[:4].hex(' ')}): give an IDX file of unsigned bytes."
        )
    rank = data[3]
    header = 4 + 4 * rank
    if len(data) < header:
        raise RigError(f"{path} ends inside its header: fetch it again.")
    shape = struct.unpack(f">{rank}I", data[4:header])
    if len(data) != header + math.prod(shape):
        raise RigError(
            f"{path} holds {len(data) - header} bytes where its header {shape} says {math.prod(shape)}: fetch it again."
        )
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape)


def idx_bytes(array: np.ndarray) -> bytes:
    """Return a uint8 array as an IDX file."""
    return (
        bytes([0, 0, UINT8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.astype(np.uint8).tobytes()
    )
