"""The network file of the second family: what is written comes back, and nothing else is ever read (docs/network-tflite.md)."""

from __future__ import annotations

import math
import struct
from dataclasses import replace

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.network.tflite.file import GraphFileError, decode, encode, file_size
from hil.network.tflite.layers import AddFactors, Graph, GraphLayer, GraphOp, Parameters
from network.drawn_graphs import graphs

HEADER, RECORD = 32, 64
CONV, DEPTHWISE, POINTWISE, ADD, MEAN, FC = range(6)


def own(*shape: int, channels: int, weights: int = 3) -> Parameters:
    return Parameters(
        np.full(shape, weights, np.int8),
        np.arange(channels, dtype=np.int32) - 1,
        np.full(channels, 2**30 + 5, np.int32),
        np.full(channels, -7, np.int8),
        np.full(channels, 0.25, np.float32),
    )


def tiny() -> Graph:
    """One layer of every kind but max_pool; the add reads the output of the pointwise layer and that of conv1."""
    ops = (
        GraphLayer("conv1", GraphOp.CONV2D, (0,), (7, 8, 2), (4, 4, 3), (3, 3), 2, 1, 1, -100, 90, 0.5, -3, own(3, 3, 3, 2, channels=3)),
        GraphLayer("dw1", GraphOp.DEPTHWISE, (1,), (4, 4, 3), (4, 4, 3), (5, 3), 1, 2, 2, own=own(5, 3, 3, channels=3)),
        GraphLayer("pw1", GraphOp.POINTWISE, (2,), (4, 4, 3), (4, 4, 3), (1, 1), 1, 0, 3, own=own(3, 1, 1, 3, channels=3)),
        GraphLayer("add1", GraphOp.ADD, (3, 1), (4, 4, 3), (4, 4, 3), scale=0.75, zero=9, factors=AddFactors((2**30, 2**30 + 1, 2**31 - 1), (0, -1, -19))),
        GraphLayer("mean1", GraphOp.AVERAGE_POOL, (4,), (4, 4, 3), (2, 2, 3), (2, 2), 2, scale=0.75, zero=9),
        GraphLayer("fc1", GraphOp.FULLY_CONNECTED, (5,), (2, 2, 3), (1, 1, 5), block=4, own=own(5, 12, channels=5)),
    )  # fmt: skip
    return Graph("tiny", ops, (7, 8, 2), 5)


def sealed(blob: bytes) -> bytes:
    """Put the right digest into a file, so that only the check under test can refuse it."""
    return blob[:12] + struct.pack("<I", xxhash.xxh32_intdigest(blob[16:])) + blob[16:]


def patched(blob: bytes, *changes: tuple[int, str, object]) -> bytes:
    raw = bytearray(blob)
    for offset, form, value in changes:
        struct.pack_into("<" + form, raw, offset, *(value if isinstance(value, tuple) else (value,)))
    return sealed(bytes(raw))


def at(index: int, offset: int) -> int:
    return HEADER + RECORD * index + offset


def weights_at(blob: bytes, index: int) -> int:
    return struct.unpack_from("<I", blob, at(index, 28))[0]


def parameters_at(blob: bytes, index: int) -> int:
    return struct.unpack_from("<I", blob, at(index, 36))[0]


def same(one: Graph, other: Graph) -> None:
    facts, others = (dict(vars(graph), layers=len(graph.layers)) for graph in (one, other))
    assert facts == others
    for a, b in zip(one.layers, other.layers, strict=True):
        assert replace(a, own=None).__dict__ == replace(b, own=None).__dict__
        assert (a.own is None) == (b.own is None)
        if a.own is not None and b.own is not None:
            for name, array in vars(a.own).items():
                assert getattr(b.own, name).dtype == array.dtype, name
                np.testing.assert_array_equal(getattr(b.own, name), array)


@settings(max_examples=150, deadline=None)
@given(graph=graphs())
def test_round_trip(graph: Graph) -> None:
    blob = encode(graph)
    same(decode(blob, "drawn"), graph)
    assert encode(decode(blob)) == blob
    assert len(blob) == file_size(graph)
    assert len(blob) % 4 == 0


