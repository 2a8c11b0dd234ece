"""conv2d in TFLite's convention on the virtual cores, where its bands begin and end: whole images and extremes."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from benchmarks.tflite_layers import drawn, parameters
from hil.training.formats.tflite8 import forward_scratch
from hil.training.graph.formats import Op
from hil.training.graph.node import Tflite8Node
from tests.oracle import tflite_layers as layers
from tests.oracle.tflite_layers import Window

GUARD = 64  # bytes behind scratch and outputs that have to stay


def check(machine, rng, x, weights, window, zero):
    """Call conv2d, and pointwise where it is one, with exactly the scratch of the plan; compare outputs and guards."""
    outputs, taps = len(weights), weights[0].size
    bias, q = rng.integers(-3000, 3000, outputs), drawn(rng, outputs, taps)
    q = type(q)(zero, q.output_zero, q.act_min, q.act_max, q.multiplier, q.shift, q.rounding)
    folded = bias - zero * weights.astype(np.int64).sum(axis=(1, 2, 3))
    packed = struct.pack("<6H6B", *x.shape, *window.out, outputs, *window.kernel, *window.stride, *window.padding)
    expected = layers.conv2d(x, weights, bias, window, q)
    shape, layer = machine.put(packed), parameters(machine, q, folded)
    data = machine.put(x), machine.put(weights)
    for kernel in ("conv2d", "pointwise") if window.kernel == (1, 1) and window.stride == (1, 1) else ("conv2d",):
        size = forward_scratch(layer_of(Op[kernel.upper()], x.shape, outputs, window))
        scratch, out = machine.room(size + GUARD), machine.room(expected.size + GUARD)
        machine.call(f"tflite_{kernel}_s8", *data, shape, layer, scratch, out)
        assert (machine.get(out, expected.shape, np.int8) == expected).all(), (kernel, x.shape, weights.shape, window)
        for behind in (scratch + size, out + expected.size):
            assert (machine.get(behind, GUARD, np.uint8) == 0xA5).all(), (kernel, x.shape, weights.shape, window)


def layer_of(op, in_shape, outputs, window):
    """Return a layer as the memory plan asks for its scratch."""
    out_shape = (*window.out, outputs)
    return Tflite8Node(op.name, op, (0,), in_shape, out_shape, window.kernel, window.stride, window.padding)


def windows_of(size, kernel, padding, stride):
    """Return the window whose output is as large as a padding equal on all sides lets it be."""
    out = tuple((n + 2 * padding - kernel) // stride + 1 for n in size)
    return Window((kernel, kernel), (out[0], out[1]), (stride, stride), (padding, padding))


@pytest.mark.parametrize(
    ("kernel", "padding", "stride", "channels", "outputs"),
    [
        (5, 2, 1, 1, 3),  # a loop of its own on M7 and M4
        (5, 2, 2, 1, 3),
        (3, 1, 1, 3, 4),
        (3, 1, 2, 3, 5),
        (5, 2, 1, 6, 2),
        (3, 0, 1, 16, 3),
        (1, 0, 1, 20, 5),
        (1, 0, 2, 9, 2),
        (2, 1, 3, 5, 1),  # a stride that leaves inputs out
    ],
)
def test_images_of_several_bands(machine, kernel, padding, stride, channels, outputs):
    rng = np.random.default_rng(kernel + 10 * channels)
    for height, width in ((29, 16), (23, 17), (9, 18), (37, 19), (11, kernel)):
        window = windows_of((height, width), kernel, padding, stride)
        x = rng.integers(-128, 128, (height, width, channels)).astype(np.int8)
        weights = rng.integers(-127, 128, (outputs, kernel, kernel, channels)).astype(np.int8)
        weights[rng.random(weights.shape) < 0.2] = 0
        check(machine, rng, x, weights, window, int(rng.integers(-128, 128)))


@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("channels", [1, 4, 7])
def test_extremes(machine, kernel, channels):
    rng = np.random.default_rng(kernel * channels)
    window = windows_of((8, 9), kernel, kernel // 2, 1)
    for value in (-128, 127):
        for sign in (-1, 1):
            x = np.full((8, 9, channels), value, np.int8)
            weights = np.full((3, kernel, kernel, channels), 127 * sign, np.int8)
            weights[2] = rng.choice([-127, 127], weights[2].shape)
            check(machine, rng, x, weights, window, int(rng.choice([-128, 0, 127])))
