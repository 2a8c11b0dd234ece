"""The network file in `affine8`, and with several formats: what is written comes back, and nothing else is ever read."""

from __future__ import annotations

import math
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from network.drawn_affine8 import affine8_graphs

from hil.training.graph.affine8 import params, with_scales
from hil.training.graph.file import NetworkFileError, decode, encode, file_size, places_in_file
from hil.training.graph.formats import LARGEST_FLOAT, Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import (
    Affine8Node,
    Affine8Parameters,
    Float32Node,
    Float32Parameters,
    Node,
    Parameters,
    Tflite8Node,
    Tflite8Parameters,
)

from .files import at, parameters_at, patched, same, weights_at

STEM, CONV, SWISH, POOL, DEPTHWISE, GATE, MULTIPLY, ADD, CAST, FLOAT_SWISH, FC = range(11)
H = LARGEST_FLOAT
WIDE = {"act_min": -H, "act_max": H}


def own(*shape: int, channels: int, scale: float = 2.0**-6, zero: int = -20) -> Parameters:
    weights = (np.arange(np.prod(shape)) * 37 % 256 - 128).astype(np.int8).reshape(shape)
    return Affine8Parameters(weights, np.arange(channels, dtype=np.float32) / 8 - 0.25, scale=scale, zero=zero)


def tiny() -> Graph:
    """Return layers of three formats: `tflite8`, then `affine8` with all that is its own, then `float32`."""
    stem = Tflite8Parameters(
        np.full((2, 1, 1, 1), 7, np.int8), np.array([5, -6], np.int32), np.full(2, 2**30 + 5, np.int32),
        np.array([-4, -5], np.int8), np.full(2, 0.25, np.float32),
    )  # fmt: skip
    fc = Float32Parameters((np.arange(16) / 8 - 1).astype(np.float32).reshape(2, 8), np.full(2, -0.75, np.float32))
    square, range_of = (4, 4, 2), {"low": -1.0, "high": 2.0}
    ops = (
        Tflite8Node("pw1", Op.POINTWISE, (0,), (4, 4, 1), square, (1, 1), (1, 1), (0, 0), 1, -100, 90, 0.5, -3, stem),
        Affine8Node("conv1", Op.CONV2D, (1,), square, square, (3, 3), (1, 1), (1, 1), 1, 0.0, 6.0, own=own(2, 3, 3, 2, channels=2), low=0.0, high=3.0),
        Affine8Node("hswish1", Op.HARD_SWISH, (2,), square, square, **range_of, **WIDE),
        Affine8Node("mean1", Op.AVERAGE_POOL, (3,), square, (1, 1, 2), (4, 4), (4, 4), **WIDE),
        Affine8Node("dw1", Op.DEPTHWISE, (3,), square, square, (1, 3), (1, 1), (0, 0), 2, -1.0, 2.0, own=own(1, 3, 2, channels=2), **range_of),
        Affine8Node("pw2", Op.POINTWISE, (4,), (1, 1, 2), (1, 1, 2), (1, 1), (1, 1), (0, 0), 1, 0.0, 1.0, own=own(2, 1, 1, 2, channels=2), low=0.0, high=0.75),
        Affine8Node("mul1", Op.MULTIPLY, (2, 6), square, square, low=-8.0, high=0.0, **WIDE),
        Affine8Node("add1", Op.ADD, (7, 1), square, square, low=-2.0, high=2.5, **WIDE),
        Float32Node("cast1", Op.CAST, (4,), (1, 1, 2), (1, 1, 2), **WIDE),
        Float32Node("hswish2", Op.HARD_SWISH, (9,), (1, 1, 2), (1, 1, 2), **WIDE),
        Float32Node("fc1", Op.FULLY_CONNECTED, (10,), (1, 1, 2), (1, 1, 2), block=1, own=replace(fc, weights=fc.weights[:, :2]), **WIDE),
    )  # fmt: skip
    ops = (*ops[:4], replace(ops[4], out_shape=(4, 2, 2)), *ops[5:])
    rounding = {Tflite8Node: {"rounding": "single"}, Affine8Node: {"rounding": "floor"}, Float32Node: {}}
    ops = tuple(replace(node, **rounding[type(node)]) for node in ops)
    return with_scales(Graph("tiny", ops, (4, 4, 1), 2, 2.0**-7, 3))


