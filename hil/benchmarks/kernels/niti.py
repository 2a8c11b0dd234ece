"""Call the kernels in NITI's convention (docs/arithmetic.md) with random data.

A forward pass includes its requantization, as in a layer of a network.
"""

from __future__ import annotations

import struct

import numpy as np

from hil.benchmarks.kernels.machine import KernelCalls
from hil.benchmarks.kernels.shapes import Shape

SCRATCH = 1 << 16  # more than any kernel needs
P_ZERO, R_MAX = 84, 7  # of the noise
POOL, STREAM = 0x2545_F491, 0x9E37_79B9  # states of the generator
MOVES_WORDS = 1024  # firmware/kernels/move_s8.h


class Niti(KernelCalls):
    """Calls kernels in NITI's convention; every method returns the number of instructions."""

    def conv2d(self, shape: Shape) -> int:
        """Convolution and requantization."""
        call, put, room = self._machine.call, self._put, self._machine.room
        acc = room(4 * shape.outputs)
        weights, layer = put(shape.out_c * shape.taps), self._machine.put(shape.packed())
        count = call("conv2d_s8", put(shape.inputs), weights, layer, room(SCRATCH), acc)
        return count + call("requantize_s8", acc, shape.outputs, room(shape.outputs))

    def fully_connected(self, inputs: int, outputs: int) -> int:
        """Product with a matrix, and requantization."""
        acc = self._machine.room(4 * outputs)
        count = self._machine.call(
            "fully_connected_s8", self._put(inputs), self._put(inputs * outputs), inputs, outputs, acc
        )
        return count + self._machine.call("requantize_s8", acc, outputs, self._machine.room(outputs))

    def max_pool(self, shape: Shape) -> int:
        """Pooling of 2 x 2."""
        layer = Shape(shape.out_h, shape.out_w, shape.out_c, shape.out_c, 2)
        packed = bytearray(layer.packed())
        packed[6:10] = (layer.in_h // 2).to_bytes(2, "little") + (layer.in_w // 2).to_bytes(2, "little")
        out = self._machine.room(shape.outputs)
        return self._machine.call("max_pool_s8", self._put(shape.outputs), self._machine.put(bytes(packed)), out)

    def relu(self, count: int) -> int:
        """Rectification in place."""
        return self._machine.call("relu_s8", self._put(count), count)

    def conv2d_weight_gradient(self, shape: Shape) -> int:
        """Exact gradient of a convolution's weights, added to a gradient."""
        gradient = self._machine.put(np.zeros(shape.out_c * shape.taps, np.int32))
        layer, scratch = self._machine.put(shape.packed()), self._machine.room(SCRATCH)
        error = self._put(shape.outputs)
        return self._machine.call(
            "conv2d_s8_weight_gradient", self._put(shape.inputs), error, layer, 0, scratch, gradient
        )

    def conv2d_input_error(self, shape: Shape) -> int:
        """Error of a convolution's input."""
        acc, layer = self._machine.room(4 * shape.inputs), self._machine.put(shape.packed())
        weights = self._put(shape.out_c * shape.taps)
        return self._machine.call("conv2d_s8_input_error", self._put(shape.outputs), weights, layer, acc)

    def fully_connected_weight_gradient(self, inputs: int, outputs: int) -> int:
        """Outer product of error and input, added to a gradient."""
        gradient = self._machine.put(np.zeros(inputs * outputs, np.int32))
        return self._machine.call(
            "fully_connected_s8_weight_gradient", self._put(inputs), self._put(outputs), inputs, outputs, 0, gradient
        )

    def fully_connected_input_error(self, inputs: int, outputs: int) -> int:
        """Product of the error with the transposed matrix."""
        acc, weights = self._machine.room(4 * inputs), self._put(inputs * outputs)
        return self._machine.call("fully_connected_s8_input_error", self._put(outputs), weights, inputs, outputs, acc)

    def perturb_and_update(self, weights: int, limit: int) -> int:
        """All changes of a tensor in a zeroth-order step: to plus, to minus, and restored and updated at once.

        The weights are random within the limit.
        """
        call, noise = self._machine.call, (P_ZERO | R_MAX << 8, POOL)
        at = self._machine.put(self._rng.integers(-limit, limit + 1, weights, np.int8))
        moves = self._machine.put(struct.pack("<II", self._machine.room(4 * MOVES_WORDS), 0))
        count = 0
        for k in (1, -2):
            count += call("moves_to_perturb", moves, *noise, k, limit) + call("move_s8", at, weights, STREAM, moves)
        return count + call("moves_to_update", moves, *noise, 1, 1, limit) + call("move_s8", at, weights, STREAM, moves)

    def digest(self, size: int) -> int:
        """XXH32 of a tensor."""
        return self._machine.call("xxh32", self._put(size), size, 0)

    def lenet5(self) -> int:
        """All layers of LeNet-5, one sample."""
        first, second = Shape(28, 28, 1, 6, 5, 2), Shape(14, 14, 6, 16, 5, 2)
        count = 0
        for shape in (first, second):
            count += self.conv2d(shape) + self.relu(shape.outputs) + self.max_pool(shape)
        for inputs, outputs in ((784, 120), (120, 84)):
            count += self.fully_connected(inputs, outputs) + self.relu(outputs)
        return count + self.fully_connected(84, 10)

    def _put(self, size: int) -> int:
        """Put random int8 in -127..127 into memory."""
        return self._machine.put(self._rng.integers(-127, 128, size, np.int8))
