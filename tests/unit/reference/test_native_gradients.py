"""Gradients and handed-on errors in C against NumPy's: exponents far apart, sums that saturate, windows with many maxima."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.training.graph.chain import bfp8_node
from hil.training.graph.formats import Op
from hil.training.graph.node import Node
from hil.training.reference.arith import INT32_MAX, INT32_MIN
from hil.training.reference.formats.bfp8 import layers as plain
from hil.training.reference.gradient import batch_gradient
from hil.training.reference.native.bfp8.library import Bfp8Library

from .drawn_batches import groups, last, values
from .test_native_layers import convolutions


def first(tensor: np.ndarray) -> np.ndarray:
    """Return [H, W, C, B] as [B, H, W, C]."""
    return np.ascontiguousarray(np.moveaxis(tensor, -1, 0))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), layer=convolutions())
def test_convolutions(native: Bfp8Library, data: st.DataObject, layer: Node) -> None:
    x, exponents = data.draw(groups(layer.in_shape))
    error = np.stack([data.draw(values(layer.out_shape)) for _ in range(min(3, len(x)))])
    error = np.ascontiguousarray(np.resize(error, (len(x), *layer.out_shape)))
    got = native.convolution_gradient(error, x, exponents, layer.kernel, layer.pad[0])
    np.testing.assert_array_equal(got, batch_gradient(layer, last(error), last(x), exponents))

    turned = layer.weights[:, ::-1, ::-1, :].transpose(3, 1, 2, 0)
    pads = layer.kernel[0] - 1 - layer.pad[0], layer.kernel[1] - 1 - layer.pad[1]
    handed = native.convolution((error, exponents), turned, layer.weight_exp, pads)
    expected = plain.input_error(layer, layer.weights, (last(error), exponents), last(x), last(error), together=False)
    np.testing.assert_array_equal(last(handed[0]), expected[0])
    np.testing.assert_array_equal(handed[1], expected[1])


@settings(max_examples=60, deadline=None)
@given(data=st.data(), inputs=st.integers(1, 300), outputs=st.integers(1, 40), spread=st.sampled_from([0, 3, 16, 60]))
def test_fully_connected(native: Bfp8Library, data: st.DataObject, inputs: int, outputs: int, spread: int) -> None:
    x, exponents = data.draw(groups((1, 1, inputs)))
    exponents = exponents * spread // 60
    error = np.stack([data.draw(values((1, 1, outputs))) for _ in range(len(x))])
    layer = bfp8_node(
        "fc1", Op.FULLY_CONNECTED, (1, 1, inputs), (1, 1, outputs), weights=np.zeros((outputs, inputs), np.int8)
    )
    got = native.dense_gradient(error, x, exponents)
    np.testing.assert_array_equal(got, batch_gradient(layer, last(error), last(x), exponents))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), k=st.integers(1, 4), channels=st.integers(1, 37), relu=st.booleans())
def test_pools(native: Bfp8Library, data: st.DataObject, k: int, channels: int, relu: bool) -> None:
    height, width = data.draw(st.integers(k, 11)), data.draw(st.integers(k, 11))
    layer = bfp8_node(
        "pool1", Op.MAX_POOL, (height, width, channels), (height // k, width // k, channels), (k, k), (k, k)
    )
    x, exponents = data.draw(groups(layer.in_shape))
    x = np.maximum(x, 0) if relu else x
    error = np.stack([data.draw(values(layer.out_shape)) for _ in range(len(x))])
    out, _ = plain.forward(layer, None, last(x), exponents, together=False)
    expected, _ = plain.input_error(layer, None, (last(error), exponents), last(x), out, together=False)
    if relu:
        before = bfp8_node("relu1", Op.RELU, layer.in_shape, layer.in_shape)
        expected, _ = plain.input_error(before, None, (expected, exponents), last(x), last(x), together=False)
    np.testing.assert_array_equal(native.unpooled(error, x, k, relu), first(expected))


@pytest.mark.parametrize("sign", [1, -1])
def test_sums_that_saturate(native: Bfp8Library, sign: int) -> None:
    """Beyond the limit, back from it, and cut in half at it: 19 * 19 products of 127^2 a sample fill int32 in 369 samples."""
    side, samples = 19, 500
    x = np.full((samples, side, side, 1), 127, np.int8)
    error = np.full((samples, side, side, 2), 127 * sign, np.int8)
    error[400:450] *= -1
    error[:, :, :, 1] //= 2
    exponents = np.zeros(samples, np.int64)
    exponents[450:] = 1
    layer = bfp8_node(
        "conv1", Op.CONV2D, (side, side, 1), (side, side, 2), (1, 1), (1, 1), (0, 0), np.zeros((2, 1, 1, 1), np.int8)
    )
    for count in (368, 369, 400, 450, 500):
        part = error[:count], x[:count], exponents[:count]
        got = native.convolution_gradient(*part, layer.kernel, layer.pad[0])
        np.testing.assert_array_equal(got, batch_gradient(layer, last(part[0]), last(part[1]), part[2]))
        assert (int(got[0]) in (INT32_MAX, INT32_MIN)) == (count in (369, 400))