def last(inputs: int, outputs: int = 2, **changes: object) -> Graph:
    """Return one fully connected layer in `affine8`."""
    weights = np.zeros((outputs, inputs), np.int8)
    its = Affine8Parameters(weights, np.zeros(outputs, np.float32), scale=2.0**-8, zero=0)
    shape = (1, 1, inputs)
    node = Affine8Node(
        "fc1", Op.FULLY_CONNECTED, (0,), shape, (1, 1, outputs), block=1, own=its, low=-1.0, high=1.0, **WIDE
    )
    return with_scales(replace(Graph("last", (node,), shape, max(outputs, 2), 1.0, 0), **changes))


@settings(max_examples=150, deadline=None)
@given(graph=affine8_graphs())
def test_round_trip(graph: Graph) -> None:
    blob = encode(graph)
    same(decode(blob, "drawn"), graph)
    assert encode(decode(blob)) == blob
    assert len(blob) == file_size(graph)


def test_layers_of_several_formats_come_back() -> None:
    graph = tiny()
    assert graph.formats == (Format.TFLITE8, Format.AFFINE8, Format.FLOAT32)
    assert [graph.format_of(value) for value in (0, 1, 2, 9)] == [1, 1, 5, 3]
    same(decode(encode(graph), "tiny"), graph)
    assert graph.layers[POOL].scale == graph.layers[SWISH].scale
    s, _, z = params(-1.0, 2.0, "floor")
    assert (graph.layers[SWISH].scale, graph.layers[SWISH].zero) == (s, z)


def test_the_layout_is_that_of_the_document() -> None:
    graph = tiny()
    blob = encode(graph)
    assert [blob[at(index, 24)] for index in range(11)] == [1] * 8 + [0] * 3
    weights, parameters = weights_at(blob, CONV), parameters_at(blob, CONV)
    assert parameters == weights + 36 and weights_at(blob, SWISH) == 0
    assert blob[weights : weights + 36] == graph.layers[CONV].own.weights.tobytes()
    found = struct.unpack_from("<fb3x4f2i2f", blob, parameters)
    assert found[:6] == (2.0**-6, -20, 0.0, 3.0, 0.0, 6.0) and found[8:] == (-0.25, -0.125)
    sums = (graph.layers[CONV].own.weights.astype(int) + 20).sum(axis=(1, 2, 3))
    assert found[6:8] == tuple(
        round(bias / (0.5 * 2.0**-6)) + 3 * total for bias, total in zip((-0.25, -0.125), sums, strict=True)
    )
    assert parameters_at(blob, SWISH) == parameters + 40
    assert struct.unpack_from("<4f", blob, parameters_at(blob, SWISH)) == (-1.0, 2.0, -H, H)
    assert struct.unpack_from("<4f", blob, parameters_at(blob, POOL)) == (0.0, 0.0, -H, H)
    assert struct.unpack_from("<2f", blob, parameters_at(blob, CAST)) == (-H, H)
    assert weights_at(blob, FC) == parameters_at(blob, CAST) + 16
    assert places_in_file(graph)[CONV] == (weights, parameters + 32)


