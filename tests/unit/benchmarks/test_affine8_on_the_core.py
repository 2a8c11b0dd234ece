"""The kernels of affine8 in the committed images, against NumPy in wide integers (docs/arithmetic-affine8.md, 2 to 4)."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from affine8_layers import Factor, Layer, factor_for, wrapped, zero_points

from benchmarks.tflite_layers import windows
from tests.oracle.tflite_layers import Window

pytest.importorskip("unicorn", reason="the virtual core needs the extra `virtual`")

CHANNELS = (1, 2, 3, 4, 7, 16)


def shapes(rng):
    """Small windows of any kind, and images of more positions than a kernel takes together."""
    yield from windows(rng)
    for size, kernel in (((13, 11), 3), ((6, 70), 5), ((3, 140), 3), ((1, 300), 1)):
        yield size, Window((kernel, kernel), size, (1, 1), (kernel // 2, kernel // 2))


@pytest.mark.parametrize("kind", ["conv2d", "depthwise"])
@pytest.mark.parametrize("channels", CHANNELS)
def test_layers_with_windows(machine, kind, channels):
    rng = np.random.default_rng(channels)
    for size, window in shapes(rng):
        outputs = int(rng.integers(1, 10))
        Layer(machine, rng, size, window, channels, outputs, kind).check()


@pytest.mark.parametrize("channels", [*CHANNELS, 40, 70])
def test_pointwise(machine, channels):
    rng = np.random.default_rng(100 + channels)
    for size in ((1, 1), (2, 3), (5, 7), (9, 16)):
        for outputs in (1, 2, 5, 70):
            Layer(machine, rng, size, Window((1, 1), size, (1, 1), (0, 0)), channels, outputs, "pointwise").check()


@pytest.mark.parametrize("inputs", [*range(1, 18), 112, 113, 230, 400])
def test_fully_connected(machine, inputs):
    rng = np.random.default_rng(200 + inputs)
    for outputs in (1, 2, 3, 4, 5, 9, 120):
        layer = Layer(machine, rng, (1, 1), Window((1, 1), (1, 1), (1, 1), (0, 0)), inputs, outputs, "pointwise")
        w, e, x = layer.wide.reshape(outputs, inputs), layer.e.reshape(-1), layer.x.reshape(-1).astype(np.int64)
        (zero,), factor = zero_points(rng, 1), factor_for(rng, inputs)
        folded = machine.put(wrapped(-layer.x_zero * w.sum(axis=1)))
        fields = layer.x_zero, layer.w_zero, zero, -128, 127, factor.m, factor.n, factor.floors, folded
        at_layer, at_x, at_w = (
            machine.put(struct.pack("<5bxHB?xxI", *fields)),
            machine.put(layer.x),
            machine.put(layer.w),
        )
        out, back, name = machine.room(outputs), machine.room(4 * inputs), "affine8_fully_connected"
        machine.call(name, at_x, at_w, inputs, outputs, at_layer, machine.room(4 * outputs), out)
        expected = np.clip(factor(w @ (x - layer.x_zero)) + zero, -128, 127)
        assert (machine.get(out, outputs, np.int8) == expected).all(), outputs
        before = rng.integers(-(2**31), 2**31, (len(e), inputs))
        gradient = machine.put(wrapped(before))
        machine.call(f"{name}_weight_gradient", at_x, layer.errors, inputs, layer.x_zero, gradient)
        expected = wrapped(before + np.outer(e, x - layer.x_zero))
        assert (machine.get(gradient, before.shape, np.int32) == expected).all(), outputs
        machine.call(f"{name}_input_error", layer.errors, at_w, layer.w_zero, inputs, back)
        assert (machine.get(back, inputs, np.int32) == w[layer.kept].T @ e).all(), outputs


@pytest.mark.parametrize("floors", [False, True])
@pytest.mark.parametrize("n", range(16, 47))
def test_requantize_of_any_sum(machine, n, floors):
    """Ties, sums of any length up to the largest of section 6, and their extent."""
    rng = np.random.default_rng(n)
    for m in (32768, 65535, 43690, 0):
        factor, (zero,) = Factor(m, n, floors), zero_points(rng, 1)
        ties = (2 * np.arange(-30, 30) + 1) << max(n - 16, 0) & 0x3FFF_FFFF
        chance = rng.integers(-2130739200, 2130739201, 200) >> rng.integers(0, 31, 200)
        ends = np.array([-2130739200, 2130739200, -1, 0, 1, 65535, 65536, -65536])
        sums = np.concatenate([ties, -ties, ties + 1, chance, ends])
        at, out, extent = machine.put(wrapped(sums)), machine.room(len(sums)), machine.room(8)
        machine.call("affine8_requantize_s32", at, len(sums), factor.word, zero, False, out)
        results = factor(sums) + zero
        expected = np.clip(results, -128, 127)
        assert (machine.get(out, len(sums), np.int8) == expected).all(), (m, zero)
        within = sums[results == expected]
        alone = machine.put(wrapped(within))
        machine.call("affine8_requantize_s32", alone, len(within), factor.word, zero, True, alone)
        assert (machine.get(alone, len(within), np.int8) == results[results == expected]).all(), (m, zero)
        machine.call("affine8_extent_s32", extent, at, len(sums))
        assert machine.get(extent, 2, np.int32).tolist() == [min(0, sums.min()), max(0, sums.max())]
