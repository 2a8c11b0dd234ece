"""IDX files: what is written comes back, and what is broken is named."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hil.errors import RigError
from hil.training.data.idx import idx_bytes, read_idx
from tests.bombs import gzip_bomb, in_little_memory

SOME = np.arange(60, dtype=np.uint8).reshape(3, 4, 5)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    array=arrays.arrays(np.uint8, arrays.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5)),
    packed=st.booleans(),
)
def test_round_trip(tmp_path: Path, array: np.ndarray, packed: bool) -> None:
    path = tmp_path / "x-ubyte"
    path.write_bytes(gzip.compress(idx_bytes(array)) if packed else idx_bytes(array))
    read = read_idx(path)
    assert read.dtype == np.uint8
    np.testing.assert_array_equal(read, array)


def test_the_bytes_are_those_of_the_format() -> None:
    assert idx_bytes(SOME) == b"\x00\x00\x08\x03" + struct.pack(">3I", 3, 4, 5) + bytes(range(60))


@pytest.mark.parametrize("packed", [False, True])
def test_truncated_at_every_length(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "cut-ubyte"
    whole = gzip.compress(idx_bytes(SOME)) if packed else idx_bytes(SOME)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(RigError, match="cut-ubyte"):
            read_idx(path)


def test_too_long(tmp_path: Path) -> None:
    path = tmp_path / "long-ubyte"
    path.write_bytes(idx_bytes(SOME) + b"\0")
    with pytest.raises(RigError, match=r"holds more bytes, but its header \(3, 4, 5\) says 60"):
        read_idx(path)


@pytest.mark.parametrize("kind", [0x09, 0x0B, 0x0C, 0x0D, 0x0E])
def test_other_types_of_the_format(tmp_path: Path, kind: int) -> None:
    path = tmp_path / "floats"
    path.write_bytes(bytes([0, 0, kind, 1]) + struct.pack(">I", 1) + bytes(8))
    with pytest.raises(RigError, match="is not an IDX file of bytes"):
        read_idx(path)


def test_no_idx_file(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(RigError, match=r"picture\.png is not an IDX file"):
        read_idx(path)


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(RigError, match=r"nowhere cannot be read \(No such file or directory\)"):
        read_idx(tmp_path / "nowhere")


def test_a_damaged_gzip_file_is_read_rightly_or_named(tmp_path: Path) -> None:
    path = tmp_path / "damaged.gz"
    whole = gzip.compress(idx_bytes(SOME), mtime=0)
    for index in range(len(whole)):
        path.write_bytes(whole[:index] + bytes([whole[index] ^ 0x55]) + whole[index + 1 :])
        try:
            np.testing.assert_array_equal(read_idx(path), SOME)
        except RigError as error:
            assert "damaged.gz" in str(error)


def test_a_bomb_ends_where_its_header_does(tmp_path: Path) -> None:
    """2 GB of zeros, of which the header names 60."""
    path = tmp_path / "bomb.gz"
    gzip_bomb(path, idx_bytes(SOME))
    said = in_little_memory("from hil.training.data.idx import read_idx; read_idx(path)", path)
    assert said.endswith("holds more bytes, but its header (3, 4, 5) says 60: fetch it again.")


def test_a_header_that_promises_too_much_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"\0\0\x08\x04" + b"\xff" * 16))
    with pytest.raises(RigError, match="more than 8 or 1,073,741,824: give a smaller set."):
        read_idx(path)
    path.write_bytes(b"\0\0\x08\xff" + b"\0\0\0\x01" * 255 + b"x")
    with pytest.raises(RigError, match="has 255 dimensions"):
        read_idx(path)
