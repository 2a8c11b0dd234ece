"""Damaged models that can still be read: imported as a network that a board would take, or refused by one sentence."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import RigError
from hil.training.graph.file import decode, encode
from hil.training.tflite.importing import network_of
from hil.training.tflite.read import parse

from .made import Made, small


def of_all_kinds() -> Made:
    """Return a model with the operators that `small` does not have."""
    made = Made()
    made.inputs.append(made.value((6, 5, 2), 0.05, 4, "FLOAT32"))
    x = made.pad(made.by_element("QUANTIZE", made.inputs[0], 0.05, 4), (1, 0), (0, 1))
    x = made.by_element("HARD_SWISH", made.convolution(x, 4, same=False), 0.02, -100)
    x = made.by_element("QUANTIZE", made.pool(x, "MAX"), 0.1, 3)
    x = made.by_element("RELU6", made.by_element("LOGISTIC", x, 1 / 256, -128), 0.01, -128)
    x = made.fully_connected(made.mean(x), 3, per_channel=True)
    made.by_element("DEQUANTIZE", made.softmax(x), 1 / 256, -128, "FLOAT32")
    return made


FILES = [made.bytes() for made in (small(), of_all_kinds())]


def check(data: bytes) -> None:
    try:
        graph = network_of(parse(data, "x.tflite"), "x.tflite").graph
    except RigError as error:
        assert "\n" not in str(error) and str(error).endswith(".")
        return
    decode(encode(graph))


@pytest.mark.parametrize("data", FILES)
def test_the_files_themselves_are_imported(data):
    assert network_of(parse(data, "x"), "x").graph.layers


@settings(max_examples=400, deadline=None)
@given(st.sampled_from((0, 1)), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=3))
def test_changed_bytes(which, changes):
    found = bytearray(FILES[which])
    for place, value in changes:
        found[int(place * (len(found) - 1))] = value
    check(bytes(found))


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from((0, 1)),
    st.floats(0, 1),
    st.sampled_from((0, 1, 2, 3, 65536, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x00000001, 0x80000000, 0xFFFFFFFF)),
)
def test_a_changed_word(which, place, value):
    """Words are sizes, indexes, offsets, scales: 0x7F800000 is infinity, 0x7FC00000 not a number, 1 the least scale."""
    data = FILES[which]
    at = 4 * int(place * (len(data) // 4 - 1))
    check(data[:at] + struct.pack("<I", value) + data[at + 4 :])


@pytest.mark.parametrize("number", [0.0, -1.0, 1e-45, 1e-38, 1e38, np.inf, np.nan])
def test_scales_that_no_converter_gives(number):
    for index in range(len(of_all_kinds().tensors)):
        made = of_all_kinds()
        if made.tensors[index].quantization is not None:
            made.tensors[index].quantization.scale = np.full_like(made.tensors[index].quantization.scale, number)
            check(made.bytes())


@pytest.mark.parametrize(
    "shape", [(), (0,), (1,), (1, 0), (1, 1, 1, 1, 1), (2, 3), (1, 65536, 65536, 65536), (1, 2, 3)]
)
def test_shapes_that_no_converter_gives(shape):
    for index in range(len(of_all_kinds().tensors)):
        made = of_all_kinds()
        made.tensors[index].shape = np.array(shape, np.int32)
        check(made.bytes())
