"""The kernels of affine8 for Cortex-M0+, with buffers of exactly the size of the memory plan and an eye on every access."""

from __future__ import annotations

import numpy as np
import pytest
from affine8_layers import Layer
from armv6m import Kernels, build_kernels

from tests.oracle.tflite_layers import Window


class Guarded:
    """Kernels that are called as on the virtual core; bytes lie at any address."""

    def __init__(self, kernels, rng):
        self.kernels, self.rng, self.call = kernels, rng, kernels.call
        kernels.forget()

    def put(self, values):
        """Copy values into memory and return the address."""
        if isinstance(values, bytes):
            return self.kernels.place(np.frombuffer(values, np.uint8))
        return self.kernels.place(values, int(self.rng.integers(4)) if values.dtype == np.int8 else 0)

    def room(self, size):
        """Return the address of `size` bytes."""
        return self.kernels.place(np.full(size, 0x5A, np.int8))

    def get(self, address, shape, dtype):
        """Return the array at an address."""
        return self.kernels.read(address, np.empty(shape, dtype))


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return Kernels(build_kernels(tmp_path_factory.mktemp("armv6m")))


def windows(rng):
    """Every small kernel and stride, on images that it just covers, and one with more positions than fit at once."""
    for kernel in (1, 2, 3, 4, 5):
        for stride in (1, 2, 3):
            size = kernel + int(rng.integers(0, 4)), kernel + int(rng.integers(0, 6))
            padding = int(rng.integers(0, kernel))
            out = [(side + 2 * padding - kernel) // stride + 1 for side in size]
            yield size, Window((kernel, kernel), (out[0], out[1]), (stride, stride), (padding, padding))
    yield (3, 70), Window((3, 3), (3, 70), (1, 1), (1, 1))
    yield (1, 150), Window((1, 3), (1, 148), (1, 1), (0, 0))


@pytest.mark.parametrize("kind", ["conv2d", "depthwise"])
@pytest.mark.parametrize("channels", [1, 2, 3, 6])
def test_layers_with_windows(kernels, kind, channels):
    rng = np.random.default_rng(channels)
    for size, window in windows(rng):
        Layer(Guarded(kernels, rng), rng, size, window, channels, int(rng.integers(1, 6)), kind).check()


@pytest.mark.parametrize("channels", [1, 2, 5, 16])
def test_pointwise(kernels, channels):
    rng = np.random.default_rng(10 + channels)
    for size in ((1, 1), (3, 5), (5, 13)):
        window = Window((1, 1), size, (1, 1), (0, 0))
        Layer(Guarded(kernels, rng), rng, size, window, channels, int(rng.integers(1, 70)), "pointwise").check()
