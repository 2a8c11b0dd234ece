"""Call the kernels of docs/arithmetic-zeroth-order.md with random data."""

from __future__ import annotations

import struct

import numpy as np

from hil.training.benchmarks.kernels.machine import KernelCalls

ACT_MIN, ACT_MAX = -128, 127  # ReLU6: zero is the lowest int8
LARGEST = 126  # largest unperturbed weight
EXPONENT = -16  # of a gradient by weight perturbation
RATE = 8.0  # f of the update; with scales of about 1 the steps are about a quarter


class ZerothOrderKernels(KernelCalls):
    """Calls kernels of zeroth-order training; every method returns the number of instructions."""

    def perturb_and_restore(self, weights: int) -> int:
        """The perturbation of a layer's weights in a query, and its restoration."""
        at, signs = self.s8(weights, LARGEST), self._signs()
        return sum(self.call("perturb_weights_s8", at, weights, signs, k) for k in (1, -1))

    def gradient(self, weights: int, queries: int) -> int:
        """Gradient of weights from the loss differences of all queries."""
        sums = self.room(4 * weights)
        return self.call("signed_sums_s32", self._queries(queries), queries, weights, sums)

    def perturb_nodes(self, nodes: int) -> int:
        """The perturbation of a layer's clean output in a query."""
        clean, out = self.all_of_s8(nodes), self.room(nodes)
        return self.call("perturb_nodes_s8", clean, nodes, ACT_MIN, ACT_MAX, self._signs(), out)

    def node_errors(self, nodes: int, queries: int) -> int:
        """Error of a layer's output from the loss differences of all queries."""
        clean, errors, states = self.all_of_s8(nodes), self.room(nodes), self._queries(queries)
        count = self.call("node_error_shift", states, queries)
        shift = self.machine.result
        return count + self.call("node_errors_s8", clean, nodes, ACT_MIN, ACT_MAX, states, queries, shift, errors)

    def update(self, channels: int, taps: int, depthwise: bool) -> int:
        """Update of a layer's weights with quantization-aware scaling."""
        size = channels * taps
        gradient = self.rng.integers(-(1 << 12), 1 << 12, size).astype(np.int32)
        weights = self.s8(size, LARGEST)
        arguments = self.put(gradient), 0, size, self._update(channels, taps, depthwise), self.zeros32(channels)
        return self.call("apply_gradient_s8", weights, *arguments)

    def accumulate(self, size: int) -> int:
        """Addition of a sample's gradient to that of its layer."""
        drawn = (self.rng.integers(-(1 << 20), 1 << 20, size).astype(np.int32) for _ in "ab")
        gradient, sample = map(self.put, drawn)
        return self.call("add_gradient_s32", gradient, sample, size, 2)

    def add(self, size: int) -> int:
        """A residual connection, rounded twice."""
        inputs = [self.all_of_s8(size) for _ in "ab"]
        operands = struct.pack("<ibbxxibbxxibbxx", 0x5A00_0000, -1, -3, 0x7000_0000, 0, 4, 0x4567_0000, -20, 5)
        layer = self.put(operands + struct.pack("<bb?x", ACT_MIN, ACT_MAX, False))
        return self.call("tflite_add_s8", *inputs, size, layer, self.room(size))

    def pack(self, positions: int, channels: int, count: int) -> int:
        """Copy of some channels of an error."""
        values, packed = self.all_of_s8(positions * channels), self.room(positions * count)
        return self.call("pack_channels_s8", values, positions, channels, channels - count, count, packed)

    def fold(self, channels: int, taps: int) -> int:
        """Folding of the zero point into the biases of a layer with perturbed weights."""
        bias, weights = self.zeros32(channels), self.all_of_s8(channels * taps)
        arguments = taps, 1, channels, taps, -128, self.room(4 * channels)
        return self.call("tflite_fold_bias", bias, weights, *arguments)

    def _update(self, channels: int, taps: int, depthwise: bool) -> int:
        """Return the address of gradient_update_t (firmware/kernels/updates.h)."""
        put, rng = self.put, self.rng
        scales = put(rng.uniform(0.5, 2.0, channels).astype(np.float32))
        multiplier = put(rng.integers(1 << 30, 1 << 31, channels).astype(np.int32))
        shift = put(np.full(channels, -7, np.int8))
        fields = RATE, False, 0.0, True, depthwise, taps, channels, 0.02, scales, multiplier, shift, EXPONENT
        return put(struct.pack("<f?xxxf??xxIIfIIIi", *fields))

    def _queries(self, count: int) -> int:
        states = self.rng.integers(1, 1 << 32, count, np.uint32)
        deltas = self.rng.integers(-(1 << 18), 1 << 18, count).astype(np.int32)
        return self.put(np.stack([states, deltas.view(np.uint32)], axis=1))

    def _signs(self) -> int:
        return int(self.rng.integers(1, 1 << 32))
