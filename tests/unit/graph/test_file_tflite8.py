"""The network file in `tflite8`: what is written comes back, and nothing else is ever read (docs/network.md)."""

from __future__ import annotations

import math
import struct
from dataclasses import replace

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from network.drawn_graphs import graphs

from hil.training.graph.file import NetworkFileError, decode, encode, file_size
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import AddFactors, Node, Parameters, Tflite8Node, Tflite8Parameters

from .files import HEADER, OUTPUT, RECORD, at, parameters_at, patched, same, weights_at

CONV, DEPTHWISE, POINTWISE, ADD, MEAN, FC = range(6)


def own(*shape: int, channels: int, weights: int = 3) -> Parameters:
    return Tflite8Parameters(
        np.full(shape, weights, np.int8),
        np.arange(channels, dtype=np.int32) - 1,
        np.full(channels, 2**30 + 5, np.int32),
        np.full(channels, -7, np.int8),
        np.full(channels, 0.25, np.float32),
    )


def tiny() -> Graph:
    """One layer of every kind but max_pool; the add reads the output of the pointwise layer and that of conv1."""
    ops = (
        Tflite8Node("conv1", Op.CONV2D, (0,), (7, 8, 2), (4, 4, 3), (3, 3), (2, 2), (1, 1), 1, -100, 90, 0.5, -3, own(3, 3, 3, 2, channels=3)),
        Tflite8Node("dw1", Op.DEPTHWISE, (1,), (4, 4, 3), (4, 4, 3), (5, 3), (1, 1), (2, 2), 2, own=own(5, 3, 3, channels=3)),
        Tflite8Node("pw1", Op.POINTWISE, (2,), (4, 4, 3), (4, 4, 3), (1, 1), (1, 1), (0, 0), 3, own=own(3, 1, 1, 3, channels=3)),
        Tflite8Node("add1", Op.ADD, (3, 1), (4, 4, 3), (4, 4, 3), scale=0.75, zero=9, factors=AddFactors((2**30, 2**30 + 1, 2**31 - 1), (0, -1, -19))),
        Tflite8Node("mean1", Op.AVERAGE_POOL, (4,), (4, 4, 3), (2, 2, 3), (2, 2), (2, 2), scale=0.75, zero=9),
        Tflite8Node("fc1", Op.FULLY_CONNECTED, (5,), (2, 2, 3), (1, 1, 5), block=4, own=own(5, 12, channels=5)),
    )  # fmt: skip
    return Graph("tiny", ops, (7, 8, 2), 5)


@settings(max_examples=150, deadline=None)
@given(graph=graphs())
def test_round_trip(graph: Graph) -> None:
    blob = encode(graph)
    same(decode(blob, "drawn"), graph)
    assert encode(decode(blob)) == blob
    assert len(blob) == file_size(graph)
    assert len(blob) % 4 == 0


def test_the_layout_is_that_of_the_document() -> None:
    graph = tiny()
    graph = replace(graph, layers=(*graph.layers[:-1], replace(graph.layers[-1], rounding="single")), zero=-5)
    blob = encode(graph)
    assert [blob[at(index, 24)] for index in range(6)] == [0] * 5 + [1]
    assert blob[:4] == b"HNET"
    assert struct.unpack_from("<HHI", blob, 4) == (4, 6, len(blob))
    assert struct.unpack_from("<I", blob, 12)[0] == xxhash.xxh32_intdigest(blob[16:])
    assert struct.unpack_from("<HHHHfb3s", blob, 16) == (7, 8, 2, 5, np.float32(1 / 255), -5, bytes(3))
    first = HEADER + 6 * RECORD
    conv = blob[at(CONV, 0) : at(CONV, RECORD)]
    assert conv[:12] == bytes([1, 1, 1, 0, 3, 3, 2, 2, 1, 1, 0, 0])
    assert struct.unpack_from("<6H4B", conv, 12) == (7, 8, 2, 4, 4, 3, 0, 0, 0, 0)
    assert struct.unpack_from("<II", conv, 28) == (first, first + 56)
    parameters = blob[first + 56 : first + 56 + 60]
    assert struct.unpack_from("<fbbbB", parameters) == (0.5, -3, -100, 90, 0)
    assert struct.unpack_from("<3i3i3f3i3b", parameters, 8) == (
        -1, 0, 1, *(2**30 + 5,) * 3, *(0.25,) * 3, *(54,) * 3, -7, -7, -7,
    )  # fmt: skip
    assert parameters[59:] == bytes(1)
    depthwise = first + 56 + 60
    assert struct.unpack_from("<II", blob, at(DEPTHWISE, 28)) == (depthwise, depthwise + 48)
    add = blob[at(ADD, 0) : at(ADD, RECORD)]
    assert (add[0], add[10], add[11]) == (8, 3, 1)
    assert struct.unpack_from("<II", add, 28) == (0, parameters_at(blob, ADD))
    assert struct.unpack_from("<fbbbB3i3bB", blob, parameters_at(blob, ADD)) == (
        0.75, 9, -128, 127, 0, 2**30, 2**30 + 1, 2**31 - 1, 0, -1, -19, 0,
    )  # fmt: skip
    assert parameters_at(blob, MEAN) == parameters_at(blob, ADD) + 24
    assert struct.unpack_from("<fbbbB", blob, parameters_at(blob, MEAN)) == (0.75, 9, -128, 127, 0)
    assert weights_at(blob, FC) == parameters_at(blob, MEAN) + 8


