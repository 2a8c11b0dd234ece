"""Reading .tflite: what a made model says, and hostile files, which end in one sentence, in bounded time and memory."""

from __future__ import annotations

import resource
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import RigError
from hil.training.tflite.read import LARGEST, MOST_AXES, MOST_TENSORS, parse, read_model

from .made import Made, small

FILE = small().bytes()
CPU_SECONDS, ADDRESS_SPACE = 60, 3 << 30


def test_a_made_model_is_read_as_it_was_made():
    made = small()
    model = parse(made.bytes(), "made.tflite")
    assert [one.name for one in model.operators] == [
        "CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D", "ADD", "AVERAGE_POOL_2D", "RESHAPE", "FULLY_CONNECTED", "SOFTMAX",
    ]  # fmt: skip
    for found, one in zip(model.tensors, made.tensors, strict=True):
        assert found.shape == tuple(one.shape)
        assert (found.data is None) == (one.buffer == 0)
        if one.buffer:
            assert found.data.tobytes() == made.buffers[one.buffer].data.tobytes()
        if one.quantization is not None:
            assert np.array_equal(found.scale, one.quantization.scale)
            assert np.array_equal(found.zero, one.quantization.zeroPoint)
            assert found.axis == one.quantization.quantizedDimension
    first = model.operators[0]
    assert (first.options["StrideH"], first.options["StrideW"], first.options["Padding"]) == (2, 1, 0)
    assert (model.inputs, model.outputs) == ((0,), (17,))
    assert str(first) == "CONV_2D (node 0)"


def test_an_axis_that_is_left_open_is_told_from_the_batch():
    made = Made()
    made.inputs = [made.tensor((1, 4, 1, 1), scale=(0.1,), zero=(0,), signature=(-1, -1, 1, 1)), made.input((4, 1, 1))]
    made.run("ADD", made.inputs, (made.value((4, 1, 1)),), fusedActivationFunction=0)
    assert [tensor.fixed for tensor in parse(made.bytes(), "x").tensors] == [False, True, True]


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "no .tflite"),
        (b"HNET" * 20, "no .tflite"),
        (FILE[:40], "cannot be read"),
        (b"\xff" * 4 + FILE[4:], "cannot be read"),
    ],
)
def test_what_is_no_tflite_is_refused(data, word):
    with pytest.raises(RigError, match=word):
        parse(data, "x.tflite")


def test_a_file_that_is_missing_or_too_large_is_refused(tmp_path):
    with pytest.raises(RigError, match="No such file"):
        read_model(tmp_path / "none.tflite")
    path = tmp_path / "large.tflite"
    with path.open("wb") as file:
        file.write(FILE)
        file.truncate(LARGEST + 1)
    with pytest.raises(RigError, match="the largest size that is read"):
        read_model(path)


def check(data: bytes) -> bool:
    """Return whether a file is read; what is not read is refused by one sentence, what is read lies inside the file."""
    try:
        model = parse(data, "x.tflite")
    except RigError as error:
        assert "\n" not in str(error)
        return False
    assert len(model.tensors) <= MOST_TENSORS
    for tensor in model.tensors:
        assert len(tensor.shape) <= MOST_AXES
        assert tensor.data is None or tensor.data.size <= len(data)
    for one in model.operators:
        assert all(-1 <= index < len(model.tensors) for index in (*one.inputs, *one.outputs))
    return True


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(FILE) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_changed_bytes_are_read_or_refused(changes):
    data = bytearray(FILE)
    for place, value in changes:
        data[place] = value
    check(bytes(data))


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, len(FILE) // 4 - 1), st.sampled_from((0, 1, 0x7FFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF))
)
def test_a_hostile_word_is_read_or_refused(word, value):
    check(FILE[: 4 * word] + struct.pack("<I", value) + FILE[4 * word + 4 :])


@settings(max_examples=100, deadline=None)
@given(st.integers(8, len(FILE) - 1), st.binary(max_size=64))
def test_a_cut_file_is_read_or_refused(length, end):
    check(FILE[:length] + end)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_behind_the_identifier_are_read_or_refused(rest):
    check(struct.pack("<I", 8) + b"TFL3" + rest)


AROUND = 400  # bytes before and behind a table that hold what it names


def hostile() -> list[bytes]:
    """Return files that claim far more than they hold: counts of 2^31 - 1, and one tensor named many times."""
    words = [FILE[:place] + b"\xff\xff\xff\x7f" + FILE[place + 4 :] for place in range(0, len(FILE), 8)]
    return [*words, *(aliased(tensors, axes) for tensors in (MOST_TENSORS, 2_000_000) for axes in (4, 4_000_000))]


def aliased(tensors: int, axes: int) -> bytes:
    """Return a file whose vector of tensors names one tensor again and again, which has so many axes."""
    model = bytearray(FILE + bytes(-len(FILE) % 4))
    graph = _target(model, _target(model, _field(model, struct.unpack_from("<I", model)[0], 8)) + 4)
    vector = _field(model, graph, 4)
    first = _target(model, _target(model, vector) + 4)
    room = len(model)
    struct.pack_into("<I", model, vector, room - vector)
    copy = room + 4 + 4 * tensors + AROUND  # offsets lead forwards: the tensor again, behind the vector
    entries = np.arange(tensors, dtype=np.uint32)
    model += struct.pack("<I", tensors) + (copy - room - 4 - 4 * entries).astype("<u4").tobytes()
    model += FILE[first - AROUND : first + AROUND]
    shape = _field(model, copy, 4)
    struct.pack_into("<I", model, shape, len(model) - shape)
    return bytes(model) + struct.pack("<I", axes) + np.ones(axes, "<i4").tobytes()


def test_a_tensor_that_is_named_again_and_again_is_read_once_each_time():
    """What `aliased` makes is the file that it says."""
    for tensors, axes, word in ((2_000_000, 4, "2,000,000 tensors"), (MOST_TENSORS, 4_000_000, "4,000,000 axes")):
        with pytest.raises(RigError, match=word):
            parse(aliased(tensors, axes), "x")
    assert len(parse(aliased(30, 4), "x").tensors) == 30


def _field(data: bytearray, table: int, slot: int) -> int:
    vtable = table - struct.unpack_from("<i", data, table)[0]
    return table + struct.unpack_from("<H", data, vtable + slot)[0]


def _target(data: bytearray, place: int) -> int:
    return place + struct.unpack_from("<I", data, place)[0]


def test_hostile_counts_take_bounded_time_and_memory():
    """A process of its own reads them with little processor time and little memory to take."""
    here = Path(__file__).parents[1]
    code = (
        f"import sys; sys.path.insert(0, {str(here)!r})\nfrom tflite_models.test_read import check, hostile\n"
        "for one in hostile(): check(one)\nprint('read')"
    )

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))

    done = subprocess.run([sys.executable, "-c", code], preexec_fn=limited, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "read"), done.stderr[-2000:]
