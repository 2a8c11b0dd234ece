"""The network file in `float32`: what is written comes back, and nothing else is ever read (docs/network.md)."""

from __future__ import annotations

import math
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from network.drawn_float32 import float32_graphs

from hil.training.graph.file import NetworkFileError, decode, encode, file_size, places_in_file
from hil.training.graph.formats import LARGEST_FLOAT, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Node, Float32Parameters, Parameters

from .files import HEADER, RECORD, at, parameters_at, patched, same, weights_at

CONV, DEPTHWISE, POINTWISE, ADD, MEAN, FC = range(6)
H = LARGEST_FLOAT
WIDE = (-H, H)


def own(*shape: int, channels: int) -> Parameters:
    return Float32Parameters(
        (np.arange(np.prod(shape)) / 8 - 1).astype(np.float32).reshape(shape), np.full(channels, -0.75, np.float32)
    )


def tiny() -> Graph:
    """One layer of every kind but max_pool; the add reads the output of the pointwise layer and that of conv1."""
    ops = (
        Float32Node("conv1", Op.CONV2D, (0,), (7, 8, 2), (4, 4, 3), (3, 3), (2, 2), (1, 1), 1, 0.0, 6.0, own=own(3, 3, 3, 2, channels=3)),
        Float32Node("dw1", Op.DEPTHWISE, (1,), (4, 4, 3), (4, 4, 3), (5, 3), (1, 1), (2, 2), 2, 0.0, H, own=own(5, 3, 3, channels=3)),
        Float32Node("pw1", Op.POINTWISE, (2,), (4, 4, 3), (4, 4, 3), (1, 1), (1, 1), (0, 0), 3, *WIDE, own=own(3, 1, 1, 3, channels=3)),
        Float32Node("add1", Op.ADD, (3, 1), (4, 4, 3), (4, 4, 3), (0, 0), (0, 0), (0, 0), 0, *WIDE),
        Float32Node("mean1", Op.AVERAGE_POOL, (4,), (4, 4, 3), (2, 2, 3), (2, 2), (2, 2), (0, 0), 0, *WIDE),
        Float32Node("fc1", Op.FULLY_CONNECTED, (5,), (2, 2, 3), (1, 1, 5), (0, 0), (0, 0), (0, 0), 4, *WIDE, own=own(5, 12, channels=5)),
    )  # fmt: skip
    return Graph("tiny", ops, (7, 8, 2), 5, 2.0**-7, 0)


@settings(max_examples=100, deadline=None)
@given(graph=float32_graphs())
def test_round_trip(graph: Graph) -> None:
    blob = encode(graph)
    same(decode(blob, "drawn"), graph)
    assert encode(decode(blob)) == blob
    assert len(blob) == file_size(graph)


def test_the_layout_is_that_of_the_document() -> None:
    blob = encode(tiny())
    first = HEADER + 6 * RECORD
    conv = blob[at(CONV, 0) : at(CONV, RECORD)]
    assert conv[:12] == bytes([1, 3, 1, 0, 3, 3, 2, 2, 1, 1, 0, 0])
    assert struct.unpack_from("<II", conv, 28) == (first, first + 4 * 54)
    assert struct.unpack_from("<54f", blob, first) == tuple(i / 8 - 1 for i in range(54))
    assert struct.unpack_from("<5f", blob, first + 4 * 54) == (0.0, 6.0, -0.75, -0.75, -0.75)
    depthwise = first + 4 * 54 + 20
    assert struct.unpack_from("<II", blob, at(DEPTHWISE, 28)) == (depthwise, depthwise + 4 * 45)
    assert struct.unpack_from("<II", blob, at(ADD, 28)) == (0, parameters_at(blob, ADD))
    assert struct.unpack_from("<2f", blob, parameters_at(blob, ADD)) == WIDE
    assert parameters_at(blob, MEAN) == parameters_at(blob, ADD) + 8
    assert weights_at(blob, FC) == parameters_at(blob, MEAN) + 8
    assert len(blob) == parameters_at(blob, FC) + 8 + 20
    for index, (weights, biases) in places_in_file(tiny()).items():
        assert (weights, biases) == (weights_at(blob, index), parameters_at(blob, index) + 8)


