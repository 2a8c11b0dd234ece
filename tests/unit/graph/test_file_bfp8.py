"""The network file in `bfp8`: what is written comes back, and nothing else is ever read (docs/network.md)."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from network.drawn import networks

from hil.training.graph.chain import bfp8_node, chain
from hil.training.graph.file import NetworkFileError, decode, encode, file_size
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node
from hil.training.networks.lenet5 import lenet5

from .files import HEADER, RECORD, at, patched, same


def tiny() -> Graph:
    """A conv2d, a relu, a max_pool and two fully connected layers."""
    ones = np.ones
    return chain(
        (
            bfp8_node(
                "conv1", Op.CONV2D, (4, 5, 2), (4, 5, 3), (3, 3), (1, 1), (1, 1), ones((3, 3, 3, 2), np.int8), -9
            ),
            bfp8_node("relu1", Op.RELU, (4, 5, 3), (4, 5, 3)),
            bfp8_node("pool1", Op.MAX_POOL, (4, 5, 3), (2, 2, 3), (2, 2), (2, 2)),
            bfp8_node("fc1", Op.FULLY_CONNECTED, (2, 2, 3), (1, 1, 5), weights=ones((5, 12), np.int8), weight_exp=-32),
            bfp8_node("fc2", Op.FULLY_CONNECTED, (1, 1, 5), (1, 1, 3), weights=ones((3, 5), np.int8), weight_exp=8),
        ),
        classes=3,
    )


@settings(max_examples=60, deadline=None)
@given(network=networks(exponents=(-32, 8)))
def test_round_trip(network: Graph) -> None:
    network = replace(network, scale=2.0**-7)  # the only one that a file can hold
    blob = encode(network)
    same(decode(blob), network)
    assert encode(decode(blob)) == blob
    assert len(blob) == file_size(network)
    assert len(blob) % 4 == 0


def test_the_layout_is_that_of_the_document() -> None:
    blob = encode(tiny())
    assert blob[:4] == b"HNET"
    assert struct.unpack_from("<HHI", blob, 4) == (4, 5, len(blob))
    assert struct.unpack_from("<HHHHfb3s", blob, 16) == (4, 5, 2, 3, 2.0**-7, 0, bytes(3))
    form = "<BBBb6B2B3H3HB3sII"
    conv = struct.unpack_from(form, blob, at(0, 0))
    assert conv == (1, 2, 1, -9, 3, 3, 1, 1, 1, 1, 0, 0, 4, 5, 2, 4, 5, 3, 0, bytes(3), HEADER + 5 * RECORD, 0)
    relu = struct.unpack_from(form, blob, at(1, 0))
    assert relu == (3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 5, 3, 4, 5, 3, 0, bytes(3), 0, 0)
    fc = struct.unpack_from(form, blob, at(4, 0))
    data = HEADER + 5 * RECORD + 56 + 60
    assert fc == (2, 2, 1, 8, 0, 0, 0, 0, 0, 0, 4, 0, 1, 1, 5, 1, 1, 3, 0, bytes(3), data, 0)
    assert blob[-1] == 0  # 15 weights are padded to 16 bytes


def test_weights_lie_output_height_width_input() -> None:
    weights = np.arange(54, dtype=np.int8).reshape(3, 3, 3, 2)
    network = tiny().with_weights([weights, np.ones((5, 12)), np.ones((3, 5))])
    assert encode(network)[HEADER + 5 * RECORD :][:54] == bytes(range(54))


TWO_INPUTS = [(at(1, 16), "H", 2), (at(1, 22), "H", 2)]  # a relu as large as the input
HALVED = [(at(0, 18), "3H", (2, 3, 3))]  # output of conv1 with stride 2
FLAT = [(at(0, 18), "H", 2)]  # with stride 2 down
REFUSALS = [
    (1, "op 14", [(at(1, 0), "B", 14)]),
    (1, "op 0", [(at(4, 0), "B", 0)]),
    (2, "input of the first layer", [(at(0, 12), "H", 5), (at(0, 18), "H", 5)]),
    (2, "input of a later layer", [(at(3, 16), "H", 4)]),
    (2, "input as large, of another shape", [(at(3, 12), "3H", (1, 4, 3))]),
    (2, "a value that does not exist yet", [(at(3, 10), "B", 4)]),
    (2, "a second value", [(at(3, 11), "B", 1)]),
    (3, "output of conv2d", [(at(0, 20), "H", 7)]),
    (3, "output of relu", [(at(1, 18), "H", 3)]),
    (3, "channels of relu", [(at(1, 22), "H", 2)]),
    (3, "output of max_pool", [(at(2, 20), "H", 4)]),
    (3, "channels of max_pool", [(at(2, 22), "H", 2)]),
    (3, "output of fully_connected", [(at(3, 18), "3H", (5, 1, 1))]),
    (3, "kernel of 0", [(at(0, 4), "B", 0)]),
    (3, "padding as large as the kernel", [(at(0, 8), "B", 3)]),
    (3, "padding left as large as the kernel", [(at(0, 9), "B", 3)]),
    (3, "pooling window of 0", [(at(2, 4), "4B", (0, 0, 0, 0))]),
    (4, "stride 0", [(at(0, 6), "B", 0)]),
    (4, "stride 0 across", [(at(0, 7), "B", 0)]),
    (4, "kernel of relu", [(at(1, 4), "2B", (1, 1))]),
    (4, "kernel of fully_connected", [(at(3, 4), "B", 1)]),
    (4, "stride of fully_connected", [(at(3, 6), "B", 1)]),
    (4, "padding of fully_connected", [(at(3, 9), "B", 1)]),
    (5, "format 0", [(at(0, 1), "B", 0)]),
    (5, "format 3", [(at(3, 1), "B", 3)]),
    (5, "two formats", [(at(3, 1), "B", 1)]),
    (5, "an operation that the format does not have", [(at(2, 0), "B", 7)]),
    (5, "no chain", [(at(1, 10), "B", 0), *TWO_INPUTS]),
    (5, "stride 2 in conv2d", [(at(0, 6), "2B", (2, 2)), *HALVED]),
    (5, "stride 2 down in conv2d", [(at(0, 6), "B", 2), *FLAT]),
    (5, "paddings that differ", [(at(0, 9), "B", 0)]),
    (5, "an operation of tflite8", [(at(1, 0), "B", 12)]),
    (5, "one row less than conv2d gives", [(at(0, 18), "H", 3)]),
    (5, "oblong pooling window", [(at(2, 4), "B", 1)]),
    (5, "stride that is not the window", [(at(2, 6), "B", 1)]),
    (5, "stride across that is not the window", [(at(2, 7), "B", 1)]),
    (5, "padded pooling", [(at(2, 8), "B", 1)]),
    (5, "pooling padded left", [(at(2, 9), "B", 1)]),
    (5, "one row less than the pool gives", [(at(2, 18), "H", 1)]),
    (6, "misaligned", [(at(0, 28), "I", 214)]),
    (6, "in the records", [(at(0, 28), "I", 208)]),
    (6, "beyond the end", [(at(4, 28), "I", 0x1000)]),
    (6, "sum that wraps", [(at(4, 28), "I", 0xFFFFFFFC)]),
    (6, "weight offset of a relu", [(at(1, 28), "I", 212)]),
    (6, "parameters", [(at(0, 32), "I", 268)]),
    *((7, f"record, offset {offset}", [(at(2, offset), "B", 1)]) for offset in (25, 26, 27)),
    *((7, f"rounding of layer {index}", [(at(index, 24), "B", 1)]) for index in (0, 2)),
    (7, "block of a relu", [(at(1, 2), "B", 1)]),
    (7, "no block", [(at(0, 2), "B", 0)]),
    (7, "block 5", [(at(3, 2), "B", 5)]),
    (7, "exponent of a relu", [(at(1, 3), "b", 1)]),
    (7, "a byte after the weights", [(-1, "B", 1)]),
    (8, "classes", [(22, "H", 4)]),
    (9, "exponent -33", [(at(0, 3), "b", -33)]),
    (9, "exponent 9", [(at(4, 3), "b", 9)]),
    (9, "scale of the input", [(24, "f", 2.0**-6)]),
    (9, "zero point of the input", [(28, "b", 1)]),
    *((7, f"header, offset {offset}", [(offset, "B", 1)]) for offset in (29, 30, 31)),
    (12, "a weight of -128", [(HEADER + 5 * RECORD + 3, "b", -128)]),
]


@pytest.mark.parametrize(("check", "what", "changes"), REFUSALS, ids=[f"{n}: {what}" for n, what, _ in REFUSALS])
def test_refusals(check: int, what: str, changes: list[tuple[int, str, object]]) -> None:
    blob = encode(tiny())
    assert patched(blob) == blob
    with pytest.raises(NetworkFileError) as refused:
        decode(patched(blob, *changes))
    assert refused.value.check == check, refused.value
    assert ("header" if what.startswith("header") else "offset") in str(refused.value)


def test_every_check_of_the_document_has_a_case() -> None:
    assert {check for check, _, _ in REFUSALS} == set(range(1, 13)) - {10, 11}  # both are below; 13 is of tflite8


def test_a_last_layer_that_is_not_fully_connected_is_check_8() -> None:
    layers = (*tiny().layers, bfp8_node("relu2", Op.RELU, (1, 1, 3), (1, 1, 3)))
    with pytest.raises(NetworkFileError) as refused:
        decode(encode(chain(layers, 3)))
    assert refused.value.check == 8


@pytest.mark.parametrize(("shape", "accepted"), [((8, 11, 1513), True), ((5, 31, 859), False)])
def test_sums_up_to_the_last_one_that_fits_int32(shape: tuple[int, int, int], accepted: bool) -> None:
    inputs = shape[0] * shape[1] * shape[2]
    assert (inputs * 127 * 127 < 2**31) == accepted
    weights = np.zeros((2, inputs), np.int8)
    blob = encode(chain((bfp8_node("fc1", Op.FULLY_CONNECTED, shape, (1, 1, 2), weights=weights),), 2))
    if accepted:
        assert decode(blob).layers[0].in_shape == shape
    else:
        with pytest.raises(NetworkFileError) as refused:
            decode(blob)
        assert refused.value.check == 11


@pytest.mark.parametrize(("count", "classes"), [(0, 3), (65, 3), (5, 1), (5, 257)])
def test_counts_out_of_range(count: int, classes: int) -> None:
    blob = encode(tiny()) + bytes(RECORD * 65)
    with pytest.raises(NetworkFileError, match="the header") as refused:
        decode(patched(blob, (6, "H", count), (8, "I", len(blob)), (22, "H", classes)))
    assert (refused.value.layer, refused.value.check) == (255, 0)


NO_CHANNELS = bfp8_node(
    "conv1", Op.CONV2D, (4, 4, 1), (4, 4, 0), (3, 3), (1, 1), (1, 1), np.zeros((0, 3, 3, 1), np.int8)
)
NO_ROWS = bfp8_node("pool1", Op.MAX_POOL, (2, 5, 3), (0, 1, 3), (3, 3), (3, 3))  # a window larger than its image


@pytest.mark.parametrize("node", [NO_CHANNELS, NO_ROWS], ids=["channels", "rows"])
def test_a_dimension_of_0(node: Node) -> None:
    fc = bfp8_node("fc1", Op.FULLY_CONNECTED, node.out_shape, (1, 1, 2), weights=np.zeros((2, 0), np.int8))
    with pytest.raises(NetworkFileError) as refused:
        decode(encode(chain((node, fc), 2)))
    assert (refused.value.layer, refused.value.check) == (0, 10), refused.value


def test_a_chain_has_at_most_32_layers() -> None:
    pools = [bfp8_node("", Op.MAX_POOL, (3, 3, 1), (3, 3, 1), (1, 1), (1, 1))] * 32
    fc = bfp8_node("", Op.FULLY_CONNECTED, (3, 3, 1), (1, 1, 2), weights=np.zeros((2, 9), np.int8))
    assert len(decode(encode(chain((*pools[:31], fc), 2))).layers) == 32
    with pytest.raises(NetworkFileError) as refused:
        decode(encode(chain((*pools, fc), 2)))
    assert (refused.value.layer, refused.value.check) == (32, 5)


def test_a_file_may_have_256_classes() -> None:
    """A label has one byte on the board, and the integer loss sums at most 256 powers."""
    fc = bfp8_node("fc1", Op.FULLY_CONNECTED, (1, 1, 2), (1, 1, 256), weights=np.ones((256, 2), np.int8))
    assert decode(encode(chain((fc,), 256))).classes == 256


@pytest.mark.parametrize("layers", [(Op.RELU,), (Op.MAX_POOL, Op.RELU, Op.RELU)])
def test_a_relu_needs_a_buffer_of_a_layer_before_it(layers: tuple[Op, ...]) -> None:
    shape = (2, 2, 1)
    nodes = [bfp8_node("", op, shape, shape, *(((1, 1), (1, 1)) if op is Op.MAX_POOL else ())) for op in layers]
    fc = bfp8_node("", Op.FULLY_CONNECTED, shape, (1, 1, 2), weights=np.zeros((2, 4), np.int8))
    with pytest.raises(NetworkFileError, match="no buffer") as refused:
        decode(encode(chain((*nodes, fc), 2)))
    assert (refused.value.layer, refused.value.check) == (len(layers) - 1, 5)


def test_truncated_at_every_length() -> None:
    blob = encode(tiny())
    for length in range(len(blob)):
        with pytest.raises(NetworkFileError):
            decode(blob[:length])


def test_every_flipped_bit_is_seen() -> None:
    blob = encode(tiny())
    for bit in range(8 * len(blob)):
        flipped = bytearray(blob)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(NetworkFileError):
            decode(bytes(flipped))


def test_a_weight_of_minus_128_is_refused() -> None:
    network = lenet5(1)
    weights = [layer.weights.copy() for layer in network.trained]
    weights[2][5, 7] = -128
    with pytest.raises(NetworkFileError, match="-128") as refused:
        decode(encode(network.with_weights(weights)))
    assert refused.value.check == 12
