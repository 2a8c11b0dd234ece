"""Tables and means in the network file: where they lie, and what is refused of them (docs/network.md)."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from hil.training.graph.file import NetworkFileError, decode, encode
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import MeanFactor, Table, Tflite8Node

from .files import at, parameters_at, patched, same, weights_at
from .test_file_tflite8 import own

TABLE, MEAN, FC = range(3)


def tiny() -> Graph:
    """A table, the mean of its output, and a fully connected layer."""
    table = np.arange(-128, 128).astype(np.int8)[::-1].copy()
    layers = (
        Tflite8Node("table1", Op.TABLE, (0,), (4, 5, 3), (4, 5, 3), scale=0.5, zero=-3, factors=Table.holding(table)),
        Tflite8Node(
            "gap1", Op.MEAN, (1,), (4, 5, 3), (1, 1, 3), act_min=-100, act_max=90, scale=0.75, zero=9,
            factors=MeanFactor(2**29, -31), rounding="single",
        ),
        Tflite8Node("fc1", Op.FULLY_CONNECTED, (2,), (1, 1, 3), (1, 1, 300), block=1, own=own(300, 3, channels=300)),
    )  # fmt: skip
    return Graph("tiny", layers, (4, 5, 3), 300)


def test_the_layout_is_that_of_the_document() -> None:
    """Also of 300 classes."""
    graph = tiny()
    blob = encode(graph)
    same(decode(blob, "tiny"), graph)
    assert (weights_at(blob, TABLE), weights_at(blob, MEAN)) == (0, 0)
    assert struct.unpack_from("<fbbbB256b", blob, parameters_at(blob, TABLE)) == (
        0.5,
        -3,
        -128,
        127,
        0,
        *range(127, -129, -1),
    )
    assert parameters_at(blob, MEAN) == parameters_at(blob, TABLE) + 264
    assert struct.unpack_from("<fbbbBib3s", blob, parameters_at(blob, MEAN)) == (
        0.75, 9, -100, 90, 0, 2**29, -31, bytes(3),
    )  # fmt: skip
    assert weights_at(blob, FC) == parameters_at(blob, MEAN) + 16
    assert [blob[at(index, 24)] for index in range(3)] == [0, 1, 0]


BLOB = encode(tiny())
TABLE_DATA, MEAN_DATA = parameters_at(BLOB, TABLE), parameters_at(BLOB, MEAN)


@pytest.mark.parametrize(
    ("layer", "check", "offset", "form", "value"),
    [
        (TABLE, 2, at(TABLE, 11), "B", 1),
        (TABLE, 3, at(TABLE, 18), "H", 3),
        (TABLE, 3, at(TABLE, 22), "H", 2),
        (MEAN, 3, at(MEAN, 20), "H", 5),
        (MEAN, 3, at(MEAN, 22), "H", 2),
        *((layer, 4, at(layer, offset), "B", 1) for layer in (TABLE, MEAN) for offset in range(4, 10)),

        *((layer, 6, at(layer, 28), "I", TABLE_DATA) for layer in (TABLE, MEAN)),
        *((layer, 7, at(layer, 2), "B", 1) for layer in (TABLE, MEAN)),
        *((layer, 7, at(layer, 24), "B", 2) for layer in (TABLE, MEAN)),
        (TABLE, 7, TABLE_DATA + 7, "B", 1),
        *((MEAN, 7, MEAN_DATA + offset, "B", 1) for offset in (7, 13, 14, 15)),
        (TABLE, 9, TABLE_DATA, "f", 0.0),
        (MEAN, 9, MEAN_DATA, "f", 2.0**41),
        (MEAN, 11, MEAN_DATA + 8, "i", 2**29 - 1),
        (MEAN, 11, MEAN_DATA + 8, "i", -(2**31)),
        (MEAN, 11, MEAN_DATA + 12, "b", -32),
        (MEAN, 11, MEAN_DATA + 12, "b", 31),
        (TABLE, 13, TABLE_DATA + 5, "b", -127),
        (TABLE, 13, TABLE_DATA + 6, "b", 126),
        (MEAN, 13, MEAN_DATA + 5, "bb", (1, 0)),
    ],
)  # fmt: skip
def test_every_refusal_has_its_number(layer: int, check: int, offset: int, form: str, value: object) -> None:
    with pytest.raises(NetworkFileError, match=f"layer {layer} of the network file") as caught:
        decode(patched(BLOB, (offset, form, value)))
    assert (caught.value.layer, caught.value.check) == (layer, check), caught.value


@pytest.mark.parametrize("op", [Op.TABLE, Op.MEAN])
@pytest.mark.parametrize("format", [3, 4, 5])
def test_no_other_format_has_them(op: Op, format: int) -> None:
    index = TABLE if op is Op.TABLE else MEAN
    with pytest.raises(NetworkFileError, match=f"has no {op.name.lower()}") as caught:
        decode(patched(BLOB, (at(index, 1), "B", format)))
    assert (caught.value.layer, caught.value.check) == (index, 5)


@pytest.mark.parametrize(("height", "fits"), [(256, True), (257, False)])
def test_the_positions_of_a_mean_are_limited(height: int, fits: bool) -> None:
    """2^16: the image itself may have more, since no layer has made it."""
    shape = (height, 256, 1)
    mean = Tflite8Node("gap1", Op.MEAN, (0,), shape, (1, 1, 1), factors=MeanFactor(2**31 - 1, 30))
    fc = Tflite8Node("fc1", Op.FULLY_CONNECTED, (1,), (1, 1, 1), (1, 1, 2), block=1, own=own(2, 1, channels=2))
    blob = encode(Graph("wide", (mean, fc), shape, 2))
    if fits:
        assert decode(blob)
        return
    with pytest.raises(NetworkFileError, match="65,792 products or positions") as caught:
        decode(blob)
    assert (caught.value.layer, caught.value.check) == (0, 11)
