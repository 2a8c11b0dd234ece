"""Drawn layers in TFLite's convention, for the virtual cores, and shapes of windows."""

from __future__ import annotations

import struct

import numpy as np

from hil.training.reference.formats.tflite8.rescale import Quantization
from tests.oracle.tflite_layers import Window


def drawn(rng, channels, taps):
    """A quantization that brings sums of so many products to about int8, with the ends of each range among them."""
    limits = (-128, 127) if rng.random() < 0.5 else np.sort(rng.integers(-128, 128, 2)).tolist()
    shift = -6 - int(np.log2(taps) / 2) + rng.integers(-1, 2, channels)
    multiplier = np.where(
        rng.random(channels) < 0.2, rng.choice([2**30, 2**31 - 1], channels), rng.integers(2**30, 2**31, channels)
    )
    return Quantization(*rng.integers(-128, 128, 2).tolist(), *limits, multiplier, shift, "double")


def parameters(machine, q, folded):
    """tflite_layer_t, with the bias that has the zero point of the input in it."""
    arrays = folded.astype(np.int32), q.multiplier.astype(np.int32), q.shift.astype(np.int8)
    pointers = [machine.put(array) for array in arrays]
    function = machine.address("requantize_channels_s8") | 1
    return machine.put(struct.pack("<4b4I", q.input_zero, q.output_zero, q.act_min, q.act_max, *pointers, function))


def windows(rng):
    """Kernels, strides and paddings as MobileNets have them, on small images of any shape."""
    for kernel in (1, 2, 3, 5, 7):
        for stride in (1, 2):
            height, width = (kernel + int(rng.integers(0, 4)) for _ in range(2))
            padding = int(rng.integers(0, kernel))
            out = [(size + 2 * padding - kernel) // stride + 1 for size in (height, width)]
            yield (height, width), Window((kernel, kernel), (out[0], out[1]), (stride, stride), (padding, padding))
