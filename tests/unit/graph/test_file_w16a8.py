"""The network file in `w16a8`: what is written comes back, and nothing else is ever read (docs/arithmetic-w16a8.md, 4)."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from network.w16a8_graphs import alone, fully_connected, parameters, w16a8_graphs

from hil.training.graph.file import NetworkFileError, decode, encode, file_size, places_in_file
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import AddFactors, W16A8Node

from .files import HEADER, RECORD, at, parameters_at, patched, same, weights_at

CONV, DEPTHWISE, ADD, POOL, FC = range(5)


def tiny() -> Graph:
    """Return a network whose add reads the output of both layers before it."""
    conv = parameters(np.full((3, 3, 3, 1), 7), [1, -2, 3], 0.25, (2**30 + 5, -22))
    depthwise = parameters(np.full((3, 3, 3), -9), [4, 5, 6], 0.5, (2**31 - 1, -2), 127)
    layers = (
        W16A8Node("conv1", Op.CONV2D, (0,), (4, 4, 1), (4, 4, 3), (3, 3), (1, 1), (1, 1), 1, -100, 90, 0.5, -3, conv),
        W16A8Node("dw1", Op.DEPTHWISE, (1,), (4, 4, 3), (4, 4, 3), (3, 3), (1, 1), (1, 1), 2, own=depthwise),
        W16A8Node("add1", Op.ADD, (2, 1), (4, 4, 3), (4, 4, 3), scale=0.75, zero=9, factors=AddFactors((2**30, 2**30 + 1, 2**31 - 1), (0, -1, -19))),
        W16A8Node("pool1", Op.MAX_POOL, (3,), (4, 4, 3), (2, 2, 3), (2, 2), (2, 2), scale=0.75, zero=9),
        W16A8Node("fc1", Op.FULLY_CONNECTED, (4,), (2, 2, 3), (1, 1, 3), block=4, own=parameters(np.full((3, 12), 11), [0, 0, 0])),
    )  # fmt: skip
    return Graph("tiny", layers, (4, 4, 1), 3, float(np.float32(1 / 255)), -128)


@settings(max_examples=100, deadline=None)
@given(graph=w16a8_graphs())
def test_round_trip(graph: Graph) -> None:
    blob = encode(graph)
    found = decode(blob, "drawn")
    same(found, graph)
    assert [layer.own.largest for layer in found.trained if layer.own] == [
        layer.own.largest for layer in graph.trained if layer.own
    ]
    assert encode(found) == blob
    assert len(blob) == file_size(graph) and len(blob) % 4 == 0


def test_the_layout_is_that_of_the_document() -> None:
    blob = encode(tiny())
    assert struct.unpack_from("<HHHHfb3s", blob, 16) == (4, 4, 1, 3, np.float32(1 / 255), -128, bytes(3))
    first = HEADER + 5 * RECORD
    assert blob[at(CONV, 0)] == 1 and blob[at(CONV, 1)] == 4
    assert [blob[at(index, 24)] for index in range(5)] == [1] * 5
    assert (weights_at(blob, CONV), parameters_at(blob, CONV)) == (first, first + 56)
    assert struct.unpack_from("<27h", blob, first) == (7,) * 27 and blob[first + 54 : first + 56] == bytes(2)
    assert struct.unpack_from("<fbbbBfibBH3i", blob, first + 56) == (
        0.5, -3, -100, 90, 0, 0.25, 2**30 + 5, -22, 0, 32767, 1, -2, 3,
    )  # fmt: skip
    assert weights_at(blob, DEPTHWISE) == first + 56 + 32
    assert struct.unpack_from("<fbbbB3i3bB", blob, parameters_at(blob, ADD)) == (
        0.75, 9, -128, 127, 0, 2**30, 2**30 + 1, 2**31 - 1, 0, -1, -19, 0,
    )  # fmt: skip
    assert parameters_at(blob, POOL) == parameters_at(blob, ADD) + 24
    assert weights_at(blob, FC) == parameters_at(blob, POOL) + 8
    assert len(blob) == parameters_at(blob, FC) + 32


def test_places_of_weights_and_biases() -> None:
    blob, graph = encode(tiny()), tiny()
    for index, (weights, bias) in places_in_file(graph).items():
        own = graph.layers[index].own
        assert own is not None
        assert blob[weights : weights + own.weights.nbytes] == own.weights.tobytes()
        assert blob[bias : bias + own.bias.nbytes] == own.bias.tobytes()


CONV_DATA, DW_DATA, ADD_DATA, POOL_DATA, FC_DATA = (parameters_at(encode(tiny()), index) for index in range(5))
CONV_WEIGHTS, DW_WEIGHTS = (weights_at(encode(tiny()), index) for index in (CONV, DEPTHWISE))


@pytest.mark.parametrize(
    ("layer", "check", "offset", "form", "value"),
    [
        (CONV, 5, at(CONV, 1), "B", 6),
        (ADD, 5, at(ADD, 1), "B", 1),
        (CONV, 6, at(CONV, 28), "I", HEADER),
        (POOL, 6, at(POOL, 32), "I", 0),
        (CONV, 7, at(CONV, 3), "b", -1),
        (CONV, 7, CONV_WEIGHTS + 54, "B", 1),
        (CONV, 7, CONV_WEIGHTS + 55, "B", 1),
        (CONV, 7, CONV_DATA + 7, "B", 1),
        (CONV, 7, CONV_DATA + 17, "B", 1),
        (ADD, 7, ADD_DATA + 23, "B", 1),
        *((layer, 7, at(layer, 24), "B", wrong) for layer in (CONV, ADD, POOL) for wrong in (0, 2)),
        (CONV, 9, CONV_DATA, "f", 2.0**41),
        (CONV, 9, CONV_DATA + 8, "f", 0.0),
        (CONV, 9, CONV_DATA + 8, "f", math.nan),
        (FC, 9, FC_DATA + 8, "f", 2.0**-41),
        (CONV, 11, CONV_DATA + 12, "i", 2**30 - 1),
        (CONV, 11, CONV_DATA + 12, "i", -(2**31)),
        (CONV, 11, CONV_DATA + 16, "b", -32),
        (CONV, 11, CONV_DATA + 16, "b", -1),
        (CONV, 11, CONV_DATA + 20, "i", 2**30 + 1),
        (CONV, 11, CONV_DATA + 28, "i", -(2**30) - 1),
        (ADD, 11, ADD_DATA + 8, "i", 2**30 - 1),
        (ADD, 11, ADD_DATA + 20, "b", 1),
        (CONV, 12, CONV_DATA + 18, "H", 32766),
        (CONV, 12, CONV_DATA + 18, "H", 0),
        (CONV, 12, CONV_WEIGHTS + 4, "h", -32768),
        (DEPTHWISE, 12, DW_WEIGHTS, "h", 128),
        (DEPTHWISE, 12, DW_WEIGHTS + 52, "h", -128),
        (CONV, 13, CONV_DATA + 5, "bb", (1, 0)),
        (POOL, 13, POOL_DATA, "f", 0.5),
        (POOL, 13, POOL_DATA + 4, "b", 8),
    ],
)
def test_every_refusal_has_its_number(layer: int, check: int, offset: int, form: str, value: object) -> None:
    with pytest.raises(NetworkFileError, match=f"layer {layer} of the network file") as caught:
        decode(patched(encode(tiny()), (offset, form, value)))
    assert (caught.value.layer, caught.value.check) == (layer, check), caught.value


def wide(inputs: int, shift: int, zero: int, largest: int = 32767) -> Graph:
    node = fully_connected(np.zeros((2, inputs)), [0, 0], own={"factor": (2**30, shift), "largest": largest})
    return alone(node, zero)


@pytest.mark.parametrize(
    ("largest", "zero", "most"),
    [(32767, 0, 256), (32767, -1, 256), (32767, -64, 171), (32767, -128, 128), (32767, 127, 128), (127, -128, 33155)],
)
def test_sums_without_a_bound_are_refused(largest: int, zero: int, most: int) -> None:
    """The most products that fit with a bias of 2^30; beyond it a shift of -22 or above must hold."""
    depth = max(127 - zero, 128 + zero)
    assert most == (2**30 - 1) // (largest * depth)
    if most < 2**15:
        same(decode(encode(wide(most, -31, zero, largest)), "alone"), wide(most, -31, zero, largest))
        same(decode(encode(wide(most + 1, -22, zero, largest)), "alone"), wide(most + 1, -22, zero, largest))
        with pytest.raises(NetworkFileError, match=f"sums of fc1 .*at most {most} inputs") as caught:
            decode(encode(wide(most + 1, -23, zero, largest)))
        assert (caught.value.layer, caught.value.check) == (0, 11)
    with pytest.raises(NetworkFileError) as caught:
        decode(encode(wide(2**15 + 1, -2, zero, largest)))
    assert (caught.value.layer, caught.value.check) == (0, 11)
