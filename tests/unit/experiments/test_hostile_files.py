"""Files of an experiment, and checkpoints, that anybody may have damaged or made: read rightly, or refused in one sentence."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hil.bounded_npz import read_npz
from hil.errors import RigError
from hil.training.experiments.command import CERTIFICATES, _kept
from hil.training.experiments.curve import (
    CURVE_FILE,
    RUN_FILE,
    EpochRow,
    read_checkpoint,
    read_curve,
    read_run,
    write_curve,
    write_run,
)
from hil.training.experiments.exponents import ExponentRun
from hil.training.networks import build
from tests.bombs import in_little_memory
from tests.mutate import damaged_bytes, damaged_fields

RUN = ExponentRun("fashion-mnist-1k", "int8", "cls1", 1, 40)
ROWS = [
    EpochRow(epoch, 20 * epoch, 2.3 / (epoch + 1), 0.5, 0.25, 0.5, 1.5, 0.5, digest=7 * epoch or None)
    for epoch in range(41)
]
CERTIFICATE = {
    "run": "a",
    "data": "b",
    "column": "int8",
    "variant": "cls1",
    "seed": 1,
    "epoch": 0,
    "first_step": 0,
    "steps": 20,
    "board": "x",
    "reality": None,
    "verdict": "pass",
    "reason": "",
}
DAMAGES = pytest.mark.parametrize(
    ("of_bytes", "of_fields"),
    [pytest.param(900, 600, id="some"), pytest.param(3000, 2000, id="many", marks=pytest.mark.tier("nightly"))],
)
WEIGHTS = [layer.weights for layer in build("lenet5", 1).trained]


def checkpoint(pack: Callable[..., None] = np.savez) -> bytes:
    """A real file of small arrays, so that damage meets headers as often as numbers."""
    file = io.BytesIO()
    arrays = {f"w{index}": array[:2, :3].copy() for index, array in enumerate(WEIGHTS)}
    pack(file, step=np.int64(3), digests=np.zeros((3, 5), np.uint32), **arrays)
    return file.getvalue()


def sentence(read: Callable[[], object], name: str) -> str:
    """Return what was refused, in one sentence that names the file; empty where it was read."""
    try:
        read()
    except RigError as error:
        said = str(error)
        assert name in said and said.endswith(".") and said.isprintable(), said
        return said
    return ""


@pytest.mark.parametrize("pack", [np.savez, np.savez_compressed])
def test_damaged_checkpoints(tmp_path: Path, pack: Callable[..., None]) -> None:
    count = 3000
    path, whole, rng = tmp_path / "epoch-003.npz", checkpoint(pack), random.Random(1)
    refused = 0
    for _ in range(count):
        path.write_bytes(damaged_bytes(whole, rng))
        refused += bool(sentence(lambda: read_checkpoint(path), "epoch-003.npz"))
    assert refused > count / 2


def npy(header: str, numbers: bytes = b"", version: bytes = b"\1\0") -> bytes:
    text = header.encode()
    return (
        b"\x93NUMPY"
        + version
        + (struct.pack("<H", len(text)) if version[0] == 1 else struct.pack("<I", len(text)))
        + text
        + numbers
    )


def zipped(members: dict[str, bytes], packing: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as out:
        for name, data in members.items():
            out.writestr(name, data)
    return file.getvalue()


SMALL = npy("{'descr': '|i1', 'fortran_order': False, 'shape': (2,), }", b"ab")
MADE = {
    "a shape without its bytes": npy("{'descr': '|i1', 'fortran_order': False, 'shape': (1099511627776,), }"),
    "a negative shape": npy("{'descr': '|i1', 'fortran_order': False, 'shape': (-1, -2), }", b"ab"),
    "objects": npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"\x80\x04N."),
    "no width": npy("{'descr': '|V0', 'fortran_order': False, 'shape': (1099511627776,), }"),
    "a text": npy("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }", b"abcd"),
    "a record": npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }", b"abcd"),
    "a deep header": npy("(" * 9000),
    "a deeper header": npy("-" * 9000 + "1"),
    "a call": npy("__import__('os').system('false')"),
    "a long header": npy(" " * 60000),
    "another version": npy("{}", version=b"\7\0"),
    "no array": b"12",
}


@pytest.mark.parametrize("name", MADE)
def test_arrays_that_are_none(tmp_path: Path, name: str) -> None:
    path = tmp_path / "made.npz"
    path.write_bytes(zipped({"w0.npy": MADE[name]}))
    assert "made.npz cannot be read as .npz (" in sentence(lambda: read_npz(path, "give another"), "made.npz")


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_packing_that_takes_no_cap_is_refused(tmp_path: Path, packing: int) -> None:
    path = tmp_path / "made.npz"
    path.write_bytes(zipped({"w0.npy": SMALL}, packing))
    assert f"is packed by method {packing}" in sentence(lambda: read_npz(path, "give another"), "made.npz")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_twice_and_a_member_that_is_no_array(tmp_path: Path) -> None:
    path = tmp_path / "made.npz"
    for other in ("w0.npy", "w0", "../w0", ""):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as out:
            out.writestr("w0.npy", SMALL)
            info = zipfile.ZipInfo("x")
            info.filename = other
            out.writestr(info, SMALL)
        path.write_bytes(file.getvalue())
        assert "is no array, or is there twice" in sentence(lambda: read_npz(path, "give another"), "made.npz")


@pytest.mark.parametrize("members", [1, 40])
def test_a_bomb_of_a_checkpoint_ends_at_the_cap(tmp_path: Path, members: int) -> None:
    """800 MB of zeros in one array, or in forty."""
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for number in range(members):
            with out.open(f"w{number}.npy", "w", force_zip64=True) as member:
                size = (800 << 20) // members
                member.write(npy(f"{{'descr': '|i1', 'fortran_order': False, 'shape': ({size},), }}"))
                for _ in range(size >> 20):
                    member.write(bytes(1 << 20))
    said = in_little_memory("from hil.bounded_npz import read_npz; read_npz(path, 'give another')", path)
    assert "bomb.npz, unpacked, has more than " in said and said.endswith("give another.")


@DAMAGES
@pytest.mark.parametrize("name", [RUN_FILE, CURVE_FILE, CERTIFICATES])
def test_damaged_json(tmp_path: Path, name: str, of_bytes: int, of_fields: int) -> None:
    readers = {RUN_FILE: read_run, CURVE_FILE: read_curve, CERTIFICATES: _kept}
    write_run(tmp_path, RUN, "0" * 64)
    write_curve(tmp_path, ROWS)
    (tmp_path / CERTIFICATES).write_text(json.dumps([CERTIFICATE, CERTIFICATE]))
    whole = (tmp_path / name).read_bytes()
    path, fields, rng, refused = tmp_path / name, json.loads(whole), random.Random(2), 0
    assert readers[name](tmp_path)
    for number in range(of_bytes + of_fields):
        path.write_bytes(
            damaged_bytes(whole, rng) if number < of_bytes else json.dumps(damaged_fields(fields, rng)).encode()
        )
        refused += bool(sentence(lambda: readers[name](tmp_path), name))
    assert refused > (of_bytes + of_fields) / 4


@pytest.mark.parametrize(
    "text", [b"[" * 200_000, b'{"a":' * 200_000, b"1" * 100_000, b"\xff\xfe", b"", b"nul", b"[1,]", b'"\\ud800']
)
def test_json_that_is_none(tmp_path: Path, text: bytes) -> None:
    for name, read in ((RUN_FILE, read_run), (CURVE_FILE, read_curve)):
        (tmp_path / name).write_bytes(text)
        assert sentence(lambda read=read: read(tmp_path), name)


def test_a_long_file_ends_at_the_cap(tmp_path: Path) -> None:
    (tmp_path / CURVE_FILE).write_bytes(b" " * (17 << 20))
    assert "curve.json has more than 16 MB, the largest size that is read" in sentence(
        lambda: read_curve(tmp_path), CURVE_FILE
    )
