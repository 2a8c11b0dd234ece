"""What docs/arithmetic.md says of initial weights, the order of samples and the step digest, done from its words alone."""

from __future__ import annotations

import math
import struct

import numpy as np
import xxhash

from hil.training.data import batches, load
from hil.training.networks import build

SHAPES = ((6, 5, 5, 1), (16, 5, 5, 6), (120, 784), (84, 120), (10, 84))


def test_initial_weights_from_section_12() -> None:
    """Fan of a convolution counts its kernel area; one generator for all tensors."""
    rng = np.random.Generator(np.random.PCG64(7))
    for shape, layer in zip(SHAPES, build("lenet5", 7).trained, strict=True):
        area = math.prod(shape[1:-1])
        fan_in, fan_out = area * shape[-1], area * shape[0]
        limit = math.sqrt(6 / (fan_in + fan_out))
        w = rng.uniform(-limit, limit, shape)
        assert layer.weights is not None
        assert np.array_equal(layer.weights, np.rint(w / np.abs(w).max() * 127).astype(np.int8))
        assert layer.weight_exp == math.ceil(math.log2(limit)) - 7


def test_order_of_samples_from_section_13() -> None:
    data = load("fashion-mnist-1k")
    found = batches(data, 300, 5)
    for epoch in range(2):
        order = np.random.Generator(np.random.PCG64([5, epoch])).permutation(1000)
        for first in (0, 300, 600):
            assert np.array_equal(next(found), order[first : first + 300])


def test_step_digest_from_section_11() -> None:
    """By hand: the digests 1 and 2 as eight little-endian bytes."""
    from hil.step_digest import step_digest

    assert step_digest((1, 2)) == xxhash.xxh32_intdigest(b"\x01\0\0\0\x02\0\0\0")
    assert step_digest((0xFFFFFFFF,)) == xxhash.xxh32_intdigest(struct.pack("<I", 0xFFFFFFFF))