BLOB = encode(tiny())
DATA = [parameters_at(BLOB, index) for index in range(11)]
PADDED = weights_at(BLOB, DEPTHWISE) + 6  # six weights
HALF = float(np.nextafter(np.float32(2**20), np.float32(np.inf)))
CHANGES = [
    (CAST, 1, [(at(CAST, 0), "B", 14)]),
    *((CONV, 5, [(at(CONV, 0), "B", op), (at(CONV, 4), "6B", (0,) * 6)]) for op in (12,)),
    (MULTIPLY, 2, [(at(MULTIPLY, 10), "BB", (6, 2))]),
    (MULTIPLY, 2, [(at(MULTIPLY, 11), "B", 2)]),
    (MULTIPLY, 2, [(at(MULTIPLY, 11), "B", 7)]),
    (MULTIPLY, 2, [(at(MULTIPLY, 18), "H", 3)]),
    (SWISH, 2, [(at(SWISH, 11), "B", 1)]),
    (CAST, 3, [(at(CAST, 22), "H", 3)]),
    (SWISH, 3, [(at(SWISH, 18), "H", 3)]),
    (SWISH, 4, [(at(SWISH, 4), "B", 1)]),
    (STEM, 5, [(at(STEM, 0), "B", 10), (at(STEM, 4), "6B", (0,) * 6), (at(STEM, 22), "H", 1)]),
    (CONV, 5, [(at(CONV, 1), "B", 6)]),
    (CONV, 5, [(at(CONV, 1), "B", 3)]),
    (SWISH, 5, [(at(SWISH, 1), "B", 1)]),
    (ADD, 5, [(at(ADD, 1), "B", 1)]),
    (CAST, 5, [(at(CAST, 1), "B", 5)]),
    (CAST, 5, [(at(CAST, 0), "B", 10)]),
    (FC, 5, [(at(FC, 1), "B", 5)]),
    (FLOAT_SWISH, 5, [(at(FLOAT_SWISH, 0), "B", 9)]),
    (FLOAT_SWISH, 5, [(at(FLOAT_SWISH, 10), "B", 4)]),
    (CONV, 6, [(at(CONV, 32), "I", DATA[CONV] + 4)]),
    (SWISH, 6, [(at(SWISH, 32), "I", 0)]),
    (SWISH, 6, [(at(SWISH, 28), "I", DATA[SWISH])]),
    (SWISH, 7, [(at(SWISH, 2), "B", 1)]),
    (CONV, 7, [(at(CONV, 3), "b", -8)]),
    *((CONV, 7, [(DATA[CONV] + place, "B", 1)]) for place in (5, 6, 7)),
    (DEPTHWISE, 7, [(PADDED, "B", 1)]),
    *((CONV, 9, [(DATA[CONV], "f", scale)]) for scale in (2.0**-29, 2.0**15, -1.0, math.nan, 3.2)),
    *((CONV, 9, [(DATA[STEM], "f", scale)]) for scale in (2.0**24, 0.8)),
    (CONV, 9, [(DATA[CONV] + 8, "ff", (0.0, 1.9))]),
    (MULTIPLY, 9, [(DATA[GATE] + 12, "f", 1.0), (DATA[CONV] + 12, "f", 6.0), (DATA[MULTIPLY], "ff", (0.0, 0.02))]),
    (STEM, 9, [(DATA[STEM], "f", 2.0**41)]),
    *((CONV, 11, [(DATA[CONV] + 32, "f", bias)]) for bias in (HALF, -HALF, math.nan, math.inf)),
    *((CONV, 12, [(DATA[CONV] + 24 + 4 * place, "i", 0)]) for place in (0, 1)),
    (CONV, 12, [(DATA[CONV] + 32, "f", 0.5)]),
    (CONV, 12, [(weights_at(BLOB, CONV), "b", 1)]),
    (CONV, 12, [(DATA[CONV] + 4, "b", -21)]),
    (CONV, 12, [(DATA[STEM] + 4, "b", 4)]),
    *((ADD, 13, [(DATA[ADD] + 8, "ff", limits)]) for limits in ((-2 * H, H), (-H, 2 * H), (-2.5, -0.5), (1.0, 3.0), (0.0, 0.0))),
    *((ADD, 13, [(DATA[ADD] + 8, "ff", limits)]) for limits in ((math.nan, H), (-H, math.nan), (-1.75, H))),
    (DEPTHWISE, 13, [(DATA[DEPTHWISE] + 16, "ff", (-0.5, 2.0))]),
    *((layer, 13, [(DATA[layer] + at, "ff", ends)]) for layer, at in ((DEPTHWISE, 8), (MULTIPLY, 0)) for ends in ((-1.0, math.nan), (math.nan, 2.0))),
    *((MULTIPLY, 13, [(DATA[MULTIPLY] + 8, "ff", limits)]) for limits in ((-8.0, H), (-H, 6.0))),
    *((SWISH, 13, [(DATA[SWISH] + 8, "ff", limits)]) for limits in ((-8.0, H), (-H, 6.0))),
    *((POOL, 13, [(DATA[POOL] + 8, "ff", limits)]) for limits in ((0.0, H), (-H, 6.0))),
    *((CAST, 13, [(DATA[CAST], "ff", limits)]) for limits in ((0.0, H), (-H, 6.0))),
    *((FLOAT_SWISH, 13, [(DATA[FLOAT_SWISH], "ff", limits)]) for limits in ((0.0, H), (-H, 6.0))),
    *((SWISH, 13, [(DATA[SWISH], "ff", ends)]) for ends in ((0.1, 2.0), (-1.0, -0.1), (0.0, 0.0), (0.0, 2.0**-21), (-128.0, 2.0**30))),
    *((SWISH, 13, [(DATA[SWISH], "ff", ends)]) for ends in ((-0.0, 2.0), (-1.0, -0.0), (math.nan, 2.0), (-math.inf, math.inf))),
    *((POOL, 13, [(DATA[POOL], "ff", ends)]) for ends in ((-0.0, 0.0), (0.0, -0.0), (-1.0, 2.0), (0.0, math.nan))),
]  # fmt: skip


@pytest.mark.parametrize(("layer", "check", "changes"), CHANGES)
def test_every_refusal_has_its_number(layer: int, check: int, changes: list[tuple[int, str, object]]) -> None:
    with pytest.raises(NetworkFileError, match=f"layer {layer} of the network file") as caught:
        decode(patched(BLOB, *changes))
    assert (caught.value.layer, caught.value.check) == (layer, check), caught.value