def test_the_sums_are_by_output_channel_for_every_kind() -> None:
    rng = np.random.default_rng(3)
    graph = tiny()
    layers = [
        layer if layer.own is None else replace(layer, own=replace(layer.own, weights=rng.integers(-126, 127, layer.own.weights.shape).astype(np.int8)))
        for layer in graph.layers
    ]  # fmt: skip
    graph = replace(graph, layers=tuple(layers))
    blob = encode(graph)
    same(decode(blob, "tiny"), graph)
    kernel = layers[DEPTHWISE].own.weights.astype(int)
    sums = struct.unpack_from("<3i", blob, parameters_at(blob, DEPTHWISE) + OUTPUT + 36)
    assert sums == tuple(sum(kernel[y, x, c] for y in range(5) for x in range(3)) for c in range(3))


ADD_AT, DW, PW = (at(index, 0) for index in (ADD, DEPTHWISE, POINTWISE))
ADD_DATA, MEAN_DATA, CONV_DATA, FC_DATA = (parameters_at(encode(tiny()), index) for index in (ADD, MEAN, CONV, FC))
CHANGES = [
    (CONV, 1, [(at(CONV, 0), "B", 0)]),
    (ADD, 1, [(ADD_AT, "B", 14)]),
    (DEPTHWISE, 2, [(DW + 10, "B", 2)]),
    (ADD, 2, [(ADD_AT + 11, "B", 4)]),
    (ADD, 2, [(ADD_AT + 11, "B", 0)]),
    (POINTWISE, 2, [(PW + 11, "B", 1)]),
    (CONV, 2, [(at(CONV, 12), "H", 6)]),
    (ADD, 2, [(ADD_AT + 18, "H", 3)]),
    (CONV, 3, [(at(CONV, 18), "H", 5)]),
    *((CONV, 3, [(at(CONV, axis), "B", 3)]) for axis in (8, 9)),
    (CONV, 3, [(at(CONV, 4), "B", 0)]),
    (DEPTHWISE, 3, [(DW + 22, "H", 4)]),
    (DEPTHWISE, 3, [(DW + 20, "H", 8)]),
    (POINTWISE, 3, [(PW + 18, "H", 3)]),
    (MEAN, 3, [(at(MEAN, 22), "H", 2)]),
    (FC, 3, [(at(FC, 18), "H", 2)]),
    *((DEPTHWISE, 4, [(DW + axis, "B", 0)]) for axis in (6, 7)),
    (POINTWISE, 4, [(PW + 8, "B", 1), (PW + 4, "BB", (2, 2))]),
    (POINTWISE, 4, [(PW + 9, "B", 1), (PW + 4, "BB", (2, 2))]),
    *((MEAN, 4, [(at(MEAN, axis), "B", 0)]) for axis in (6, 7)),
    (ADD, 4, [(ADD_AT + 4, "B", 1)]),
    (FC, 4, [(at(FC, 6), "B", 1)]),
    (CONV, 5, [(at(CONV, 1), "B", 0)]),
    (ADD, 5, [(ADD_AT + 1, "B", 2)]),
    (ADD, 5, [(ADD_AT, "B", 3), (ADD_AT + 11, "B", 0)]),
    (CONV, 6, [(at(CONV, 28), "I", HEADER)]),
    (CONV, 6, [(at(CONV, 22), "H", 2), (DW + 16, "H", 2)]),
    (DEPTHWISE, 6, [(DW + 28, "I", 2**31)]),
    (POINTWISE, 6, [(PW + 32, "I", 1)]),
    (ADD, 6, [(ADD_AT + 28, "I", 4)]),
    (MEAN, 6, [(at(MEAN, 32), "I", 0)]),
    (POINTWISE, 7, [(PW + 25, "H", 1)]),
    *((layer, 7, [(at(layer, 24), "B", wrong)]) for layer in (CONV, ADD, MEAN, FC) for wrong in (2, 255)),
    (FC, 7, [(at(FC, 26), "B", 255)]),
    (FC, 7, [(at(FC, 2), "B", 0)]),
    (CONV, 7, [(at(CONV, 2), "B", 5)]),
    (CONV, 7, [(at(CONV, 3), "b", -1)]),
    (ADD, 7, [(ADD_AT + 2, "B", 1)]),
    (MEAN, 7, [(MEAN_DATA + 7, "B", 1)]),
    (CONV, 7, [(CONV_DATA + 7, "B", 128)]),
    (ADD, 7, [(ADD_DATA + 23, "B", 1)]),
    (FC, 8, [(22, "H", 4)]),
    (CONV, 9, [(CONV_DATA, "f", 0.0)]),
    (ADD, 9, [(ADD_DATA, "f", math.nan)]),
    (ADD, 9, [(ADD_DATA, "f", -1.0)]),
    (FC, 9, [(FC_DATA, "f", 2.0**41)]),
    (FC, 9, [(FC_DATA, "f", 2.0**-41)]),
    (ADD, 11, [(ADD_DATA + 12, "i", 2**30 - 1)]),
    (ADD, 11, [(ADD_DATA + 21, "b", 1)]),
    (ADD, 11, [(ADD_DATA + 21, "b", -32)]),
    (CONV, 13, [(CONV_DATA + 5, "bb", (1, 0))]),
    (MEAN, 13, [(MEAN_DATA, "f", 0.5)]),
    (MEAN, 13, [(MEAN_DATA + 4, "b", 8)]),
]


