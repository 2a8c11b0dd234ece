"""The kernels in binary32 as they stand in the committed images: products are rounded before they are added."""

from __future__ import annotations

import numpy as np
import pytest

from hil.training.benchmarks.kernels.float32 import LIMITS
from hil.training.benchmarks.kernels.shapes import LayerShape

SCALES = 1.0, 2.0**-74  # of inputs and weights; products of the second are subnormal numbers


def limited(values):
    return np.minimum(np.maximum(values, np.float32(0)), np.float32(2**40))


def convolved(x, weights, bias, shape):
    """Return the outputs, tap by tap in the order of docs/arithmetic-float32.md, section 3."""
    height, width, around = shape.out_h, shape.out_w, shape.padding
    padded = np.pad(x, ((around, around), (around, around), (0, 0)))
    sums = np.zeros((height, width, shape.out_c), np.float32)
    for ky, kx, channel in np.ndindex(shape.kernel, shape.kernel, shape.in_c):
        taken = padded[ky : ky + height, kx : kx + width, channel]
        sums = sums + taken[..., None] * weights[:, ky, kx, channel]
    return limited(sums + bias)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "shape", [LayerShape(7, 6, 5, 6, 3, 1), LayerShape(9, 8, 1, 3, 5, 2), LayerShape(6, 7, 36, 5, 3, 1)], ids=str
)
def test_convolutions(machine, shape, scale):
    rng = np.random.default_rng(shape.in_c)
    sizes = (shape.in_h, shape.in_w, shape.in_c), (shape.out_c, shape.kernel, shape.kernel, shape.in_c)
    x, weights = ((rng.standard_normal(size) * scale).astype(np.float32) for size in sizes)
    bias = (rng.standard_normal(shape.out_c) * scale * scale).astype(np.float32)
    out = machine.room(4 * shape.outputs)
    given = [machine.put(what) for what in (x, weights, bias, shape.packed(), LIMITS)]
    machine.call("conv2d_f32", *given, out)
    found = machine.get(out, (shape.out_h, shape.out_w, shape.out_c), np.float32)
    assert found.tobytes() == convolved(x, weights, bias, shape).tobytes()


def test_the_sum_of_the_text(machine):
    w = np.array([0x3F982B9B, 0xBF81DA18, 0x3F2AABC2, 0x3F4B98B9, 0xBF330B1D, 0xBE401784], np.uint32)
    x = np.array([0x3FE27D58, 0x3FDC38D8, 0x3F5B037D, 0x3EA9F4E0, 0x3F91B421, 0xBE100DB5], np.uint32)
    out, bias = machine.room(4), machine.put(np.zeros(1, np.float32))
    machine.call("fully_connected_f32", machine.put(x), machine.put(w), bias, 6, 1, machine.put(LIMITS), out)
    assert machine.get(out, 1, np.uint32)[0] == 0x3ED87CDE