@pytest.mark.parametrize(
    "change",
    [
        (DATA[ADD], "ff", (-2.0, 2.0**30 - 2)),
        (DATA[ADD] + 8, "ff", (-2.0, 2.5)),
        (DATA[ADD] + 8, "ff", (-2.0, 2.25)),  # a range may end above its limit
        (DATA[MULTIPLY], "ff", (-(2.0**-6), 0.0)),
        (DATA[CONV] + 16, "ff", (0.0, 3.0)),
    ],
)
def test_what_is_just_allowed(change: tuple[int, str, object]) -> None:
    assert decode(patched(BLOB, change))


@pytest.mark.parametrize("rounding", [2, 3, 255])
@pytest.mark.parametrize("layer", [STEM, CONV, POOL])
def test_a_rounding_above_1(layer: int, rounding: int) -> None:
    with pytest.raises(NetworkFileError, match=f"has no rounding {rounding}") as caught:
        decode(patched(BLOB, (at(layer, 24), "B", rounding)))
    assert (caught.value.layer, caught.value.check) == (layer, 7)


@pytest.mark.parametrize("layer", [CAST, FLOAT_SWISH, FC])
def test_a_rounding_of_float32(layer: int) -> None:
    with pytest.raises(NetworkFileError, match="float32 has no rounding 1") as caught:
        decode(patched(BLOB, (at(layer, 24), "B", 1)))
    assert (caught.value.layer, caught.value.check) == (layer, 7)


@pytest.mark.parametrize("layer", range(SWISH, CAST))
def test_all_layers_of_affine8_have_the_rounding_of_the_first(layer: int) -> None:
    with pytest.raises(NetworkFileError, match="that of the first layer of affine8 is 1") as caught:
        decode(patched(BLOB, (at(layer, 24), "B", 0)))
    assert (caught.value.layer, caught.value.check) == (layer, 7)


def test_the_rounding_of_tflite8_says_nothing_of_affine8() -> None:
    graph = decode(patched(BLOB, (at(STEM, 24), "B", 0)))
    assert (graph.layers[STEM].rounding, graph.layers[CONV].rounding) == ("double", "floor")


def test_products_positions_and_biases_are_limited() -> None:
    """2^14 products of an output, 2^15 of the error of an input, 2^15 positions of weights and of a multiply."""

    def refused(graph: Graph, layer: int = 0) -> None:
        with pytest.raises(NetworkFileError) as caught:
            decode(encode(graph))
        assert (caught.value.layer, caught.value.check) == (layer, 11), caught.value

    assert decode(encode(last(2**14, scale=2.0**-8)))
    refused(last(2**14 + 1, scale=2.0**-8))
    assert decode(encode(last(1, 1024, scale=2.0**-8)))
    wide = (2**15 + 1, 1, 1)
    pointwise = Affine8Node("pw1", Op.POINTWISE, (0,), wide, wide, (1, 1), (1, 1), (0, 0), 1, own=own(1, 1, 1, 1, channels=1), low=-1.0, high=3.0, **WIDE)  # fmt: skip
    pool = Affine8Node("mean1", Op.AVERAGE_POOL, (1,), wide, (2**13, 1, 1), (4, 1), (4, 4), **WIDE)

    def ended(first: Node, shape: tuple[int, int, int]) -> Graph:
        return Graph(
            "wide",
            (
                replace(first, in_shape=shape, out_shape=shape),
                replace(pool, in_shape=shape),
                replace(last(2**13).layers[0], reads=(2,), in_shape=(2**13, 1, 1)),
            ),
            shape,
            2,
            2.0**-8,
            0,
        )

    refused(ended(pointwise, wide))
    assert decode(encode(ended(pointwise, (2**15, 1, 1))))
    swish = Affine8Node("hswish1", Op.HARD_SWISH, (0,), wide, wide, low=-1.0, high=3.0, **WIDE)
    assert decode(encode(ended(swish, wide)))
    small = last(4, scale=2.0**-30)
    layer = small.layers[0]
    assert layer.own is not None
    bias = np.array([2.0**20, 0], np.float32)  # far more than 2^29 times 2^-38, which is held there
    assert decode(encode(replace(small, layers=(replace(layer, own=replace(layer.own, bias=bias)),))))
    bias = np.nextafter(bias, np.float32(2**21))
    refused(replace(small, layers=(replace(layer, own=replace(layer.own, bias=bias)),)))
