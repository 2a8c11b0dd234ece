"""Call the kernels of docs/arithmetic-zeroth-order.md with random data."""

from __future__ import annotations

import struct

import numpy as np

from hil.benchmarks.kernels.machine import KernelCalls

ACT_MIN, ACT_MAX = -128, 127  # ReLU6: zero is the lowest int8
LARGEST = 126  # largest unperturbed weight
EXPONENT = -16  # of a gradient by weight perturbation
RATE = 8.0  # f of the update; with scales of about 1 the steps are about a quarter


class ZerothOrder(KernelCalls):
    """Calls kernels of zeroth-order training; every method returns the number of instructions."""

    def perturb_and_restore(self, weights: int) -> int:
        """The perturbation of a layer's weights in a query, and its restoration."""
        at, signs = self._machine.put(self._rng.integers(-LARGEST, LARGEST + 1, weights, np.int8)), self._signs()
        call = self._machine.call
        return sum(call("perturb_weights_s8", at, weights, signs, k) for k in (1, -1))

    def gradient(self, weights: int, queries: int) -> int:
        """Gradient of weights from the loss differences of all queries."""
        sums = self._machine.room(4 * weights)
        return self._machine.call("signed_sums_s32", self._queries(queries), queries, weights, sums)

    def perturb_nodes(self, nodes: int) -> int:
        """The perturbation of a layer's clean output in a query."""
        clean, out = self._machine.put(self._all_of_s8(nodes)), self._machine.room(nodes)
        return self._machine.call("perturb_nodes_s8", clean, nodes, ACT_MIN, ACT_MAX, self._signs(), out)

    def node_errors(self, nodes: int, queries: int) -> int:
        """Error of a layer's output from the loss differences of all queries."""
        clean, errors = self._machine.put(self._all_of_s8(nodes)), self._machine.room(nodes)
        states, call = self._queries(queries), self._machine.call
        count = call("node_error_shift", states, queries)
        arguments = clean, nodes, ACT_MIN, ACT_MAX, states, queries, self._machine.result
        return count + call("node_errors_s8", *arguments, errors)

    def update(self, channels: int, taps: int, depthwise: bool) -> int:
        """Update of a layer's weights with quantization-aware scaling."""
        put, size = self._machine.put, channels * taps
        gradient = self._rng.integers(-(1 << 12), 1 << 12, size).astype(np.int32)
        weights = put(self._rng.integers(-LARGEST, LARGEST + 1, size, np.int8))
        arguments = put(gradient), 0, size, self._update(channels, taps, depthwise), put(np.zeros(channels, np.int32))
        return self._machine.call("apply_gradient_s8", weights, *arguments)

    def accumulate(self, size: int) -> int:
        """Addition of a sample's gradient to that of its layer."""
        put, rng = self._machine.put, self._rng
        gradient, sample = (put(rng.integers(-(1 << 20), 1 << 20, size).astype(np.int32)) for _ in "ab")
        return self._machine.call("add_gradient_s32", gradient, sample, size, 2)

    def add(self, size: int) -> int:
        """A residual connection, rounded twice."""
        inputs = [self._machine.put(self._all_of_s8(size)) for _ in "ab"]
        operands = struct.pack("<ibbxxibbxxibbxx", 0x5A00_0000, -1, -3, 0x7000_0000, 0, 4, 0x4567_0000, -20, 5)
        layer = self._machine.put(operands + struct.pack("<bb?x", ACT_MIN, ACT_MAX, False))
        return self._machine.call("tflite_add_s8", *inputs, size, layer, self._machine.room(size))

    def pack(self, positions: int, channels: int, count: int) -> int:
        """Copy of some channels of an error."""
        values, packed = self._machine.put(self._all_of_s8(positions * channels)), self._machine.room(positions * count)
        return self._machine.call("pack_channels_s8", values, positions, channels, channels - count, count, packed)

    def fold(self, channels: int, taps: int, depthwise: bool) -> int:
        """Folding of the zero point into the biases of a layer with perturbed weights."""
        put, (tap_step, channel_step) = self._machine.put, (channels, 1) if depthwise else (1, taps)
        bias, weights = put(np.zeros(channels, np.int32)), put(self._all_of_s8(channels * taps))
        arguments = taps, tap_step, channels, channel_step, -128, self._machine.room(4 * channels)
        return self._machine.call("tflite_fold_bias", bias, weights, *arguments)

    def _update(self, channels: int, taps: int, depthwise: bool) -> int:
        """Return the address of gradient_update_t (firmware/kernels/gradient_update.h)."""
        put, rng = self._machine.put, self._rng
        scales = put(rng.uniform(0.5, 2.0, channels).astype(np.float32))
        multiplier = put(rng.integers(1 << 30, 1 << 31, channels).astype(np.int32))
        shift = put(np.full(channels, -7, np.int8))
        fields = RATE, False, True, depthwise, taps, channels, 0.02, scales, multiplier, shift, EXPONENT
        return put(struct.pack("<f???xIIfIIIi", *fields))

    def _queries(self, count: int) -> int:
        states = self._rng.integers(1, 1 << 32, count, np.uint32)
        deltas = self._rng.integers(-(1 << 18), 1 << 18, count).astype(np.int32)
        return self._machine.put(np.stack([states, deltas.view(np.uint32)], axis=1))

    def _signs(self) -> int:
        return int(self._rng.integers(1, 1 << 32))
