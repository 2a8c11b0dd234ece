"""Single layers in C against NumPy's: shapes that fill no vector, and values at their limits."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.training.graph.chain import bfp8_node
from hil.training.graph.formats import Op
from hil.training.graph.node import Node
from hil.training.reference.formats.bfp8 import layers as plain
from hil.training.reference.native.bfp8.library import Bfp8Library

from .drawn_batches import groups, last, values


@st.composite
def convolutions(draw: st.DrawFn) -> Node:
    kh, kw = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    pad = draw(st.integers(0, min(kh, kw) - 1))
    height, width = (draw(st.integers(max(1, k - 2 * pad), 19)) for k in (kh, kw))
    channels, outputs = draw(st.integers(1, 20)), draw(st.integers(1, 37))
    weights = draw(values((outputs, kh, kw, channels)))
    out = height + 2 * pad - kh + 1, width + 2 * pad - kw + 1, outputs
    return bfp8_node("conv1", Op.CONV2D, (height, width, channels), out, (kh, kw), (1, 1), (pad, pad), weights, -7)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), layer=convolutions())
def test_convolutions(native: Bfp8Library, data: st.DataObject, layer: Node) -> None:
    """With what follows them fused and alone."""
    x, exponents = data.draw(groups(layer.in_shape))
    relu, k = data.draw(st.booleans()), data.draw(st.integers(1, min(3, *layer.out_shape[:2])))
    got, got_exponents = native.convolution((x, exponents), layer.weights, layer.weight_exp, layer.pad, relu, k)
    expected, expected_exponents = plain.forward(layer, layer.weights, last(x), exponents, together=False)
    if relu:
        expected = np.maximum(expected, 0)
    height, width, channels = layer.out_shape
    pool = bfp8_node("pool1", Op.MAX_POOL, layer.out_shape, (height // k, width // k, channels), (k, k), (k, k))
    pooled, _ = plain.forward(pool, None, expected, expected_exponents, together=False)
    np.testing.assert_array_equal(last(got), pooled)
    np.testing.assert_array_equal(got_exponents, expected_exponents)
    np.testing.assert_array_equal(last(native.pooled(np.ascontiguousarray(np.moveaxis(expected, -1, 0)), k)), pooled)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), inputs=st.integers(1, 300), outputs=st.integers(1, 70))
def test_fully_connected(native: Bfp8Library, data: st.DataObject, inputs: int, outputs: int) -> None:
    weights, relu = data.draw(values((outputs, inputs))), data.draw(st.booleans())
    x, exponents = data.draw(groups((1, 1, inputs)))
    layer = bfp8_node("fc1", Op.FULLY_CONNECTED, (1, 1, inputs), (1, 1, outputs), weights=weights, weight_exp=3)
    got, got_exponents = native.dense((x, exponents), weights, 3, relu)
    expected, expected_exponents = plain.forward(layer, weights, last(x), exponents, together=False)
    np.testing.assert_array_equal(last(got), np.maximum(expected, 0) if relu else expected)
    np.testing.assert_array_equal(got_exponents, expected_exponents)
