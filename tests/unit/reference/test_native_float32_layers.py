"""Single layers of `float32` in C against NumPy's, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.training.graph.formats import POOLS, WEIGHTED, Op, Shape
from hil.training.reference.formats.float32 import backward, forward
from hil.training.reference.native.float32 import OPERATIONS
from hil.training.reference.native.float32.library import Float32Library

from .drawn_floats import layers, numbers, trained

SAMPLES = st.integers(1, 40)


def same_bits(one: np.ndarray, other: np.ndarray) -> None:
    assert one.dtype == other.dtype == np.float32
    np.testing.assert_array_equal(np.ascontiguousarray(one).view(np.int32), np.ascontiguousarray(other).view(np.int32))


def filled(native: Float32Library, x: np.ndarray) -> np.ndarray:
    """Return [H, W, C, B] with the lanes that fill up vectors, which hold numbers, too."""
    more = native.lanes(x.shape[3]) - x.shape[3]
    return np.ascontiguousarray(np.pad(x, [(0, 0)] * 3 + [(0, more)], constant_values=3.5))


def empty(native: Float32Library, shape: Shape, samples: int) -> np.ndarray:
    return np.full((*shape, native.lanes(samples)), np.nan, np.float32)


@pytest.mark.parametrize("op", OPERATIONS)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), samples=SAMPLES)
def test_outputs(native_float32: Float32Library, data: st.DataObject, op: Op, samples: int) -> None:
    layer = data.draw(layers(op))
    reads = [data.draw(numbers((*layer.in_shape, samples))) for _ in layer.reads]
    own = None if layer.own is None else (layer.own.weights, layer.own.bias)
    with np.errstate(over="ignore"):
        expected = forward.run(layer, reads, own)
    got = empty(native_float32, layer.out_shape, samples)
    native_float32.forward(layer, [filled(native_float32, x) for x in reads], own or (), got)
    same_bits(got[..., :samples], expected)


@pytest.mark.parametrize("op", [op for op in OPERATIONS if op is not Op.ADD])
@settings(max_examples=40, deadline=None)
@given(data=st.data(), samples=SAMPLES)
def test_errors_of_inputs(native_float32: Float32Library, data: st.DataObject, op: Op, samples: int) -> None:
    layer = data.draw(layers(op, handed_through=True))
    x, error = (data.draw(numbers((*shape, samples))) for shape in (layer.in_shape, layer.out_shape))
    own = None if layer.own is None else (layer.own.weights, layer.own.bias)
    (expected,) = backward.input_errors(layer, error, [x], own)
    own_weights = None if own is None else own[0]
    got = empty(native_float32, layer.in_shape, samples)
    native_float32.input_error(layer, filled(native_float32, error), filled(native_float32, x), own_weights, got)
    same_bits(got[..., :samples], expected)


@pytest.mark.parametrize("op", WEIGHTED)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), samples=SAMPLES)
def test_gradients(native_float32: Float32Library, data: st.DataObject, op: Op, samples: int) -> None:
    """They are added to what the sums hold."""
    layer = data.draw(layers(op))
    assert layer.own is not None
    x, error = (data.draw(numbers((*shape, samples))) for shape in (layer.in_shape, layer.out_shape))
    sums = data.draw(trained(layer.own.weights.shape)), data.draw(trained(layer.own.bias.shape))
    expected = sums[0].copy(), sums[1].copy()
    backward.add_gradients(layer, error, x, expected)
    native_float32.add_gradients(layer, filled(native_float32, error), filled(native_float32, x), samples, sums)
    for got, wanted in zip(sums, expected, strict=True):
        same_bits(got, wanted)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), samples=SAMPLES, op=st.sampled_from([op for op in OPERATIONS if op not in POOLS]))
def test_the_gate_and_two_errors_of_a_value(
    native_float32: Float32Library, data: st.DataObject, samples: int, op: Op
) -> None:
    """A value on its limit counts as clamped."""
    layer = data.draw(layers(op))
    out, error, other = (data.draw(numbers((*layer.out_shape, samples))) for _ in range(3))
    out = forward.clamp(out, layer.act_min, layer.act_max)
    its, whole = filled(native_float32, out), filled(native_float32, error)
    got = np.empty_like(whole)
    native_float32.gate(layer, whole, its, got)
    same_bits(got[..., :samples], backward.gated(layer, error, out))
    native_float32.join(whole, filled(native_float32, other), got)
    same_bits(got[..., :samples], backward.joined(error, other))
