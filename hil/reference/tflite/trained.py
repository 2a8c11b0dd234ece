"""A layer that a method trains: its weights and biases, how they are perturbed, estimated and updated (docs/arithmetic-zeroth-order.md).

A layer's **coordinates** are its trained weights in the order of the file, then its trained biases.
"""

from __future__ import annotations

import numpy as np

from hil.network.tflite.layers import Graph, GraphOp
from hil.network.tflite.settings import GraphSettings
from hil.reference.arith import bits
from hil.reference.floats import F
from hil.reference.tflite.fast import FastLayer, Own, bias_steps
from hil.reference.tflite.update import LARGEST_BIAS, LARGEST_WEIGHT, stepped

DELTA_EXPONENT = -16
EXACT_FLOAT32 = 2**24
LARGEST_PRODUCT = 127 * 255


class TrainedLayer:
    """A trained layer with its state.

    Args:
        graph: whose layer it is; its weights and biases are copied.
        settings: what is trained and perturbed.
        fast: the layer, ready to run.
        index: its place among all layers.
    """

    def __init__(self, graph: Graph, settings: GraphSettings, fast: FastLayer, index: int) -> None:
        layer = graph.layers[index]
        assert layer.own is not None
        self.index, self.layer, self.fast = index, layer, fast
        self.weights, self.bias = layer.own.weights.copy(), layer.own.bias.copy()
        self.trains_weights, self.trains_bias = settings.trains_weights, bool(settings.train_bias)
        self.by_nodes = settings.by_nodes(layer)
        self.bias_steps = bias_steps(layer)
        self._input_scale = F(graph.scale_of(layer.reads[0]))

    @property
    def tensors(self) -> list[np.ndarray]:
        """What is trained: int8 weights, int32 biases, or both in this order."""
        return [self.weights] * self.trains_weights + [self.bias] * self.trains_bias

    @property
    def coordinates(self) -> int:
        """How many trained weights and biases there are."""
        return sum(tensor.size for tensor in self.tensors)

    @property
    def dimension(self) -> int:
        """Numbers that a query draws: one a node, or one a coordinate."""
        return self.layer.out_size if self.by_nodes else self.coordinates

    def clip(self) -> None:
        """Bring what is trained to where it may rest (section 2)."""
        if self.trains_weights:
            self.weights = np.clip(self.weights, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        if self.trains_bias:
            self.bias = np.clip(self.bias, -LARGEST_BIAS, LARGEST_BIAS)

    def own(self) -> Own:
        """Return what a clean pass multiplies by."""
        return self.fast.own(self.weights.ravel(), self.bias, self.fast.float_type(self.weights, self.bias))

    def perturbed(self, noise: np.ndarray) -> Own:
        """Return what passes with noise on the coordinates, int8 [N, Q, coordinates], multiply by."""
        dtype = self.fast.float_type(self.weights, self.bias)
        weights, bias = self.weights.ravel().astype(dtype), self.bias.astype(dtype)
        if self.trains_weights:
            weights = weights + noise[..., : self.weights.size]
        if self.trains_bias:
            bias = bias + noise[..., -len(self.bias) :] * np.exp2(self.bias_steps).astype(dtype)
        return self.fast.own(weights, bias, dtype)

    def from_nodes(
        self, sums: np.ndarray, magnitude: np.ndarray, x: np.ndarray, out: np.ndarray
    ) -> list[tuple[np.ndarray, int]]:
        """Return the gradient of the coordinates, int64, and its exponent, of every sample (section 5, NP).

        Args:
            sums: integers [N, outputs]: the sum over the queries of delta * xi.
            magnitude: int64 [N]: that of |delta|.
            x: clean input, float32 [N, 1, H, W, C] less its zero point.
            out: clean output, [N, 1, oh, ow, O].
        """
        gated = np.where((out > self.fast.low) & (out < self.fast.high), sums.reshape(out.shape), 0).astype(np.int64)
        shifts = [max(bits(int(total)) - 7, 0) for total in magnitude]
        errors = [_round_shift(one, shift) for one, shift in zip(gated, shifts, strict=True)]
        gradients = [self._gradient(error, one) for error, one in zip(errors, x, strict=True)]
        return [(gradient, shift + DELTA_EXPONENT) for gradient, shift in zip(gradients, shifts, strict=True)]

    def _gradient(self, error: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the gradient of the coordinates of one sample, int64, of its error [1, oh, ow, O] and input [1, H, W, C]."""
        parts = []
        positions = error.shape[1] * error.shape[2]
        dtype = np.float32 if positions * LARGEST_PRODUCT < EXACT_FLOAT32 else np.float64
        if self.trains_weights:
            e, values = error.astype(dtype), x[None].astype(dtype)
            if self.layer.op is GraphOp.DEPTHWISE:
                places = self.fast.places(values, 0)
                parts.append(np.concatenate([np.einsum("hwc,hwc->c", place[0, 0], e[0]) for place in places]))
            else:
                parts.append((e.reshape(positions, -1).T @ self.fast.patches(values)[0, 0]).ravel())
        if self.trains_bias:
            parts.append(error.sum(axis=(0, 1, 2)))
        return np.concatenate([part.astype(np.int64) for part in parts])

    def update(self, gradient: np.ndarray, exponent: int, factor: np.float32, qas: bool) -> None:
        """Step down a gradient (section 6).

        Args:
            gradient: int64 [coordinates].
            exponent: E.
            factor: f after the division by N Q.
            qas: whether quantization-aware scaling is on.
        """
        own, layer = self.layer.own, self.layer
        assert own is not None
        with np.errstate(over="ignore", under="ignore"):
            factors = np.full(layer.channels, factor, F)
            if self.by_nodes:
                factors = factors * np.ldexp(own.multiplier.astype(F), own.shift.astype(np.int32) - 31)
            scale = own.scale.astype(F)
            weight_factor, bias_factor = factors, factors
            if qas:
                weight_factor = factors / scale / scale
                bias_scale = self._input_scale * scale
                bias_factor = factors / bias_scale / bias_scale
        if self.trains_weights:
            part = gradient[: self.weights.size].reshape(self.weights.shape)
            if layer.op is not GraphOp.DEPTHWISE:
                weight_factor = weight_factor.reshape(-1, *[1] * (self.weights.ndim - 1))
            self.weights = stepped(self.weights, part, np.asarray(exponent), weight_factor, LARGEST_WEIGHT)
        if self.trains_bias:
            part = gradient[-len(self.bias) :]
            exponents = exponent - (0 if self.by_nodes else self.bias_steps)
            self.bias = stepped(self.bias, part, np.asarray(exponents), bias_factor, LARGEST_BIAS)


def _round_shift(values: np.ndarray, shift: int) -> np.ndarray:
    """Return values / 2^shift, half away from zero, in -127..127 (docs/arithmetic.md, section 2); unchanged where the shift is 0."""
    half = (1 << shift) >> 1
    return np.sign(values) * np.minimum((np.abs(values) + half) >> shift, 127)
