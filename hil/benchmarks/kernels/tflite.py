"""Call the kernels in TFLite's convention (docs/arithmetic-tflite.md) with random data."""

from __future__ import annotations

import struct

import numpy as np

from hil.benchmarks.kernels.machine import KernelCalls
from hil.benchmarks.kernels.shapes import Shape

SCRATCH = 1 << 18  # more than any kernel needs
INPUT_ZERO, OUTPUT_ZERO, ACT_MIN, ACT_MAX = -128, -128, -128, 127  # ReLU6: zero is the lowest int8


class Tflite(KernelCalls):
    """Calls kernels in TFLite's convention; every method returns the number of instructions."""

    def pointwise(self, shape: Shape) -> int:
        """Convolution of 1 x 1, requantized with double rounding."""
        return self._forward("tflite_pointwise_s8", shape, shape.out_c * shape.taps, shape.taps)

    def conv2d(self, shape: Shape) -> int:
        """Any convolution, requantized with double rounding."""
        return self._forward("tflite_conv2d_s8", shape, shape.out_c * shape.taps, shape.taps)

    def depthwise(self, shape: Shape) -> int:
        """Depthwise convolution, requantized with double rounding."""
        taps = shape.kernel * shape.kernel
        return self._forward("tflite_depthwise_s8", shape, taps * shape.out_c, taps)

    def weight_gradient(self, shape: Shape) -> int:
        """Gradient of a convolution's weights, by the pointwise kernel for 1 x 1, added to a gradient."""
        put, kernel = self._machine.put, "conv2d" if shape.kernel > 1 else "pointwise"
        x, error = put(self._all_of_s8(shape.inputs)), put(self._all_of_s8(shape.outputs))
        scratch = (self._machine.room(SCRATCH),) if shape.kernel > 1 else ()
        gradient, layer = put(np.zeros(shape.out_c * shape.taps, np.int32)), put(shape.packed())
        arguments = x, error, layer, INPUT_ZERO, *scratch, gradient
        return self._machine.call(f"tflite_{kernel}_s8_weight_gradient", *arguments)

    def depthwise_weight_gradient(self, shape: Shape) -> int:
        """Gradient of a depthwise convolution's weights, added to a gradient."""
        put, taps = self._machine.put, shape.kernel * shape.kernel
        x, error = put(self._all_of_s8(shape.inputs)), put(self._all_of_s8(shape.outputs))
        scratch, gradient = self._machine.room(SCRATCH), put(np.zeros(taps * shape.out_c, np.int32))
        layer = put(shape.packed())
        return self._machine.call("tflite_depthwise_s8_weight_gradient", x, error, layer, INPUT_ZERO, scratch, gradient)

    def depthwise_input_error(self, shape: Shape) -> int:
        """Error of a depthwise convolution's input."""
        put, taps = self._machine.put, shape.kernel * shape.kernel
        weights = put(self._rng.integers(-127, 128, taps * shape.out_c, np.int8))
        error, layer = put(self._all_of_s8(shape.outputs)), put(shape.packed())
        room = self._machine.room
        return self._machine.call(
            "tflite_depthwise_s8_input_error", error, weights, layer, room(SCRATCH), room(4 * shape.inputs)
        )

    def _forward(self, kernel: str, shape: Shape, weights: int, taps: int) -> int:
        """Call a forward kernel; the multipliers depend on the `taps` of an output, so that outputs fill int8."""
        put, room = self._machine.put, self._machine.room
        x, w = put(self._all_of_s8(shape.inputs)), put(self._rng.integers(-127, 128, weights, np.int8))
        arguments = put(shape.packed()), put(self._layer(shape.out_c, taps)), room(SCRATCH), room(shape.outputs)
        return self._machine.call(kernel, x, w, *arguments)

    def _layer(self, channels: int, taps: int) -> bytes:
        """Return tflite_layer_t (firmware/kernels/tflite_layer.h)."""
        put, rng = self._machine.put, self._rng
        bias = rng.integers(-1000, 1000, channels).astype(np.int32)
        multiplier = rng.integers(1 << 30, (1 << 31) - 1, channels).astype(np.int32)
        shift = np.full(channels, -int(np.log2(taps) / 2 + 7), np.int8)
        pointers = put(bias), put(multiplier), put(shift), self._machine.address("requantize_channels_s8") | 1
        return struct.pack("<4b4I", INPUT_ZERO, OUTPUT_ZERO, ACT_MIN, ACT_MAX, *pointers)
