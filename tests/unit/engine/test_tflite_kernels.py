"""The C kernels in TFLite's convention against the NumPy form of the same text: every small window, random ones, every rounding."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.tflite_kernels import Kernels, pointer
from hil.training.reference.formats.tflite8.rescale import Quantization, requantize
from tests.oracle import tflite_gradients as gradients
from tests.oracle import tflite_layers as layers
from tests.oracle.tflite_layers import Window

FAST = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
NAMES = ("conv2d", "pointwise", "depthwise")


@pytest.fixture(scope="module")
def kernels(library: ctypes.CDLL) -> Kernels:
    return Kernels(library)


def windows_of(size: int, most_kernel: int, most_stride: int) -> Iterator[tuple[int, int, int, int]]:
    """Give every kernel, stride, padding and output size that an axis of this size can have."""
    for kernel in range(1, most_kernel + 1):
        for stride in range(1, most_stride + 1):
            for padding in range(kernel):
                for out in range(1, (size + padding - 1) // stride + 2):
                    yield kernel, stride, padding, out


def drawn(rng: np.random.Generator, channels: int, taps: int) -> Quantization:
    """Return a quantization that brings sums of so many products to about int8."""
    act_min, act_max = (-128, 127) if rng.random() < 0.5 else np.sort(rng.integers(-128, 128, 2)).tolist()
    shift = -6 - int(np.log2(taps) / 2) + rng.integers(-1, 2, channels)
    ends = rng.random(channels) < 0.2
    multiplier = np.where(ends, rng.choice([2**30, 2**31 - 1], channels), rng.integers(2**30, 2**31, channels))
    zeros = rng.integers(-128, 128, 2).tolist()
    return Quantization(*zeros, act_min, act_max, multiplier, shift, ["double", "single"][int(rng.integers(2))])


def int8(rng: np.random.Generator, *shape: int, least: int = -128) -> np.ndarray:
    return rng.integers(least, 128, shape).astype(np.int8)


def check(
    kernels: Kernels, name: str, rng: np.random.Generator, x_shape: tuple[int, int, int], outputs: int, window: Window
) -> None:
    """Compare forward pass, weight gradient and input error of one layer."""
    depthwise = name == "depthwise"
    outputs = x_shape[-1] if depthwise else outputs
    x = int8(rng, *x_shape)
    weights = int8(
        rng, *((*window.kernel, outputs) if depthwise else (outputs, *window.kernel, x_shape[-1])), least=-127
    )
    bias = rng.integers(-3000, 3000, outputs).astype(np.int32)
    q = drawn(rng, outputs, weights.size // outputs)
    run = layers.depthwise if depthwise else layers.conv2d
    np.testing.assert_array_equal(kernels.forward(name, x, weights, bias, window, q), run(x, weights, bias, window, q))

    error = int8(rng, *window.out, outputs)
    before = rng.integers(-(2**31), 2**31, weights.shape).astype(np.int32)  # so that some sums wrap around
    gradient = gradients.depthwise_weight_gradient if depthwise else gradients.conv2d_weight_gradient
    np.testing.assert_array_equal(
        kernels.weight_gradient(name, error, x, window, q.input_zero, before),
        gradients.accumulate(before, gradient(error, x, window, q.input_zero)),
    )
    back = gradients.depthwise_input_error if depthwise else gradients.conv2d_input_error
    np.testing.assert_array_equal(
        kernels.input_error(name, error, weights, window, x_shape), back(error, weights, window, x_shape[:2])
    )


@pytest.mark.parametrize("name", ["conv2d", "depthwise"])
def test_every_small_window(kernels: Kernels, name: str) -> None:
    rng = np.random.default_rng(1)
    for size in range(1, 6):
        for kernel, stride, padding, out in windows_of(size, 4, 3):
            check(
                kernels,
                name,
                rng,
                (size, size, 2),
                3,
                Window((kernel, kernel), (out, out), (stride, stride), (padding, padding)),
            )


@pytest.mark.parametrize("name", ["conv2d", "depthwise"])
def test_every_pair_of_axes(kernels: Kernels, name: str) -> None:
    rng = np.random.default_rng(2)
    for kh, stride, padding, oh in windows_of(4, 3, 2):
        for kw, other, same, ow in windows_of(3, 3, 2):
            if (other, same) == (stride, padding):
                check(
                    kernels, name, rng, (4, 3, 1), 2, Window((kh, kw), (oh, ow), (stride, stride), (padding, padding))
                )


@FAST
@given(st.data())
def test_random_windows(kernels: Kernels, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    height, width, channels = (data.draw(st.integers(1, most)) for most in (20, 20, 30))
    if name == "pointwise":
        window = Window((1, 1), (height, width))
    else:
        kernel = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9))
        stride, padding = data.draw(st.integers(1, 4)), data.draw(st.integers(0, min(kernel) - 1))
        out = [data.draw(st.integers(1, (size + padding - 1) // stride + 1)) for size in (height, width)]
        window = Window(kernel, (out[0], out[1]), (stride, stride), (padding, padding))
    check(kernels, name, rng, (height, width, channels), data.draw(st.integers(1, 20)), window)


def test_a_block_of_mcunet(kernels: Kernels) -> None:
    """Pointwise, depthwise 7 x 7 with stride 2 and TFLite's uneven SAME padding, pointwise, on 16 x 16 x 40."""
    rng = np.random.default_rng(3)
    check(kernels, "pointwise", rng, (16, 16, 40), 160, Window((1, 1), (16, 16)))
    check(kernels, "depthwise", rng, (16, 16, 160), 160, Window((7, 7), (8, 8), (2, 2), (2, 2)))
    check(kernels, "depthwise", rng, (16, 16, 160), 160, Window((7, 7), (16, 16), (1, 1), (3, 3)))
    check(kernels, "conv2d", rng, (32, 32, 3), 16, Window((3, 3), (16, 16), (2, 2), (0, 0)))


