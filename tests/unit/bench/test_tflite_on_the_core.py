"""The kernels in TFLite's convention as they stand in the committed images, against their NumPy form."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from bench.tflite_layers import drawn, parameters
from hil.reference.tflite import layers
from hil.reference.tflite.layers import Window

SCRATCH = 1 << 16


def windows(rng):
    """Kernels, strides and paddings as MobileNets have them, on small images of any shape."""
    for kernel in (1, 2, 3, 5, 7):
        for stride in (1, 2):
            height, width = (kernel + int(rng.integers(0, 4)) for _ in range(2))
            padding = int(rng.integers(0, kernel))
            out = [(size + 2 * padding - kernel) // stride + 1 for size in (height, width)]
            yield (height, width), Window((kernel, kernel), (out[0], out[1]), stride, padding)


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
        packed = struct.pack("<6H4B", *sizes, *window.kernel, window.padding, window.stride)
        expected = getattr(layers, name)(x, weights, bias, window, q)
        out = machine.room(expected.size)
        arguments = machine.put(x), machine.put(weights), machine.put(packed), parameters(machine, q, folded)
        kernels = [
            name,
            *(["pointwise"] if window.kernel == (1, 1) and name == "conv2d" and window.stride == 1 else []),
        ]
        for kernel in kernels:
            machine.call(f"tflite_{kernel}_s8", *arguments, machine.room(SCRATCH), out)
            assert (machine.get(out, expected.shape, np.int8) == expected).all(), (kernel, size, window)