def test_the_layout_is_that_of_the_document() -> None:
    blob = encode(replace(tiny(), rounding="single", zero=-5))
    assert blob[:4] == b"HNET"
    assert struct.unpack_from("<HHI", blob, 4) == (2, 6, len(blob))
    assert struct.unpack_from("<I", blob, 12)[0] == xxhash.xxh32_intdigest(blob[16:])
    assert struct.unpack_from("<HHHHfbBH", blob, 16) == (7, 8, 2, 5, np.float32(1 / 255), -5, 1, 0)
    first = HEADER + 6 * RECORD
    conv = blob[at(CONV, 0) : at(CONV, RECORD)]
    assert conv[:6] == bytes([1, 3, 3, 2, 1, 1])
    assert struct.unpack_from("<bbbBBB", conv, 6) == (-100, 90, -3, 0, 0, 0)
    assert struct.unpack_from("<6H", conv, 12) == (7, 8, 2, 4, 4, 3)
    assert struct.unpack_from("<fIIII", conv, 24) == (0.5, first, 54, first + 56, 3)
    assert conv[44:] == bytes(20)
    add = blob[at(ADD, 0) : at(ADD, RECORD)]
    assert (add[0], add[9], add[10]) == (8, 3, 1)
    assert struct.unpack_from("<3i3b", add, 44) == (2**30, 2**30 + 1, 2**31 - 1, 0, -1, -19)
    parameters = blob[first + 56 : first + 56 + 52]
    assert struct.unpack_from("<3i3i3f3i3b", parameters) == (
        -1, 0, 1, *(2**30 + 5,) * 3, *(0.25,) * 3, *(54,) * 3, -7, -7, -7,
    )  # fmt: skip
    assert parameters[51:] == bytes(1)


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
    sums = struct.unpack_from("<3i", blob, parameters_at(blob, DEPTHWISE) + 36)
    assert sums == tuple(sum(kernel[y, x, c] for y in range(5) for x in range(3)) for c in range(3))


ADD_AT, DW, PW = (at(index, 0) for index in (ADD, DEPTHWISE, POINTWISE))
CHANGES = [
    (CONV, 1, [(at(CONV, 0), "B", 3)]),
    (ADD, 1, [(ADD_AT, "B", 9)]),
    (DEPTHWISE, 2, [(DW + 9, "B", 2)]),
    (ADD, 2, [(ADD_AT + 10, "B", 4)]),
    (ADD, 2, [(ADD_AT + 10, "B", 0)]),
    (POINTWISE, 2, [(PW + 10, "B", 1)]),
    (CONV, 2, [(at(CONV, 12), "H", 6)]),
    (ADD, 2, [(ADD_AT + 18, "H", 3)]),
    (CONV, 3, [(at(CONV, 18), "H", 5)]),
    (CONV, 3, [(at(CONV, 4), "B", 3)]),
    (CONV, 3, [(at(CONV, 1), "B", 0)]),
    (DEPTHWISE, 3, [(DW + 22, "H", 4)]),
    (DEPTHWISE, 3, [(DW + 20, "H", 8)]),
    (POINTWISE, 3, [(PW + 18, "H", 3)]),
    (MEAN, 3, [(at(MEAN, 22), "H", 2)]),
    (FC, 3, [(at(FC, 18), "H", 2)]),
    (DEPTHWISE, 4, [(DW + 3, "B", 0)]),
    (POINTWISE, 4, [(PW + 4, "B", 1), (PW + 1, "BB", (2, 2))]),
    (ADD, 4, [(ADD_AT + 1, "B", 1)]),
    (FC, 4, [(at(FC, 3), "B", 1)]),
    (CONV, 5, [(at(CONV, 32), "I", 55)]),
    (DEPTHWISE, 5, [(DW + 40, "I", 2)]),
    (ADD, 5, [(ADD_AT + 40, "I", 3)]),
    (MEAN, 5, [(at(MEAN, 32), "I", 1)]),
    (CONV, 6, [(at(CONV, 28), "I", HEADER)]),
    (DEPTHWISE, 6, [(DW + 28, "I", 2**31)]),
    (POINTWISE, 6, [(PW + 36, "I", 1)]),
    (ADD, 6, [(ADD_AT + 28, "I", 4)]),
    (POINTWISE, 7, [(PW + 11, "B", 1)]),
    (FC, 7, [(at(FC, 59), "B", 1)]),
    (FC, 7, [(at(FC, 63), "B", 255)]),
    (FC, 7, [(at(FC, 5), "B", 0)]),
    (CONV, 7, [(at(CONV, 5), "B", 5)]),
    (ADD, 7, [(ADD_AT + 5, "B", 1)]),
    (MEAN, 7, [(at(MEAN, 44), "i", 1)]),
    (MEAN, 7, [(at(MEAN, 58), "b", -1)]),
    (FC, 8, [(22, "H", 4)]),
    (CONV, 9, [(at(CONV, 24), "f", 0.0)]),
    (ADD, 9, [(ADD_AT + 24, "f", math.nan)]),
    (ADD, 9, [(ADD_AT + 24, "f", -1.0)]),
    (FC, 9, [(at(FC, 24), "f", 2.0**41)]),
    (FC, 9, [(at(FC, 24), "f", 2.0**-41)]),
    (ADD, 11, [(ADD_AT + 48, "i", 2**30 - 1)]),
    (ADD, 11, [(ADD_AT + 57, "b", 1)]),
    (ADD, 11, [(ADD_AT + 57, "b", -32)]),
    (CONV, 13, [(at(CONV, 6), "bb", (1, 0))]),
    (MEAN, 13, [(at(MEAN, 24), "f", 0.5)]),
    (MEAN, 13, [(at(MEAN, 8), "b", 8)]),
]


