"""The readers of the network file in C and in Python: each file is taken by both, or refused by both for the same reason."""

from __future__ import annotations

import ctypes
import random
import struct
from pathlib import Path

import pytest
from graph.files import HEADER, RECORD, sealed
from graph.test_file_affine8 import tiny as tiny_affine8
from graph.test_file_bfp8 import tiny as tiny_bfp8
from graph.test_file_float32 import tiny as tiny_float32
from graph.test_file_tflite8 import tiny as tiny_tflite8
from graph.test_file_w16a8 import tiny as tiny_w16a8
from hypothesis import given, settings
from hypothesis import strategies as st
from network.drawn import networks
from network.drawn_affine8 import affine8_graphs
from network.drawn_float32 import float32_graphs
from network.drawn_graphs import graphs
from network.w16a8_graphs import w16a8_graphs

from engine.host_engine import Failure
from hil.link.messages import description
from hil.training.graph.file import NetworkFileError, decode, encode
from hil.training.networks import WEIGHTS

CODES = {name: number for number, name in description().errors.items()}
SENTENCES = {
    "begins with": "network_magic",
    "is of version": "network_version",
    "ends after": "network_truncated",
    "its header says": "network_truncated",
    "is damaged": "network_digest",
}
FAIR = [0, 1, 2, 3, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1]  # where numbers turn

TINY = {
    "affine8": tiny_affine8,
    "bfp8": tiny_bfp8,
    "tflite8": tiny_tflite8,
    "float32": tiny_float32,
    "w16a8": tiny_w16a8,
}

Verdict = tuple[int, int, int]  # code, layer and check, 0 where there is none


class File(ctypes.Structure):
    """graph_file_t of graph/file.h."""

    _fields_ = [("bytes", ctypes.c_void_p), ("size", ctypes.c_uint32), ("layers", ctypes.c_uint8)]


def in_c(library: ctypes.CDLL, blob: bytes) -> Verdict:
    room = (ctypes.c_uint64 * (len(blob) // 8 + 1))()  # aligned
    ctypes.memmove(room, blob, len(blob))
    function = library.graph_file_open
    function.restype = Failure
    failure = function(ctypes.byref(File()), room, ctypes.c_uint32(len(blob)))
    numbers = (failure.a, failure.b) if failure.code == CODES["network_layer"] else (0, 0)
    return (failure.code, *numbers)


def in_python(blob: bytes) -> Verdict:
    try:
        decode(blob)
    except NetworkFileError as refused:
        found = {name for words, name in SENTENCES.items() if words in str(refused)}
        if found:
            return CODES[found.pop()], 0, 0
        return CODES["network_layer"], refused.layer, refused.check
    return 0, 0, 0


def agree(library: ctypes.CDLL, blob: bytes) -> Verdict:
    found, expected = in_c(library, blob), in_python(blob)
    assert found == expected, blob[: HEADER + 4 * RECORD].hex(" ", 32)
    return found


@pytest.mark.parametrize("tiny", TINY.values(), ids=TINY)
def test_every_byte_of_header_and_records(library: ctypes.CDLL, tiny: object) -> None:
    graph = tiny()
    blob, rng, seen = encode(graph), random.Random(3), set()
    for at in range(HEADER + RECORD * len(graph.layers)):
        for value in {blob[at] ^ 1 << bit for bit in range(8)} | {0, 1, 2, 3, 8, 255, rng.randrange(256)}:
            damaged = blob[:at] + bytes([value]) + blob[at + 1 :]
            seen |= {agree(library, damaged)[::2], agree(library, sealed(damaged))[::2]}
    layer = CODES["network_layer"]
    assert {check for code, check in seen if code == layer} >= set(range(11))
    assert {code for code, _ in seen} == {0, layer, *(CODES[name] for name in SENTENCES.values())}


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_some_fields_anywhere(library: ctypes.CDLL, data: st.DataObject) -> None:
    """Two fields in one layer may go together where one alone would not."""
    graph = data.draw(st.one_of(networks(), graphs(), float32_graphs(), w16a8_graphs(), affine8_graphs()))
    raw = bytearray(encode(graph))
    last = HEADER + RECORD * len(graph.layers)
    for _ in range(data.draw(st.integers(1, 4))):
        form = data.draw(st.sampled_from("BHI"))
        end = data.draw(st.sampled_from([last, len(raw)])) - struct.calcsize(form)
        value = data.draw(st.one_of(st.sampled_from(FAIR), st.integers(0, 12)))
        struct.pack_into("<" + form, raw, data.draw(st.integers(4, end)), value & (1 << 8 * struct.calcsize(form)) - 1)
    struct.pack_into("<HHI", raw, 4, 4, len(graph.layers) + data.draw(st.sampled_from([0, 0, 0, -1, 1])), len(raw))
    agree(library, sealed(bytes(raw)))


@pytest.mark.parametrize("cut", [0, 1, 31, 32, 67, 68, -4, -1])
def test_a_file_that_is_cut(library: ctypes.CDLL, cut: int) -> None:
    for tiny in TINY.values():
        part = encode(tiny())[:cut]
        agree(library, part)
        if len(part) >= HEADER:
            agree(library, sealed(part[:8] + struct.pack("<I", len(part)) + part[12:]))


@pytest.mark.parametrize("path", sorted(WEIGHTS.glob("*.hnet")), ids=lambda path: path.stem)
def test_the_committed_files(library: ctypes.CDLL, path: Path) -> None:
    assert agree(library, path.read_bytes()) == (0, 0, 0)