BLOB = encode(tiny())
CONV_WEIGHTS, FC_WEIGHTS = weights_at(BLOB, CONV), weights_at(BLOB, FC)
CONV_DATA, POINTWISE_DATA, ADD_DATA, MEAN_DATA, FC_DATA = (
    parameters_at(BLOB, index) for index in (CONV, POINTWISE, ADD, MEAN, FC)
)
UP = float(np.nextafter(np.float32(2**20), np.float32(np.inf)))
CHANGES = [
    (ADD, 5, [(at(ADD, 1), "B", 2)]),
    (CONV, 5, [(at(CONV, 1), "B", 200)]),
    (CONV, 6, [(at(CONV, 28), "I", HEADER)]),
    (ADD, 6, [(at(ADD, 28), "I", 4)]),
    (MEAN, 6, [(at(MEAN, 32), "I", 0)]),
    (POINTWISE, 6, [(at(POINTWISE, 32), "I", POINTWISE_DATA + 4)]),
    (CONV, 7, [(at(CONV, 3), "b", -1)]),
    (ADD, 7, [(at(ADD, 2), "B", 1)]),
    (FC, 8, [(22, "H", 4)]),
    (CONV, 9, [(24, "f", 2.0**33)]),
    *((layer, 7, [(at(layer, 24), "B", 1)]) for layer in (CONV, MEAN)),
    *((CONV, 12, [(CONV_WEIGHTS + 4, "f", wrong)]) for wrong in (UP, -UP, math.nan, math.inf, -math.inf)),
    *((FC, 12, [(FC_DATA + 24, "f", wrong)]) for wrong in (UP, -UP, math.nan, math.inf)),
    *((ADD, 13, [(ADD_DATA, "ff", limits)]) for limits in ((1.0, 1.0), (2.0, 1.0), (-H, 2 * H), (-2 * H, H))),
    *((CONV, 13, [(CONV_DATA, "ff", limits)]) for limits in ((-0.0, 1.0), (-1.0, -0.0), (math.nan, 1.0), (0, math.nan))),
    *((MEAN, 13, [(MEAN_DATA, "ff", limits)]) for limits in ((0.0, H), (-H, 6.0))),
]  # fmt: skip


@pytest.mark.parametrize(("layer", "check", "changes"), CHANGES)
def test_every_refusal_has_its_number(layer: int, check: int, changes: list[tuple[int, str, object]]) -> None:
    with pytest.raises(NetworkFileError, match=f"layer {layer} of the network file") as caught:
        decode(patched(BLOB, *changes))
    assert (caught.value.layer, caught.value.check) == (layer, check), caught.value


@pytest.mark.parametrize(
    "change",
    [
        (24, "f", 2.0**32),
        (24, "f", 2.0**-40),
        (CONV_WEIGHTS, "f", 2.0**20),
        (CONV_WEIGHTS, "f", -(2.0**20)),
        (CONV_WEIGHTS, "f", -0.0),
        (FC_DATA + 8, "f", 2.0**-149),
        (ADD_DATA, "ff", (-1.0, 0.0)),
    ],
)
def test_what_is_just_allowed(change: tuple[int, str, object]) -> None:
    assert decode(patched(BLOB, change))


@pytest.mark.parametrize("scale", [2.0**-41, 2.0**41, math.nan])
def test_a_scale_that_no_format_has_is_the_headers(scale: float) -> None:
    with pytest.raises(NetworkFileError, match="the header of the network file") as caught:
        decode(patched(BLOB, (24, "f", scale)))
    assert (caught.value.layer, caught.value.check) == (255, 9)


def test_products_and_positions_are_limited() -> None:
    """2^17 products of one output and of the error of one input, 2^16 positions."""

    def last(inputs: int, outputs: int) -> Graph:
        parameters = Float32Parameters(np.zeros((outputs, inputs), np.float32), np.zeros(outputs, np.float32))
        node = Float32Node(
            "fc1", Op.FULLY_CONNECTED, (0,), (1, 2, inputs // 2), (1, 1, outputs), (0, 0), (0, 0), (0, 0), 1, *WIDE
        )
        return Graph(
            "large",
            (replace(node, own=parameters),),
            (1, 2, inputs // 2),
            outputs,
            1.0,
            0,
        )

    assert decode(encode(last(65_535 * 2, 2)))
    wide = Float32Node("mean1", Op.AVERAGE_POOL, (0,), (257, 256, 1), (257, 256, 1), (1, 1), (1, 1), (0, 0), 0, *WIDE)
    end = replace(last(257 * 256, 2).layers[0], reads=(1,), in_shape=(257, 256, 1))
    graph = Graph("wide", (wide, end), (257, 256, 1), 2, 1.0, 0)
    with pytest.raises(NetworkFileError, match="65,792 products or positions") as caught:
        decode(encode(graph))
    assert (caught.value.layer, caught.value.check) == (0, 11)
    rows = Float32Node("mean1", Op.AVERAGE_POOL, (0,), (512, 512, 1), (512, 512, 1), (1, 1), (1, 1), (0, 0), 0, *WIDE)
    pooled = replace(rows, out_shape=(256, 256, 1), kernel=(2, 2), stride=(2, 2))
    shape = (256, 256, 3)
    spread = Float32Node("pw1", Op.POINTWISE, (1,), (256, 256, 1), shape, (1, 1), (1, 1), (0, 0), 1, *WIDE)
    spread = replace(spread, own=Float32Parameters(np.zeros((3, 1, 1, 1), np.float32), np.zeros(3, np.float32)))
    end = replace(last(256 * 256 * 3 + 1, 2).layers[0], reads=(2,), in_shape=shape)
    end = replace(end, own=Float32Parameters(np.zeros((2, 256 * 256 * 3), np.float32), np.zeros(2, np.float32)))
    with pytest.raises(NetworkFileError, match="196,608 products or positions") as caught:
        decode(encode(Graph("long", (pooled, spread, end), (512, 512, 1), 2, 1.0, 0)))
    assert (caught.value.layer, caught.value.check) == (2, 11)