@pytest.mark.parametrize(("layer", "check", "changes"), CHANGES)
def test_every_refusal_has_its_number(layer: int, check: int, changes: list[tuple[int, str, object]]) -> None:
    with pytest.raises(GraphFileError, match=f"layer {layer} of the network file") as caught:
        decode(patched(encode(tiny()), *changes))
    assert (caught.value.layer, caught.value.check) == (layer, check), caught.value


@pytest.mark.parametrize(
    ("check", "inside", "form", "value"),
    [
        (9, 24, "f", math.inf),
        (11, 0, "i", 2**30 + 1),
        (11, 8, "i", -(2**30) - 1),
        (11, 12, "i", 2**30 - 1),
        (11, 16, "i", -(2**31)),
        (11, 48, "b", 31),
        (11, 50, "b", -32),
        (12, 40, "i", 53),
        (12, -56, "b", -128),
        (12, -3, "b", 4),
        (7, -1, "b", 1),
        (7, 51, "b", 1),
    ],
)
def test_parameters_are_checked(check: int, inside: int, form: str, value: float) -> None:
    """Offsets are from the parameters of conv1: bias, multiplier, scale, sum at 12 bytes each, then 3 shifts; before them 54 weights and 2 zeros."""
    blob = encode(tiny())
    with pytest.raises(GraphFileError) as caught:
        decode(patched(blob, (parameters_at(blob, CONV) + inside, form, value)))
    assert (caught.value.layer, caught.value.check) == (CONV, check), caught.value


@pytest.mark.parametrize(
    ("check", "offset", "form", "value"),
    [(0, 22, "H", 1), (0, 22, "H", 257), (0, 29, "B", 2), (7, 30, "H", 1), (9, 24, "f", -0.5), (10, 16, "H", 0)],
)
def test_the_headers_fields_count_as_layer_255(check: int, offset: int, form: str, value: float) -> None:
    with pytest.raises(GraphFileError, match="the header of the network file") as caught:
        decode(patched(encode(tiny()), (offset, form, value)))
    assert (caught.value.layer, caught.value.check) == (255, check)