@pytest.mark.parametrize(("layer", "check", "changes"), CHANGES)
def test_every_refusal_has_its_number(layer: int, check: int, changes: list[tuple[int, str, object]]) -> None:
    with pytest.raises(NetworkFileError, match=f"layer {layer} of the network file") as caught:
        decode(patched(encode(tiny()), *changes))
    assert (caught.value.layer, caught.value.check) == (layer, check), caught.value


@pytest.mark.parametrize(
    ("check", "inside", "form", "value"),
    [
        (9, 32, "f", math.inf),
        (11, 8, "i", 2**30 + 1),
        (11, 16, "i", -(2**30) - 1),
        (11, 20, "i", 2**30 - 1),
        (11, 24, "i", -(2**31)),
        (11, 56, "b", 31),
        (11, 58, "b", -32),
        (12, 48, "i", 53),
        (12, -56, "b", -128),
        (12, -3, "b", 4),
        (7, -1, "b", 1),
        (7, 59, "b", 1),
    ],
)
def test_parameters_are_checked(check: int, inside: int, form: str, value: float) -> None:
    """Offsets are from the parameters of conv1: 8 bytes of the output; bias, multiplier, scale and sum at 12 bytes each;
    3 shifts. Before them lie 54 weights and 2 zeros."""
    blob = encode(tiny())
    with pytest.raises(NetworkFileError) as caught:
        decode(patched(blob, (parameters_at(blob, CONV) + inside, form, value)))
    assert (caught.value.layer, caught.value.check) == (CONV, check), caught.value


@pytest.mark.parametrize(
    ("check", "offset", "form", "value"),
    [
        (0, 22, "H", 1),
        (0, 22, "H", 1025),
        (7, 29, "B", 1),
        (7, 30, "H", 1),
        (7, 30, "H", 256),
        (9, 24, "f", -0.5),
        (10, 16, "H", 0),
    ],
)
def test_the_headers_fields_count_as_layer_255(check: int, offset: int, form: str, value: float) -> None:
    with pytest.raises(NetworkFileError, match="the header of the network file") as caught:
        decode(patched(encode(tiny()), (offset, form, value)))
    assert (caught.value.layer, caught.value.check) == (255, check)