def test_fully_connected(kernels: Kernels) -> None:
    rng = np.random.default_rng(4)
    for inputs in (1, 2, 3, 4, 7, 16, 33, 400):
        for outputs in (1, 2, 5, 8):
            x, weights = int8(rng, inputs), int8(rng, outputs, inputs, least=-127)
            bias, q = rng.integers(-3000, 3000, outputs).astype(np.int32), drawn(rng, outputs, inputs)
            expected = layers.fully_connected(x, weights, bias, q)
            np.testing.assert_array_equal(kernels.fully_connected(x, weights, bias, q), expected)
            error, gradient = int8(rng, outputs), np.full((outputs, inputs), 5, np.int32)
            sizes = ctypes.c_uint32(inputs), ctypes.c_uint32(outputs)
            kernels.library.tflite_fully_connected_s8_weight_gradient(
                pointer(x), pointer(error), *sizes, ctypes.c_int8(q.input_zero), pointer(gradient)
            )
            np.testing.assert_array_equal(
                gradient - 5, gradients.fully_connected_weight_gradient(error, x, q.input_zero)
            )
            acc = np.zeros(inputs, np.int32)
            kernels.library.fully_connected_s8_input_error(pointer(error), pointer(weights), *sizes, pointer(acc))
            np.testing.assert_array_equal(acc, gradients.fully_connected_input_error(error, weights))


@pytest.mark.parametrize("name", ["max_pool", "average_pool"])
def test_pools(kernels: Kernels, name: str) -> None:
    rng = np.random.default_rng(5)
    for size in range(1, 6):
        for kernel, stride, padding, out in windows_of(size, 4, 3):
            x = int8(rng, size, size, 3) if rng.random() < 0.5 else rng.integers(-2, 3, (size, size, 3)).astype(np.int8)
            window = Window((kernel, kernel), (out, out), (stride, stride), (padding, padding))
            limits = (-128, 127) if rng.random() < 0.7 else (-9, 40)
            expected = getattr(layers, name)(x, window, *limits)
            np.testing.assert_array_equal(kernels.pool(name, x, window, *limits), expected)


@pytest.mark.parametrize("rounding", ["double", "single"])
def test_every_rounding(kernels: Kernels, rounding: str) -> None:
    """Sums of every size at every shift, most of which end in int8; ties and both ends of the multiplier among them."""
    rng = np.random.default_rng(6)
    multipliers = np.array([2**30, 2**30 + 1, 3 * 2**29, 0x55555555, 2**31 - 1])
    edges = np.array(
        [sign * (2**n + d) for n in range(31) for d in (-1, 0, 1) for sign in (1, -1)] + [-(2**31), 2**31 - 1, 0]
    )
    for shift in range(-31, 31):
        span = min(2 ** (7 - shift), 2**31 - 1) if shift <= 7 else 1
        ties = np.clip((2 * rng.integers(-300, 300, 300) + 1) * 2.0 ** -min(shift, 0), -(2**31), 2**31 - 1).astype(
            np.int64
        )
        acc = np.concatenate([edges, np.arange(-300, 301), ties, rng.integers(-span, span + 1, 600)])
        sums = np.repeat(acc.astype(np.int32)[None], multipliers.size, axis=0)
        q = Quantization(
            0, int(rng.integers(-3, 4)), -128, 127, multipliers, np.full(multipliers.size, shift), rounding
        )
        expected = requantize(np.repeat(acc[:, None], multipliers.size, axis=1), q)
        np.testing.assert_array_equal(kernels.requantize(sums, np.zeros(multipliers.size, np.int32), q), expected)


def test_gate(kernels: Kernels) -> None:
    out, error = (grid.astype(np.int8).ravel() for grid in np.meshgrid(np.arange(-128, 128), np.arange(-128, 128)))
    for limits in ((-128, 127), (-128, 20), (-7, 127), (3, 3), (3, 4), (3, 5)):
        found = error.copy()
        kernels.library.tflite_clamp_s8_backward(
            pointer(out), pointer(found), ctypes.c_uint32(out.size), *(ctypes.c_int8(limit) for limit in limits)
        )
        np.testing.assert_array_equal(found, gradients.gate(error, out, *limits))


def test_bias_gradient(kernels: Kernels) -> None:
    error, found = int8(np.random.default_rng(7), 6, 5, 11), np.full(11, 9, np.int32)
    kernels.library.tflite_bias_gradient_s8(pointer(error), ctypes.c_uint32(30), ctypes.c_uint32(11), pointer(found))
    np.testing.assert_array_equal(found - 9, gradients.bias_gradient(error))
