"""Noise, updates and the float loss in C against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hil.training.methods.prng import perturbation, signed_pool
from hil.training.networks import build
from hil.training.reference.arith import INT32_MAX, INT32_MIN
from hil.training.reference.formats.bfp8.arithmetic import NumpyArithmetic
from hil.training.reference.formats.bfp8.loss import cross_entropy
from hil.training.reference.native.bfp8.library import Bfp8Library
from hil.training.reference.native.functions import array

from .drawn_batches import values

SEEDS = st.integers(0, 2**32 - 1)
NUMPY = NumpyArithmetic(build("lenet5", 1))


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS,
    step=st.integers(0, 10**6),
    p_zero=st.integers(0, 255),
    r_max=st.integers(1, 127),
    size=st.integers(1, 500),
)
@example(seed=1, step=0, p_zero=84, r_max=7, size=94_080)
def test_noise(native: Bfp8Library, seed: int, step: int, p_zero: int, r_max: int, size: int) -> None:
    pool = signed_pool(seed, step, p_zero, r_max)
    np.testing.assert_array_equal(native.signed_pool(seed, step, p_zero, r_max), pool)
    for tensor in (0, 3):
        got = native.perturbation(pool, seed, step, tensor, (size,))
        np.testing.assert_array_equal(got, perturbation(pool, seed, step, tensor, size))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), size=st.integers(1, 400), r_max=st.integers(1, 127), limit=st.integers(0, 127), seed=SEEDS)
def test_perturbed_and_updated_weights(
    native: Bfp8Library, data: st.DataObject, size: int, r_max: int, limit: int, seed: int
) -> None:
    weights = data.draw(values((size,)))
    z = np.random.default_rng(seed).integers(-r_max, r_max + 1, size).astype(np.int16)
    for factor in (1, -2):
        np.testing.assert_array_equal(native.moved(weights, z, factor, limit), NUMPY.moved(weights, z, factor, limit))
    for sign in (-1, 0, 1):
        for shift in range(-6, 7):
            got = native.zo_updated(weights, z, sign, shift, limit)
            np.testing.assert_array_equal(got, NUMPY.zo_updated(weights, z, sign, shift, limit))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), size=st.integers(1, 400), width=st.integers(0, 31), b_bp=st.integers(1, 7), seed=SEEDS)
def test_back_propagated_updates(
    native: Bfp8Library, data: st.DataObject, size: int, width: int, b_bp: int, seed: int
) -> None:
    weights, rng = data.draw(values((size,))), np.random.default_rng(seed)
    gradient = rng.integers(-(2**width), 2**width, size).astype(np.int64)
    gradient[0] = data.draw(st.sampled_from([INT32_MIN, INT32_MAX, 0, int(gradient[0])]))
    np.testing.assert_array_equal(native.bp_updated(weights, gradient, b_bp), NUMPY.bp_updated(weights, gradient, b_bp))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), batch=st.integers(1, 40), classes=st.integers(1, 12), seed=SEEDS)
def test_the_float_loss(native: Bfp8Library, data: st.DataObject, batch: int, classes: int, seed: int) -> None:
    logits, rng = data.draw(values((batch, classes))), np.random.default_rng(seed)
    exponents = rng.integers(-70, 70, batch) if data.draw(st.booleans()) else rng.integers(-8, 3, batch)
    labels = rng.integers(0, classes, batch).astype(np.uint8)
    with np.errstate(over="ignore"):
        expected = cross_entropy(logits, exponents, labels)
    assert native.cross_entropy(logits, exponents, labels).tobytes() == expected.tobytes()


def test_a_label_beyond_the_classes(native: Bfp8Library) -> None:
    with pytest.raises(IndexError, match="a label beyond the 2 classes"):
        native.cross_entropy(np.zeros((1, 2), np.int8), np.zeros(1, np.int64), np.array([2]))


def test_only_whole_arrays_of_the_right_type_are_passed() -> None:
    with pytest.raises(TypeError, match="an array of int8 in one piece is wanted"):
        array(np.int8).from_param(np.zeros(3, np.int16))
    with pytest.raises(TypeError, match="in one piece"):
        array(np.int8).from_param(np.zeros((3, 3), np.int8)[:, 1])
