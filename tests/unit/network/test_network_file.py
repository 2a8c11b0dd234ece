"""The network file: what is written comes back, and nothing else is ever read (docs/network.md)."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings

from hil.network.blob import NetworkError, blob_size, decode, encode, placed
from hil.network.graph import Layer, Network, Op
from hil.network.lenet5 import lenet5
from network.drawn import networks

RECORDS, RECORD = 32, 32


def tiny() -> Network:
    """A conv2d, a relu, a max_pool and two fully connected layers."""
    ones = np.ones
    return Network(
        (
            Layer("conv1", Op.CONV2D, (4, 5, 2), (4, 5, 3), (3, 3), 1, 1, ones((3, 3, 3, 2), np.int8), -9),
            Layer("relu1", Op.RELU, (4, 5, 3), (4, 5, 3)),
            Layer("pool1", Op.MAX_POOL, (4, 5, 3), (2, 2, 3), (2, 2), 2),
            Layer("fc1", Op.FULLY_CONNECTED, (2, 2, 3), (1, 1, 5), weights=ones((5, 12), np.int8), weight_exp=-32),
            Layer("fc2", Op.FULLY_CONNECTED, (1, 1, 5), (1, 1, 3), weights=ones((3, 5), np.int8), weight_exp=8),
        ),
        classes=3,
    )


def sealed(blob: bytes) -> bytes:
    """Put the right digest into a file, so that only the check under test can refuse it."""
    return blob[:12] + struct.pack("<I", xxhash.xxh32_intdigest(blob[16:])) + blob[16:]


def patched(blob: bytes, *changes: tuple[int, str, object]) -> bytes:
    raw = bytearray(blob)
    for offset, form, value in changes:
        struct.pack_into("<" + form, raw, offset, *(value if isinstance(value, tuple) else (value,)))
    return sealed(bytes(raw))


def in_layer(index: int, offset: int) -> int:
    return RECORDS + RECORD * index + offset


def same(one: Network, other: Network) -> None:
    assert (one.classes, one.input_exp) == (other.classes, other.input_exp)
    for a, b in zip(one.layers, other.layers, strict=True):
        facts, others = dict(vars(a)), dict(vars(b))
        weights, other_weights = facts.pop("weights"), others.pop("weights")
        assert facts == others
        if weights is None:
            assert other_weights is None
        else:
            assert other_weights.dtype == np.int8
            np.testing.assert_array_equal(weights, other_weights)


@settings(max_examples=60, deadline=None)
@given(network=networks(exponents=(-32, 8)))
def test_round_trip(network: Network) -> None:
    blob = encode(network)
    same(decode(blob), placed(network))
    assert encode(decode(blob)) == blob
    assert len(blob) == blob_size(network)
    assert len(blob) % 4 == 0


def test_the_layout_is_that_of_the_document() -> None:
    blob = encode(tiny())
    assert blob[:4] == b"HNET"
    assert struct.unpack_from("<HHI", blob, 4) == (1, 5, len(blob))
    assert struct.unpack_from("<HHHHb7s", blob, 16) == (4, 5, 2, 3, -7, bytes(7))
    conv = struct.unpack_from("<BBBBBbH3H3HIII", blob, in_layer(0, 0))
    assert conv == (1, 3, 3, 1, 1, -9, 0, 4, 5, 2, 4, 5, 3, RECORDS + 5 * RECORD, 54, 0)
    fc = struct.unpack_from("<BBBBBbH3H3HIII", blob, in_layer(4, 0))
    assert fc == (2, 0, 0, 0, 0, 8, 0, 1, 1, 5, 1, 1, 3, RECORDS + 5 * RECORD + 56 + 60, 15, 0)
    assert blob[-1] == 0  # 15 weights are padded to 16 bytes


def test_weights_lie_output_height_width_input() -> None:
    weights = np.arange(54, dtype=np.int8).reshape(3, 3, 3, 2)
    network = tiny().with_weights([weights, np.ones((5, 12)), np.ones((3, 5))])
    assert encode(network)[RECORDS + 5 * RECORD :][:54] == bytes(range(54))


REFUSALS = [
    (1, "op 5", [(in_layer(1, 0), "B", 5)]),
    (1, "op 0", [(in_layer(4, 0), "B", 0)]),
    (2, "input of the first layer", [(in_layer(0, 8), "H", 5), (in_layer(0, 14), "H", 5)]),
    (2, "input of a later layer", [(in_layer(3, 12), "H", 4), (in_layer(3, 24), "I", 80)]),
    (2, "input as large, of another shape", [(in_layer(3, 8), "3H", (1, 4, 3))]),
    (3, "output of conv2d", [(in_layer(0, 16), "H", 4)]),
    (3, "output of relu", [(in_layer(1, 14), "H", 3)]),
    (3, "output of max_pool", [(in_layer(2, 16), "H", 3)]),
    (3, "channels of max_pool", [(in_layer(2, 18), "H", 2)]),
    (3, "output of fully_connected", [(in_layer(3, 14), "3H", (5, 1, 1))]),
    (4, "kernel of 0", [(in_layer(0, 1), "B", 0)]),
    (4, "stride 2 in conv2d", [(in_layer(0, 3), "B", 2)]),
    (4, "padding as large as the kernel", [(in_layer(0, 4), "B", 3)]),
    (4, "oblong pooling window", [(in_layer(2, 1), "B", 1)]),
    (4, "stride that is not the window", [(in_layer(2, 3), "B", 1)]),
    (4, "padded pooling", [(in_layer(2, 4), "B", 1)]),
    (4, "pooling window of 0", [(in_layer(2, 1), "3B", (0, 0, 0))]),
    (4, "kernel of relu", [(in_layer(1, 1), "2B", (1, 1))]),
    (4, "kernel of fully_connected", [(in_layer(3, 1), "B", 1)]),
    (4, "stride of fully_connected", [(in_layer(3, 3), "B", 1)]),
    (5, "one weight too few", [(in_layer(0, 24), "I", 53)]),
    (5, "one weight too many", [(in_layer(4, 24), "I", 16)]),
    (5, "weights of a relu", [(in_layer(1, 24), "I", 1)]),
    (6, "misaligned", [(in_layer(0, 20), "I", 194)]),
    (6, "beyond the end", [(in_layer(4, 20), "I", 0x1000)]),
    (6, "three bytes beyond the end", [(in_layer(4, 20), "I", 312)]),  # 15 weights, 324 bytes
    (6, "sum that wraps", [(in_layer(4, 20), "I", 0xFFFFFFFC)]),
    (7, "end of the header", [(31, "B", 1)]),
    (7, "begin of the header's zeros", [(25, "B", 1)]),
    (7, "record, offset 6", [(in_layer(2, 6), "H", 256)]),
    (7, "record, offset 28", [(in_layer(3, 28), "I", 1)]),
    (6, "weight offset of a relu", [(in_layer(1, 20), "I", 192)]),
    (8, "classes", [(22, "H", 4)]),
    (9, "exponent -33", [(in_layer(0, 5), "b", -33)]),
    (9, "exponent 9", [(in_layer(4, 5), "b", 9)]),
    (10, "output of 0", [(in_layer(0, 18), "H", 0), (in_layer(0, 24), "I", 0)]),
    (10, "input of 0", [(16, "H", 0), (in_layer(0, 8), "H", 0)]),
]


@pytest.mark.parametrize(("check", "what", "changes"), REFUSALS, ids=[f"{n}: {what}" for n, what, _ in REFUSALS])
def test_refusals(check: int, what: str, changes: list[tuple[int, str, object]]) -> None:
    blob = encode(tiny())
    assert patched(blob) == blob
    with pytest.raises(NetworkError) as refused:
        decode(patched(blob, *changes))
    assert refused.value.check == check
    assert "offset" in str(refused.value) or check == 0


def test_every_check_of_the_document_has_a_case() -> None:
    assert {check for check, _, _ in REFUSALS} == set(range(1, 12)) - {11}  # 11 is below


def test_a_last_layer_that_is_not_fully_connected_is_check_8() -> None:
    layers = (*tiny().layers, Layer("relu2", Op.RELU, (1, 1, 3), (1, 1, 3)))
    with pytest.raises(NetworkError) as refused:
        decode(encode(Network(layers, 3)))
    assert refused.value.check == 8


@pytest.mark.parametrize(("shape", "accepted"), [((8, 11, 1513), True), ((5, 31, 859), False)])
def test_sums_up_to_the_last_one_that_fits_int32(shape: tuple[int, int, int], accepted: bool) -> None:
    inputs = shape[0] * shape[1] * shape[2]
    assert (inputs * 127 * 127 < 2**31) == accepted
    weights = np.zeros((2, inputs), np.int8)
    blob = encode(Network((Layer("fc1", Op.FULLY_CONNECTED, shape, (1, 1, 2), weights=weights),), 2))
    if accepted:
        assert decode(blob).layers[0].in_shape == shape
    else:
        with pytest.raises(NetworkError) as refused:
            decode(blob)
        assert refused.value.check == 11


@pytest.mark.parametrize(("count", "classes"), [(0, 3), (33, 3), (5, 1), (5, 257)])
def test_counts_out_of_range(count: int, classes: int) -> None:
    blob = encode(tiny()) + bytes(RECORD * 33)
    with pytest.raises(NetworkError):
        decode(patched(blob, (6, "H", count), (8, "I", len(blob)), (22, "H", classes)))


def test_truncated_at_every_length() -> None:
    blob = encode(tiny())
    for length in range(len(blob)):
        with pytest.raises(NetworkError):
            decode(blob[:length])


def test_every_flipped_bit_is_seen() -> None:
    blob = encode(tiny())
    for bit in range(8 * len(blob)):
        flipped = bytearray(blob)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(NetworkError):
            decode(bytes(flipped))


def test_a_weight_of_minus_128_is_refused() -> None:
    network = lenet5(1)
    weights = [layer.weights.copy() for layer in network.trained]
    weights[2][5, 7] = -128
    with pytest.raises(NetworkError, match="-128") as refused:
        decode(encode(network.with_weights(weights)))
    assert refused.value.check == 12
