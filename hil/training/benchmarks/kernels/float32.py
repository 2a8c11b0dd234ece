"""Call the kernels in binary32 (docs/arithmetic-float32.md) with random data."""

from __future__ import annotations

import struct

import numpy as np

from hil.training.benchmarks.kernels.machine import KernelCalls
from hil.training.benchmarks.kernels.shapes import LayerShape

LIMITS = struct.pack("<2f", 0.0, 2.0**40)  # limits_f32_t of a ReLU
FIRST = 0  # the error is the first that a value gets
STATE = 0x9264E314  # of a stream


class Float32Kernels(KernelCalls):
    """Calls kernels in binary32; every method returns the number of instructions."""

    def conv2d(self, shape: LayerShape) -> int:
        """Convolution, also 1 x 1."""
        return self._forward("conv2d_f32", shape, shape.out_c * shape.taps)

    def conv2d_weight_gradient(self, shape: LayerShape) -> int:
        """Gradient of a convolution's weights, added to a gradient."""
        x, error = self.f32(shape.inputs), self.f32(shape.outputs)
        gradient = self.zeros32(shape.out_c * shape.taps)
        return self.call("conv2d_f32_weight_gradient", x, error, self.put(shape.packed()), gradient)

    def conv2d_input_error(self, shape: LayerShape, every: int = 1) -> int:
        """Error of a convolution's input, of which every so manieth output channel is kept."""
        error, weights = self.f32(shape.outputs), self.f32(shape.out_c * shape.taps)
        arguments = self.put(shape.packed()), FIRST, self.room(4 * shape.inputs)
        return self.call("conv2d_f32_input_error", error, self._kept(shape.out_c, every), weights, *arguments)

    def depthwise(self, shape: LayerShape) -> int:
        """Depthwise convolution."""
        return self._forward("depthwise_f32", shape, shape.kernel * shape.kernel * shape.out_c)

    def fully_connected(self, inputs: int, outputs: int) -> int:
        """Fully connected layer."""
        x, weights, bias = self.f32(inputs), self.f32(inputs * outputs), self.f32(outputs)
        arguments = inputs, outputs, self.put(LIMITS), self.room(4 * outputs)
        return self.call("fully_connected_f32", x, weights, bias, *arguments)

    def fully_connected_weight_gradient(self, inputs: int, outputs: int) -> int:
        """Gradient of a fully connected layer's weights, added to a gradient."""
        x, error, gradient = self.f32(inputs), self.f32(outputs), self.zeros32(inputs * outputs)
        return self.call("fully_connected_f32_weight_gradient", x, error, inputs, outputs, gradient)

    def fully_connected_input_error(self, inputs: int, outputs: int, every: int = 1) -> int:
        """Error of a fully connected layer's input, of which every so manieth output is kept."""
        error, weights, found = self.f32(outputs), self.f32(inputs * outputs), self.room(4 * inputs)
        kept = self._kept(outputs, every)
        return self.call("fully_connected_f32_input_error", error, kept, weights, inputs, FIRST, found)

    def _kept(self, channels: int, every: int) -> int:
        """Put a kept_f32_t into memory."""
        kept = np.arange(0, channels, every, dtype=np.uint16)
        return self.put(struct.pack("<2I", self.put(kept) if every > 1 else 0, len(kept)))

    def f32(self, size: int) -> int:
        """Put random binary32 numbers into memory."""
        return self.put(self.rng.standard_normal(size).astype(np.float32))

    def _forward(self, kernel: str, shape: LayerShape, weights: int) -> int:
        x, w, bias = self.f32(shape.inputs), self.f32(weights), self.f32(shape.out_c)
        arguments = self.put(shape.packed()), self.put(LIMITS), self.room(4 * shape.outputs)
        return self.call(kernel, x, w, bias, *arguments)
