"""Call the kernels in NITI's convention (docs/arithmetic.md) with random data.

A forward pass includes its requantization, as in a layer of a network.
"""

from __future__ import annotations

import struct

from hil.training.benchmarks.kernels.machine import KernelCalls
from hil.training.benchmarks.kernels.shapes import LayerShape

SCRATCH = 1 << 16  # more than any kernel needs
P_ZERO, R_MAX = 84, 7  # of the noise
POOL, STREAM = 0x2545_F491, 0x9E37_79B9  # states of the generator
MOVES_WORDS = 1024  # firmware/kernels/perturbation.h


class Niti(KernelCalls):
    """Calls kernels in NITI's convention; every method returns the number of instructions."""

    def conv2d(self, shape: LayerShape) -> int:
        """Convolution and requantization."""
        acc = self.room(4 * shape.outputs)
        weights, layer = self.s8(shape.out_c * shape.taps), self.put(shape.packed())
        count = self.call("conv2d_s8", self.s8(shape.inputs), weights, layer, self.room(SCRATCH), acc)
        return count + self.call("requantize_s8", acc, shape.outputs, self.room(shape.outputs))

    def fully_connected(self, inputs: int, outputs: int) -> int:
        """Product with a matrix, and requantization."""
        acc = self.room(4 * outputs)
        count = self.call("fully_connected_s8", self.s8(inputs), self.s8(inputs * outputs), inputs, outputs, acc)
        return count + self.call("requantize_s8", acc, outputs, self.room(outputs))

    def max_pool(self, shape: LayerShape) -> int:
        """Pooling of 2 x 2."""
        layer = LayerShape(shape.out_h, shape.out_w, shape.out_c, shape.out_c, 2)
        packed = bytearray(layer.packed())
        packed[6:10] = (layer.in_h // 2).to_bytes(2, "little") + (layer.in_w // 2).to_bytes(2, "little")
        out = self.room(shape.outputs)
        return self.call("max_pool_s8", self.s8(shape.outputs), self.put(bytes(packed)), out)

    def relu(self, count: int) -> int:
        """Rectification in place."""
        return self.call("relu_s8", self.s8(count), count)

    def conv2d_weight_gradient(self, shape: LayerShape) -> int:
        """Exact gradient of a convolution's weights, added to a gradient."""
        gradient, layer = self.zeros32(shape.out_c * shape.taps), self.put(shape.packed())
        scratch, error = self.room(SCRATCH), self.s8(shape.outputs)
        return self.call("conv2d_s8_weight_gradient", self.s8(shape.inputs), error, layer, 0, scratch, gradient)

    def conv2d_input_error(self, shape: LayerShape) -> int:
        """Error of a convolution's input."""
        acc, layer = self.room(4 * shape.inputs), self.put(shape.packed())
        weights = self.s8(shape.out_c * shape.taps)
        return self.call("conv2d_s8_input_error", self.s8(shape.outputs), weights, layer, acc)

    def fully_connected_weight_gradient(self, inputs: int, outputs: int) -> int:
        """Outer product of error and input, added to a gradient."""
        gradient, x, error = self.zeros32(inputs * outputs), self.s8(inputs), self.s8(outputs)
        return self.call("fully_connected_s8_weight_gradient", x, error, inputs, outputs, 0, gradient)

    def fully_connected_input_error(self, inputs: int, outputs: int) -> int:
        """Product of the error with the transposed matrix."""
        acc, weights = self.room(4 * inputs), self.s8(inputs * outputs)
        return self.call("fully_connected_s8_input_error", self.s8(outputs), weights, inputs, outputs, acc)

    def perturb_and_update(self, weights: int, limit: int) -> int:
        """All changes of a tensor in a zeroth-order step: to plus, to minus, and restored and updated at once.

        The weights are random within the limit.
        """
        call, noise, at = self.call, (P_ZERO | R_MAX << 8, POOL), self.s8(weights, limit)
        moves = self.put(struct.pack("<II", self.room(4 * MOVES_WORDS), 0))
        count = 0
        for k in (1, -2):
            count += call("moves_to_perturb", moves, *noise, k, limit) + call("move_s8", at, weights, STREAM, moves)
        return count + call("moves_to_update", moves, *noise, 1, 1, limit) + call("move_s8", at, weights, STREAM, moves)

    def digest(self, size: int) -> int:
        """XXH32 of a tensor."""
        return self.call("xxh32", self.s8(size), size, 0)

    def lenet5(self) -> int:
        """All layers of LeNet-5, one sample."""
        first, second = LayerShape(28, 28, 1, 6, 5, 2), LayerShape(14, 14, 6, 16, 5, 2)
        count = 0
        for shape in (first, second):
            count += self.conv2d(shape) + self.relu(shape.outputs) + self.max_pool(shape)
        for inputs, outputs in ((784, 120), (120, 84)):
            count += self.fully_connected(inputs, outputs) + self.relu(outputs)
        return count + self.fully_connected(84, 10)
