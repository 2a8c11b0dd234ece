"""Bytes of network files, changed and sealed again; and whether two graphs are the same."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import xxhash

from hil.training.graph.graph import Graph

HEADER, RECORD, OUTPUT = 32, 36, 8

Change = tuple[int, str, object]  # offset, format of struct, value


def sealed(blob: bytes) -> bytes:
    """Put the right digest into a file, so that only the check under test can refuse it."""
    return blob[:12] + struct.pack("<I", xxhash.xxh32_intdigest(blob[16:])) + blob[16:]


def patched(blob: bytes, *changes: Change) -> bytes:
    """Change bytes of a file and seal it."""
    raw = bytearray(blob)
    for offset, form, value in changes:
        struct.pack_into("<" + form, raw, offset, *(value if isinstance(value, tuple) else (value,)))
    return sealed(bytes(raw))


def at(index: int, offset: int) -> int:
    """Return the offset in the file of a byte of a layer's record."""
    return HEADER + RECORD * index + offset


def weights_at(blob: bytes, index: int) -> int:
    return struct.unpack_from("<I", blob, at(index, 28))[0]


def parameters_at(blob: bytes, index: int) -> int:
    return struct.unpack_from("<I", blob, at(index, 32))[0]


def same(one: Graph, other: Graph) -> None:
    """Check that two graphs agree in everything."""
    facts, others = (dict(vars(graph), layers=len(graph.layers)) for graph in (one, other))
    assert facts == others
    for a, b in zip(one.layers, other.layers, strict=True):
        assert type(a) is type(b)
        assert replace(a, own=None).__dict__ == replace(b, own=None).__dict__
        assert type(a.own) is type(b.own)
        for name, value in vars(a.own).items() if a.own is not None else ():
            assert getattr(vars(b.own)[name], "dtype", None) == getattr(value, "dtype", None), name
            np.testing.assert_array_equal(vars(b.own)[name], value)
