"""Every byte of header and records means something: a file in which one is another is refused, or is another graph's file."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network.drawn import networks
from network.drawn_affine8 import affine8_graphs
from network.drawn_graphs import graphs

from hil.training.graph.file import NetworkFileError, decode, encode
from hil.training.graph.graph import Graph

from .files import HEADER, RECORD, sealed
from .test_file_affine8 import tiny as tiny_affine8
from .test_file_bfp8 import tiny as tiny_bfp8
from .test_file_tflite8 import tiny as tiny_tflite8

START = 16  # magic, version, numbers, digest


def holds(blob: bytes) -> bool:
    """Return whether a file is read; what is read makes the same bytes again, so that nothing of it was passed over."""
    try:
        graph = decode(blob)
    except NetworkFileError:
        return False
    assert encode(graph) == blob
    return True


@pytest.mark.parametrize("tiny", [tiny_affine8, tiny_bfp8, tiny_tflite8], ids=["affine8", "bfp8", "tflite8"])
def test_one_byte_of_header_or_record(tiny: object) -> None:
    graph = tiny()
    blob, rng, held = encode(graph), random.Random(5), 0
    for at in range(HEADER + RECORD * len(graph.layers)):
        for value in {blob[at] ^ 1 << bit for bit in range(8)} | {0, 255, rng.randrange(256)} - {blob[at]}:
            damaged = blob[:at] + bytes([value]) + blob[at + 1 :]
            assert not holds(damaged), at
            if at not in range(12, START):
                held += holds(sealed(damaged))
    assert held > 10  # zero points, exponents, blocks and the like may have other values


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_some_bytes_anywhere(data: st.DataObject) -> None:
    graph: Graph = data.draw(
        st.one_of(networks().filter(lambda graph: graph.input_exp == -7), graphs(), affine8_graphs())
    )
    raw = bytearray(encode(graph))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(START, len(raw) - 1))] = data.draw(st.integers(0, 255))
    holds(sealed(bytes(raw)))
