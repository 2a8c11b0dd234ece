"""Input, loss, normal numbers, moves and updates of `float32` in C against NumPy's, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hil.training.methods.prng import mix32
from hil.training.networks import build
from hil.training.reference.floats import F
from hil.training.reference.formats.float32 import loss
from hil.training.reference.formats.float32.arithmetic import Float32Arithmetic
from hil.training.reference.formats.float32.forward import PIXEL_OFFSET, input_value
from hil.training.reference.formats.float32.normal import normal_of, normals
from hil.training.reference.native.float32.arithmetic import NativeFloat32
from hil.training.reference.native.float32.library import Float32Library

from .drawn_floats import numbers, trained
from .test_native_float32_layers import empty, same_bits

SEEDS = st.integers(0, 2**32 - 1)
NUMPY = Float32Arithmetic(build("lenet5-float32", 1))


def word_before(h: int) -> int:
    """Return what `mix32` scrambles to h."""
    h ^= h >> 16
    h = h * pow(0xC2B2AE35, -1, 2**32) & 0xFFFFFFFF
    h ^= h >> 13 ^ h >> 26
    h = h * pow(0x85EBCA6B, -1, 2**32) & 0xFFFFFFFF
    return h ^ h >> 16


@settings(max_examples=40, deadline=None)
@given(
    samples=st.integers(1, 40),
    shape=st.tuples(*[st.integers(1, 9)] * 3),
    scale=st.sampled_from([2.0**-40, NUMPY.graph.scale, 2.0**-7, 2.0**32]),
    zero=st.integers(-128, 127),
    seed=SEEDS,
)
def test_input(
    native_float32: Float32Library, samples: int, shape: tuple[int, int, int], scale: float, zero: int, seed: int
) -> None:
    images = np.random.default_rng(seed).integers(0, 256, (samples, *shape)).astype(np.uint8)
    expected = input_value(replace(NUMPY.graph, in_shape=shape, scale=scale, zero=zero), images)
    got = empty(native_float32, shape, samples)
    native_float32.input_value(images, scale, PIXEL_OFFSET + zero, got)
    same_bits(got[..., :samples], expected)
    assert not got[..., samples:].any()


@settings(max_examples=80, deadline=None)
@given(data=st.data(), classes=st.integers(2, 12), samples=st.integers(1, 40), seed=SEEDS)
def test_losses(native_float32: Float32Library, data: st.DataObject, classes: int, samples: int, seed: int) -> None:
    """Also with the largest logits, and equal ones."""
    lanes = native_float32.lanes(samples)
    logits = data.draw(numbers((1, 1, classes, lanes)))
    if data.draw(st.booleans()):  # within the range of exp32
        logits *= F(64) / max(np.abs(logits).max(), F(1))
    labels = np.random.default_rng(seed).integers(0, classes, samples).astype(np.uint8)
    error = empty(native_float32, (1, 1, classes), samples)
    losses = native_float32.losses(logits, labels, error)
    own = logits[0, 0, :, :samples]
    same_bits(losses, loss.losses(own, labels.astype(np.intp)))
    same_bits(error[0, 0, :, :samples], loss.logits_error(own, labels.astype(np.intp)))
    assert not error[..., samples:].any()


def test_a_label_beyond_the_classes(native_float32: Float32Library) -> None:
    with pytest.raises(IndexError, match="a label beyond the 2 classes"):
        logits = np.zeros((1, 1, 2, native_float32.lanes(1)), F)
        native_float32.losses(logits, np.array([2]), logits)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, step=st.integers(0, 10**6), tensor=st.integers(0, 100), size=st.integers(1, 700))
@example(seed=1, step=0, tensor=4, size=94_080)
def test_normal_numbers(native_float32: Float32Library, seed: int, step: int, tensor: int, size: int) -> None:
    got = NativeFloat32(NUMPY.graph, native_float32).normals(seed, step, tensor, size)
    same_bits(got, normals(seed, step, tensor, size).astype(F))


@settings(max_examples=100, deadline=None)
@given(h=st.one_of(SEEDS, st.integers(0, 31).flatmap(lambda bits: st.integers(0, 2 ** (bits + 1) - 1))))
@example(h=0)
@example(h=1)
@example(h=2**31)
@example(h=2**32 - 1)
def test_the_normal_number_of_a_word(native_float32: Float32Library, h: int) -> None:
    """Of small words, too, which are rare."""
    start = word_before(h)
    assert mix32(start) == h
    same_bits(native_float32.normals(start, 1), normal_of(np.array([h], np.uint32)).astype(F))


@settings(max_examples=80, deadline=None)
@given(
    data=st.data(),
    size=st.integers(1, 300),
    c=st.sampled_from([2.0**-24, 1e-3, -2e-3, 1.0, -(2.0**20), 0.0]),
    seed=SEEDS,
)
def test_moved_weights(native_float32: Float32Library, data: st.DataObject, size: int, c: float, seed: int) -> None:
    weights = data.draw(trained((size,)))
    z = normals(seed, 0, 0, size)
    same_bits(native_float32.moved(weights, z.astype(F), F(c)), NUMPY.moved(weights, z, F(c)))


@settings(max_examples=80, deadline=None)
@given(data=st.data(), size=st.integers(1, 300), u=st.sampled_from([2.0**-40, 1e-3, 0.05, 16.0]))
def test_lowered_weights(native_float32: Float32Library, data: st.DataObject, size: int, u: float) -> None:
    """Changes of more than 2^20 are clamped."""
    weights, gradient = data.draw(trained((size,))), data.draw(trained((size,)))
    same_bits(native_float32.lowered(weights, F(u), gradient), NUMPY.lowered(weights, F(u), gradient))