def test_products_and_positions_are_limited() -> None:
    def alone(layer: Node, classes: int = 2) -> Graph:
        return Graph("alone", (layer,), layer.in_shape, classes)

    wide = Tflite8Node(
        "fc1", Op.FULLY_CONNECTED, (0,), (1, 1, 2**15), (1, 1, 2), block=1, own=own(2, 2**15, channels=2)
    )
    same(decode(encode(alone(wide)), "alone"), alone(wide))
    wider = replace(wide, in_shape=(1, 1, 2**15 + 1), own=own(2, 2**15 + 1, channels=2))
    pool = Tflite8Node(
        "pool1",
        Op.MAX_POOL,
        (0,),
        (257, 256, 1),
        (257, 256, 1),
        (1, 1),
        (1, 1),
        scale=float(np.float32(1 / 255)),
        zero=-128,
    )
    fc = Tflite8Node(
        "fc1", Op.FULLY_CONNECTED, (0,), (257, 256, 1), (1, 1, 2), block=1, own=own(2, 257 * 256, channels=2)
    )
    many = Graph("many", (pool, fc), (257, 256, 1), 2)
    error = Tflite8Node(
        "conv1",
        Op.CONV2D,
        (0,),
        (64, 64, 1),
        (1, 1, 40),
        (60, 60),
        (1, 1),
        (0, 0),
        1,
        own=own(40, 60, 60, 1, channels=40),
    )
    after = Tflite8Node("fc1", Op.FULLY_CONNECTED, (1,), (1, 1, 40), (1, 1, 2), block=1, own=own(2, 40, channels=2))
    for graph in (alone(wider), many, Graph("error", (error, after), (64, 64, 1), 2)):
        with pytest.raises(NetworkFileError) as caught:
            decode(encode(graph))
        assert (caught.value.layer, caught.value.check) == (0, 11), graph.name


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_window_is_taken_where_each_one_sees_the_image(data: st.DataObject) -> None:
    """On each axis by itself: the first and the last window have a position inside; how much lies outside is free."""
    axis = st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(0, 5), st.integers(1, 6), st.integers(1, 7))
    axes = [data.draw(axis) for _ in range(2)]
    kernel, stride, pad, size, out = (tuple(numbers) for numbers in zip(*axes, strict=True))
    conv = Tflite8Node(
        "conv1", Op.CONV2D, (0,), (*size, 1), (*out, 1), kernel, stride, pad, 1, own=own(1, *kernel, 1, channels=1)
    )
    fc = Tflite8Node(
        "fc1", Op.FULLY_CONNECTED, (1,), (*out, 1), (1, 1, 2), block=1, own=own(2, out[0] * out[1], channels=2)
    )
    blob = encode(Graph("windows", (conv, fc), (*size, 1), 2))
    if all(sees_the_image(*its) for its in axes):
        assert encode(decode(blob)) == blob
        return
    with pytest.raises(NetworkFileError) as caught:
        decode(blob)
    assert (caught.value.layer, caught.value.check) == (0, 3)


def sees_the_image(kernel: int, stride: int, pad: int, size: int, out: int) -> bool:
    """Return whether every window of an axis has a position inside."""
    return all(any(0 <= at * stride - pad + tap < size for tap in range(kernel)) for at in range(out))


def test_what_is_no_network_file_is_refused() -> None:
    blob = encode(tiny())
    for wrong, words in (
        (blob[:20], "inside its header"),
        (b"XNET" + blob[4:], "not with HNET"),
        (patched(blob, (4, "H", 1)), "version 1.*hil network import"),
        (patched(blob, (4, "H", 2)), "version 2.*hil network import"),
        (patched(blob, (4, "H", 3)), "version 3.*hil network import"),
        (patched(blob, (4, "H", 5)), "version 5.*update"),
        (blob[:-4], "header says"),
        (blob + bytes(4), "header says"),
        (blob[:-1] + bytes([blob[-1] ^ 1]), "damaged"),
        (blob[:40], "header says"),
    ):
        with pytest.raises(NetworkFileError, match=words):
            decode(wrong)
    longer = blob + bytes(4)
    with pytest.raises(NetworkFileError) as caught:
        decode(patched(longer, (8, "I", len(longer))))
    assert (caught.value.layer, caught.value.check) == (FC, 6)
