"""Call the kernels of `w16a8` (docs/arithmetic-w16a8.md) and of QZO-FF's directions with random data."""

from __future__ import annotations

import struct

import numpy as np

from hil.training.benchmarks.kernels.machine import KernelCalls
from hil.training.benchmarks.kernels.shapes import LayerShape

INPUT_ZERO, OUTPUT_ZERO, ACT_MIN, ACT_MAX = -128, -128, -128, 127  # ReLU6: zero is the lowest int8
LARGEST = 32767  # w_max
MULTIPLIER = 0x5A00_0000
FIELDS = 512  # of the pool of a step
EPSILON_STEPS = 33  # eps_q of weights whose largest magnitude is about 1, with epsilon = 0.001
POOL_STATE, STREAM_STATE = 0x1234_5678, 0x9264_E314


class W16a8(KernelCalls):
    """Calls kernels with int16 weights; every method returns the number of instructions."""

    def convolution(self, shape: LayerShape) -> int:
        """Convolution, also 1 x 1."""
        x, w, layer = self.all_of_s8(shape.inputs), self.s16(shape.out_c * shape.taps), self.put(shape.packed())
        self.call("w16a8_conv2d_scratch", layer)
        scratch, out = self.room(self.machine.result), self.room(shape.outputs)
        return self.call("w16a8_conv2d", x, w, layer, self._layer(shape.out_c, shape.taps), scratch, out)

    def depthwise(self, shape: LayerShape) -> int:
        """Depthwise convolution."""
        taps = shape.kernel * shape.kernel
        x, w, layer = self.all_of_s8(shape.inputs), self.s16(taps * shape.out_c), self.put(shape.packed())
        return self.call("w16a8_depthwise", x, w, layer, self._layer(shape.out_c, taps), self.room(shape.outputs))

    def fully_connected(self, inputs: int, outputs: int) -> int:
        """Fully connected layer."""
        x, w = self.all_of_s8(inputs), self.s16(inputs * outputs)
        self.call("w16a8_fully_connected_scratch", inputs)
        arguments = self._layer(outputs, inputs), self.room(self.machine.result), self.room(outputs)
        return self.call("w16a8_fully_connected", x, w, inputs, outputs, *arguments)

    def perturb_and_update(self, weights: int) -> int:
        """The moves of a step with one direction: w + d, w - d, and back together with the update.

        The pool of the step is made once, and once for each move, as the method does (qzo_ff_moves.c).
        """
        at = self.s16(weights, LARGEST - 1024)
        by = self.room(8 * FIELDS)
        moves = self.put(struct.pack("<IB3xi", by, 0, 0))
        z = np.arange(-128, 128) // 2  # as odd as a table of directions: T[255 - i] = -T[i]
        z[:128] = -z[:127:-1]
        d = np.sign(z) * ((np.abs(z) * EPSILON_STEPS + 16) >> 5)
        of = [self.put(table.astype(np.int16)) for table in (d, -2 * d, d - z)]
        count = 0
        for table in of[:2]:
            count += self.call("direction_to_perturb", moves, POOL_STATE, table)
            count += self.call("direction_move_s16", at, weights, STREAM_STATE, moves)
        count += self.call("direction_to_update", moves, POOL_STATE, of[2], LARGEST - 64)
        return count + self.call("direction_move_s16", at, weights, STREAM_STATE, moves)

    def s16(self, size: int, largest: int = LARGEST) -> int:
        """Put random int16 in -largest..largest into memory."""
        return self.put(self.rng.integers(-largest, largest + 1, size, np.int16))

    def _layer(self, channels: int, taps: int) -> int:
        """Return the address of w16a8_layer_t (firmware/kernels/w16a8.h); outputs fill int8 with so many `taps`."""
        bias = self.put(self.rng.integers(-1000, 1000, channels).astype(np.int32))
        shift = -int(np.log2(taps) / 2 + 15)
        fields = INPUT_ZERO, OUTPUT_ZERO, ACT_MIN, ACT_MAX, MULTIPLIER, shift, bias
        return self.put(struct.pack("<4bIiI", *fields))