def test_products_and_positions_are_limited() -> None:
    def alone(layer: GraphLayer, classes: int = 2) -> Graph:
        return Graph("alone", (layer,), layer.in_shape, classes)

    wide = GraphLayer(
        "fc1", GraphOp.FULLY_CONNECTED, (0,), (1, 1, 2**15), (1, 1, 2), block=1, own=own(2, 2**15, channels=2)
    )
    same(decode(encode(alone(wide)), "alone"), alone(wide))
    wider = replace(wide, in_shape=(1, 1, 2**15 + 1), own=own(2, 2**15 + 1, channels=2))
    pool = GraphLayer(
        "pool1",
        GraphOp.MAX_POOL,
        (0,),
        (257, 256, 1),
        (257, 256, 1),
        (1, 1),
        1,
        scale=float(np.float32(1 / 255)),
        zero=-128,
    )
    fc = GraphLayer(
        "fc1", GraphOp.FULLY_CONNECTED, (0,), (257, 256, 1), (1, 1, 2), block=1, own=own(2, 257 * 256, channels=2)
    )
    many = Graph("many", (pool, fc), (257, 256, 1), 2)
    error = GraphLayer(
        "conv1", GraphOp.CONV2D, (0,), (64, 64, 1), (1, 1, 40), (60, 60), 1, 0, 1, own=own(40, 60, 60, 1, channels=40)
    )
    after = GraphLayer("fc1", GraphOp.FULLY_CONNECTED, (1,), (1, 1, 40), (1, 1, 2), block=1, own=own(2, 40, channels=2))
    for graph in (alone(wider), many, Graph("error", (error, after), (64, 64, 1), 2)):
        with pytest.raises(GraphFileError) as caught:
            decode(encode(graph))
        assert (caught.value.layer, caught.value.check) == (0, 11), graph.name


def test_a_window_reaches_one_position_further_below_than_above_and_no_more() -> None:
    """TFLite's SAME of 8 positions by a kernel of 3 and stride 2 pads 0 above and 1 below; a kernel of 4 would need 2."""
    for kernel, padding, fits in ((3, 0, True), (4, 0, False), (4, 1, True), (5, 1, True), (6, 1, False)):
        parameters = own(1, kernel, kernel, 1, channels=1)
        conv = GraphLayer(
            "conv1", GraphOp.CONV2D, (0,), (8, 8, 1), (4, 4, 1), (kernel, kernel), 2, padding, 1, own=parameters
        )
        fc = GraphLayer("fc1", GraphOp.FULLY_CONNECTED, (1,), (4, 4, 1), (1, 1, 2), block=1, own=own(2, 16, channels=2))
        blob = encode(Graph("same", (conv, fc), (8, 8, 1), 2))
        if fits:
            assert decode(blob).layers[0].pad == padding
            continue
        with pytest.raises(GraphFileError) as caught:
            decode(blob)
        assert (caught.value.layer, caught.value.check) == (0, 3)


def test_what_is_no_network_file_is_refused() -> None:
    blob = encode(tiny())
    for wrong, words in (
        (blob[:20], "inside its header"),
        (b"XNET" + blob[4:], "not with HNET"),
        (patched(blob, (4, "H", 1)), "version 1"),
        (blob[:-4], "header says"),
        (blob + bytes(4), "header says"),
        (blob[:-1] + bytes([blob[-1] ^ 1]), "damaged"),
        (blob[:40], "header says"),
    ):
        with pytest.raises(GraphFileError, match=words):
            decode(wrong)
    longer = blob + bytes(4)
    with pytest.raises(GraphFileError) as caught:
        decode(patched(longer, (8, "I", len(longer))))
    assert (caught.value.layer, caught.value.check) == (FC, 6)


@settings(max_examples=300, deadline=None)
@given(graph=graphs(largest=4, most=3), data=st.data())
def test_a_changed_byte_is_refused_or_read_as_it_stands(graph: Graph, data: st.DataObject) -> None:
    """Whatever a resealed file holds, it is either refused with a reason, or encoding it again gives its bytes."""
    blob = encode(graph)
    raw = bytearray(blob)
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(16, len(blob) - 1))] = data.draw(st.integers(0, 255))
    changed = sealed(bytes(raw))
    try:
        read = decode(changed)
    except GraphFileError as error:
        assert 0 <= error.check <= 13
        assert error.layer == 255 or error.layer < len(graph.layers)
        return
    assert encode(read) == changed
