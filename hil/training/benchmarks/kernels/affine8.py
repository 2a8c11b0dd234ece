"""Call the kernels of `affine8` (docs/arithmetic-affine8.md) with random data."""

from __future__ import annotations

import struct

import numpy as np

from hil.training.benchmarks.kernels.machine import KernelCalls
from hil.training.benchmarks.kernels.shapes import LayerShape

SCRATCH = 1 << 18  # more than any kernel needs
INPUT_ZERO, OUTPUT_ZERO, LEAST, MOST = -128, -128, -128, 127  # ReLU: zero is the lowest int8
WEIGHT_ZERO, ERROR_ZERO = -9, 5  # not in the middle of their range
M = 43690  # of the factor


class Affine8Kernels(KernelCalls):
    """Calls kernels with moving scales; every method returns the number of instructions.

    In a backward pass every `every`-th output channel is kept, counted from the first.
    """

    def convolution(self, shape: LayerShape) -> int:
        """Convolution, by the pointwise kernel for 1 x 1, with its outputs."""
        return self._forward(f"affine8_{shape.tflite_kernel}", shape, shape.out_c * shape.taps, shape.taps)

    def depthwise(self, shape: LayerShape) -> int:
        """Depthwise convolution, with its outputs."""
        taps = shape.kernel * shape.kernel
        return self._forward("affine8_depthwise", shape, taps * shape.out_c, taps)

    def fully_connected(self, inputs: int, outputs: int) -> int:
        """Product with a matrix, with its outputs."""
        x, w, layer = self.all_of_s8(inputs), self.all_of_s8(inputs * outputs), self._layer(outputs, inputs)
        return self.call(
            "affine8_fully_connected", x, w, inputs, outputs, layer, self.room(4 * outputs), self.room(outputs)
        )

    def convolution_weight_gradient(self, shape: LayerShape, every: int = 1) -> int:
        """Gradient of a convolution's weights, by the pointwise kernel for 1 x 1, added to a gradient."""
        kernel = f"affine8_{shape.tflite_kernel}_weight_gradient"
        scratch = (self.room(SCRATCH),) if shape.kernel > 1 else ()
        x, errors, layer = self._backward(shape, every)
        return self.call(kernel, x, errors, layer, INPUT_ZERO, *scratch, self.zeros32(shape.out_c * shape.taps))

    def convolution_input_error(self, shape: LayerShape, every: int = 1) -> int:
        """Error of a convolution's input, by the pointwise kernel for 1 x 1."""
        kernel = f"affine8_{shape.tflite_kernel}_input_error"
        scratch = (self.room(SCRATCH),) if shape.kernel > 1 else ()
        _, errors, layer = self._backward(shape, every)
        weights, found = self.all_of_s8(shape.out_c * shape.taps), self.room(4 * shape.inputs)
        return self.call(kernel, errors, weights, WEIGHT_ZERO, layer, *scratch, found)

    def depthwise_weight_gradient(self, shape: LayerShape, every: int = 1) -> int:
        """Gradient of a depthwise convolution's weights, added to a gradient."""
        x, errors, layer = self._backward(shape, every)
        scratch, gradient = self.room(SCRATCH), self.zeros32(shape.kernel * shape.kernel * shape.out_c)
        return self.call("affine8_depthwise_weight_gradient", x, errors, layer, INPUT_ZERO, scratch, gradient)

    def depthwise_input_error(self, shape: LayerShape, every: int = 1) -> int:
        """Error of a depthwise convolution's input."""
        _, errors, layer = self._backward(shape, every)
        weights, found = self.all_of_s8(shape.kernel * shape.kernel * shape.out_c), self.room(4 * shape.inputs)
        scratch = self.room(SCRATCH)
        return self.call("affine8_depthwise_input_error", errors, weights, WEIGHT_ZERO, layer, scratch, found)

    def fully_connected_weight_gradient(self, inputs: int, outputs: int, every: int = 1) -> int:
        """Outer product of error and input, added to a gradient."""
        x, errors, gradient = self.all_of_s8(inputs), self._errors(1, outputs, every), self.zeros32(inputs * outputs)
        return self.call("affine8_fully_connected_weight_gradient", x, errors, inputs, INPUT_ZERO, gradient)

    def fully_connected_input_error(self, inputs: int, outputs: int, every: int = 1) -> int:
        """Product of the error with the transposed matrix."""
        errors, weights, found = (
            self._errors(1, outputs, every),
            self.all_of_s8(inputs * outputs),
            self.room(4 * inputs),
        )
        return self.call("affine8_fully_connected_input_error", errors, weights, WEIGHT_ZERO, inputs, found)

    def requantize(self, size: int) -> int:
        """Error of 8 bits from int32 sums: its range, and its values."""
        sums = self.put(self.rng.normal(0, 1 << 16, size).astype(np.int32))
        count = self.call("affine8_extent_s32", self.room(8), sums, size)
        return count + self.call("affine8_requantize_s32", sums, size, M | 26 << 16, ERROR_ZERO, False, self.room(size))

    def _forward(self, kernel: str, shape: LayerShape, weights: int, taps: int) -> int:
        x, w, layer = self.all_of_s8(shape.inputs), self.all_of_s8(weights), self._layer(shape.out_c, taps)
        return self.call(kernel, x, w, self.put(shape.packed()), layer, self.room(SCRATCH), self.room(shape.outputs))

    def _layer(self, channels: int, taps: int) -> int:
        """Return the address of affine8_layer_t (firmware/kernels/affine8.h); outputs fill int8 with so many `taps`."""
        bias = self.put(self.rng.integers(-1000, 1000, channels).astype(np.int32))
        n = 22 + int(np.log2(taps) / 2)
        return self.put(struct.pack("<5bxHB?xxI", INPUT_ZERO, WEIGHT_ZERO, OUTPUT_ZERO, LEAST, MOST, M, n, False, bias))

    def _backward(self, shape: LayerShape, every: int) -> tuple[int, int, int]:
        """Return the addresses of a layer's inputs, errors and shape."""
        x, errors = self.all_of_s8(shape.inputs), self._errors(shape.out_h * shape.out_w, shape.out_c, every)
        return x, errors, self.put(shape.packed())

    def _errors(self, positions: int, channels: int, every: int) -> int:
        """Return the address of affine8_errors_t (firmware/kernels/affine8.h)."""
        kept = np.arange(channels, dtype=np.uint16)[::every]
        error = self.all_of_s8(positions * len(kept))
        return self.put(struct.pack("<Ib3xII", error, ERROR_ZERO, self.put(kept), len(kept)))
