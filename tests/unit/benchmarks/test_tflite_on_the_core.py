"""The kernels in TFLite's convention as they stand in the committed images, against their NumPy form."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from benchmarks.tflite_layers import drawn, parameters, windows
from hil.training.reference.formats.tflite8.rescale import Quantization, requantize
from tests.oracle import tflite_gradients as gradients
from tests.oracle import tflite_layers as layers
from tests.oracle.tflite_layers import Window

SCRATCH = 1 << 16


@pytest.mark.parametrize("name", ["conv2d", "depthwise"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 7, 16])
def test_convolutions(machine, name, channels):
    rng = np.random.default_rng(channels)
    for size, window in windows(rng):
        outputs = channels if name == "depthwise" else int(rng.integers(1, 10))
        taps = window.kernel[0] ** 2 * (1 if name == "depthwise" else channels)
        x = rng.integers(-128, 128, (*size, channels)).astype(np.int8)
        shape = (*window.kernel, outputs) if name == "depthwise" else (outputs, *window.kernel, channels)
        weights = rng.integers(-127, 128, shape).astype(np.int8)
        bias, q = rng.integers(-3000, 3000, outputs), drawn(rng, outputs, taps)
        axes = (0, 1) if name == "depthwise" else (1, 2, 3)
        folded = bias - q.input_zero * weights.astype(np.int64).sum(axis=axes)
        sizes = (*size, channels, *window.out, outputs)
        packed = struct.pack("<6H6B", *sizes, *window.kernel, *window.stride, *window.padding)
        expected = getattr(layers, name)(x, weights, bias, window, q)
        out = machine.room(expected.size)
        arguments = machine.put(x), machine.put(weights), machine.put(packed), parameters(machine, q, folded)
        kernels = [
            name,
            *(["pointwise"] if window.kernel == (1, 1) and name == "conv2d" and window.stride == (1, 1) else []),
        ]
        for kernel in kernels:
            machine.call(f"tflite_{kernel}_s8", *arguments, machine.room(SCRATCH), out)
            assert (machine.get(out, expected.shape, np.int8) == expected).all(), (kernel, size, window)


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 7, 16])
def test_weight_gradients(machine, channels):
    """Errors with many zeros and with none, more positions than a kernel takes together, sums that wrap around."""
    rng = np.random.default_rng(200 + channels)
    large = (13, 11), Window((3, 3), (13, 11), (1, 1), (1, 1))
    for size, window in (*windows(rng), large, ((13, 11), Window((1, 1), (13, 11)))):
        outputs, zero = int(rng.integers(1, 6)), int(rng.integers(-128, 128))
        x = rng.integers(-128, 128, (*size, channels)).astype(np.int8)
        error = rng.integers(-128, 128, (*window.out, outputs)).astype(np.int8)
        error[rng.random(error.shape) < rng.choice([0, 0.5, 0.9])] = 0
        before = rng.integers(-(2**31), 2**31, (outputs, *window.kernel, channels)).astype(np.int32)
        sizes = (*size, channels, *window.out, outputs)
        layer = machine.put(struct.pack("<6H6B", *sizes, *window.kernel, *window.stride, *window.padding))
        expected = gradients.accumulate(before, gradients.conv2d_weight_gradient(error, x, window, zero))
        arguments = machine.put(x), machine.put(error), layer, zero
        gradient = machine.put(before)
        machine.call("tflite_conv2d_s8_weight_gradient", *arguments, machine.room(SCRATCH), gradient)
        assert (machine.get(gradient, expected.shape, np.int32) == expected).all(), (size, window)
        if window.kernel == (1, 1) and window.stride == (1, 1) and window.padding == (0, 0):
            gradient = machine.put(before)
            machine.call("tflite_pointwise_s8_weight_gradient", *arguments, gradient)
            assert (machine.get(gradient, expected.shape, np.int32) == expected).all(), (size, window)


@pytest.mark.parametrize("channels", [1, 2, 3, 5])
def test_backward_of_depthwise(machine, channels):
    rng = np.random.default_rng(100 + channels)
    for size, window in windows(rng):
        zero, ends = int(rng.integers(-128, 128)), bool(rng.integers(0, 2))
        draw = (lambda s: rng.choice([-128, 127], s)) if ends else (lambda s: rng.integers(-128, 128, s))
        x, error = draw((*size, channels)).astype(np.int8), draw((*window.out, channels)).astype(np.int8)
        weights = rng.integers(-127, 128, (*window.kernel, channels)).astype(np.int8)
        sizes = (*size, channels, *window.out, channels)
        layer = machine.put(struct.pack("<6H6B", *sizes, *window.kernel, *window.stride, *window.padding))
        before = rng.integers(-(2**31), 2**31, weights.shape).astype(np.int32)
        gradient, at_error, back = machine.put(before), machine.put(error), machine.room(4 * x.size)
        scratch, name = machine.room(SCRATCH), "tflite_depthwise_s8"
        machine.call(f"{name}_weight_gradient", machine.put(x), at_error, layer, zero, scratch, gradient)
        sums = gradients.depthwise_weight_gradient(error, x, window, zero)
        expected = gradients.accumulate(before, sums)
        assert (machine.get(gradient, expected.shape, np.int32) == expected).all(), (size, window)
        machine.call(f"{name}_input_error", at_error, machine.put(weights), layer, scratch, back)
        expected = gradients.depthwise_input_error(error, weights, window, size)
        assert (machine.get(back, expected.shape, np.int32) == expected).all(), (size, window)


MULTIPLIERS = (2**30, 2**31 - 1, 0x55558000, 0x55557FFF, 0x55558001, 0x7FFF8000)
BITS = (7, 14, 15, 16, 17, 28, 29, 30, 31)


@pytest.mark.parametrize("shift", [*range(-31, 3), 30])
def test_requantize_of_any_sum(machine, shift):
    """Both sides of every power of two at which a way of multiplying ends, ties of both roundings, and sums of any length."""
    rng = np.random.default_rng(50 + shift)
    ends = [sign * 2**bits + more for bits in BITS for sign in (-1, 1) for more in (-1, 0, 1)]
    ties = (2 * np.arange(-40, 40) + 1) << min(max(-shift, 0), 24)  # half of an output, for a multiplier of 2^30
    chance = rng.integers(-(2**31), 2**31, 200) >> rng.integers(0, 31, 200)
    acc = np.clip(np.concatenate([ends, ties, ties - 1, ties + 1, chance]), -(2**31), 2**31 - 1)
    multiplier = np.array([*MULTIPLIERS, *rng.integers(2**30, 2**31, 3)])
    acc = np.tile(acc[:, None], (1, len(multiplier)))
    for limits in ((-128, 127), tuple(np.sort(rng.integers(-128, 128, 2)).tolist())):
        zero = int(rng.choice([-128, 127, rng.integers(-128, 128)]))
        q = Quantization(0, zero, *limits, multiplier, np.full(len(multiplier), shift), "double")
        bias = rng.integers(-(2**31), 2**31, len(multiplier))
        sums = machine.put(np.ascontiguousarray((acc - bias).astype(np.uint32).T))
        step = acc.shape[1] + 2
        out = machine.put(np.zeros((len(acc), step), np.int8))
        places = parameters(machine, q, bias), step, out
        machine.call("requantize_channels_s8", sums, len(acc), 0, acc.shape[1], *places)
        found = machine.get(out, (len(acc), step), np.int8)
        wrong = np.argwhere(found[:, :-2] != requantize(acc, q))
        assert len(wrong) == 0, (acc[tuple(wrong[0])], multiplier[wrong[0][1]], q)
        assert not found[:, -2:].any()
