"""Call the kernels in TFLite's convention (docs/arithmetic-tflite.md) with random data."""

from __future__ import annotations

import struct

import numpy as np

from hil.training.benchmarks.kernels.machine import KernelCalls
from hil.training.benchmarks.kernels.shapes import LayerShape

SCRATCH = 1 << 18  # more than any kernel needs
INPUT_ZERO, OUTPUT_ZERO, ACT_MIN, ACT_MAX = -128, -128, -128, 127  # ReLU6: zero is the lowest int8


class Tflite(KernelCalls):
    """Calls kernels in TFLite's convention; every method returns the number of instructions."""

    def convolution(self, shape: LayerShape) -> int:
        """Convolution, by the pointwise kernel for 1 x 1, requantized with double rounding."""
        return self._forward(f"tflite_{shape.tflite_kernel}_s8", shape, shape.out_c * shape.taps, shape.taps)

    def depthwise(self, shape: LayerShape) -> int:
        """Depthwise convolution, requantized with double rounding."""
        taps = shape.kernel * shape.kernel
        return self._forward("tflite_depthwise_s8", shape, taps * shape.out_c, taps)

    def convolution_weight_gradient(self, shape: LayerShape) -> int:
        """Gradient of a convolution's weights, by the pointwise kernel for 1 x 1, added to a gradient."""
        x, error = self.all_of_s8(shape.inputs), self.all_of_s8(shape.outputs)
        scratch = (self.room(SCRATCH),) if shape.kernel > 1 else ()
        gradient, layer = self.zeros32(shape.out_c * shape.taps), self.put(shape.packed())
        kernel = f"tflite_{shape.tflite_kernel}_s8_weight_gradient"
        return self.call(kernel, x, error, layer, INPUT_ZERO, *scratch, gradient)

    def depthwise_weight_gradient(self, shape: LayerShape) -> int:
        """Gradient of a depthwise convolution's weights, added to a gradient."""
        x, error = self.all_of_s8(shape.inputs), self.all_of_s8(shape.outputs)
        scratch, gradient = self.room(SCRATCH), self.zeros32(shape.kernel * shape.kernel * shape.out_c)
        layer = self.put(shape.packed())
        return self.call("tflite_depthwise_s8_weight_gradient", x, error, layer, INPUT_ZERO, scratch, gradient)

    def depthwise_input_error(self, shape: LayerShape) -> int:
        """Error of a depthwise convolution's input."""
        weights = self.s8(shape.kernel * shape.kernel * shape.out_c)
        error, layer = self.all_of_s8(shape.outputs), self.put(shape.packed())
        scratch, found = self.room(SCRATCH), self.room(4 * shape.inputs)
        return self.call("tflite_depthwise_s8_input_error", error, weights, layer, scratch, found)

    def _forward(self, kernel: str, shape: LayerShape, weights: int, taps: int) -> int:
        """Call a forward kernel; the multipliers depend on the `taps` of an output, so that outputs fill int8."""
        x, w, layer = self.all_of_s8(shape.inputs), self.s8(weights), self.put(shape.packed())
        arguments = self.put(self._layer(shape.out_c, taps)), self.room(SCRATCH), self.room(shape.outputs)
        return self.call(kernel, x, w, layer, *arguments)

    def _layer(self, channels: int, taps: int) -> bytes:
        """Return tflite_layer_t (firmware/kernels/requantize.h)."""
        put, rng = self.put, self.rng
        bias = rng.integers(-1000, 1000, channels).astype(np.int32)
        multiplier = rng.integers(1 << 30, (1 << 31) - 1, channels).astype(np.int32)
        shift = np.full(channels, -int(np.log2(taps) / 2 + 7), np.int8)
        pointers = put(bias), put(multiplier), put(shift), self.machine.address("requantize_channels_s8") | 1
        return struct.pack("<4b4I", INPUT_ZERO, OUTPUT_ZERO, ACT_MIN, ACT_MAX, *pointers)
