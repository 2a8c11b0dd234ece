"""A trained layer: how its weights and biases are perturbed, estimated, updated (docs/arithmetic-zeroth-order.md).

A layer's **coordinates** are its trained weights in the order of the file, then its trained biases.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Tflite8Parameters
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.arith import bits
from hil.training.reference.floats import F
from hil.training.reference.formats.tflite8.factors import slopes
from hil.training.reference.formats.tflite8.fast import EXACT_FLOAT32, FastLayer, OwnWeights, bias_steps
from hil.training.reference.methods.update import LARGEST_BIAS, LARGEST_WEIGHT, lowered, steps

DELTA_EXPONENT = -16
LARGEST_INPUT = 255  # of a value less its zero point


class TrainedLayer:
    """A trained layer with copies of its weights and biases; `index` is its place among all layers."""

    def __init__(self, graph: Graph, settings: GraphSettings, fast: FastLayer, index: int) -> None:
        layer, own = graph.layers[index], graph.own_of(Tflite8Parameters)[index]
        self.index, self.layer, self.fast, self.parameters = index, layer, fast, own
        self.weights, self.bias = own.weights.copy(), own.bias.copy()
        self.trains_weights, self.trains_bias = settings.trains_weights, bool(settings.train_bias)
        self.by_nodes = settings.by_nodes(layer)
        self.bias_steps = bias_steps(own)
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

    def own(self) -> OwnWeights:
        """Return what a clean pass multiplies by."""
        return self.fast.own(self.weights.ravel(), self.bias, self.fast.float_type(self.weights, self.bias))

    def perturbed(self, noise: np.ndarray) -> OwnWeights:
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
        gradients = self.gradients(np.stack([error[0] for error in errors]).astype(F), x).astype(np.int64)
        return [(gradient, shift + DELTA_EXPONENT) for gradient, shift in zip(gradients, shifts, strict=True)]

    def gradients(self, errors: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the gradients of the coordinates, exact in floats, [N, coordinates].

        Args:
            errors: of the output, integers -127..127 in float32 [N, oh, ow, O].
            x: input, float32 [N, 1, H, W, C] less its zero point.
        """
        parts = []
        of_bias = np.abs(errors).sum(axis=(1, 2), dtype=np.float64).max() if errors.size else 0
        if self.trains_weights:
            dtype = F if of_bias * LARGEST_INPUT < EXACT_FLOAT32 else np.float64
            e: np.ndarray = errors.astype(dtype, copy=False)
            values: np.ndarray = x.astype(dtype, copy=False)
            if self.layer.op is Op.DEPTHWISE:
                places = self.fast.places(values, 0)
                parts += [np.einsum("nhwc,nhwc->nc", place[:, 0], e) for place in places]
            else:
                by_channel = e.reshape(len(e), -1, self.layer.channels).swapaxes(1, 2)
                parts.append((by_channel @ self.fast.patches(values)[:, 0]).reshape(len(e), -1))
        if self.trains_bias:
            parts.append(errors.sum(axis=(1, 2)))
        return np.concatenate(parts, axis=1)

    def factors(self, factor: np.ndarray | np.float32, qas: bool) -> list[np.ndarray]:
        """Return f of each trained tensor, float32 that broadcasts to it; `factor` is one a channel [O] or for all."""
        layer = self.layer
        scale, by_channel = self.parameters.scale.astype(F), np.full(layer.channels, factor, F)
        with np.errstate(over="ignore", under="ignore"):
            units = [scale] * self.trains_weights + [self._input_scale * scale] * self.trains_bias
            found = [by_channel / unit / unit if qas else by_channel for unit in units]
        if self.trains_weights and layer.op is not Op.DEPTHWISE:
            found[0] = found[0].reshape(-1, *[1] * (self.weights.ndim - 1))
        return found

    def parts(self, gradient: np.ndarray) -> list[np.ndarray]:
        """Return the part of each trained tensor of numbers for the coordinates, in its shape."""
        ends = np.cumsum([tensor.size for tensor in self.tensors])[:-1]
        return [one.reshape(its.shape) for one, its in zip(np.split(gradient, ends), self.tensors, strict=True)]

    def update(self, gradient: np.ndarray, exponent: int, factor: np.float32, qas: bool) -> None:
        """Step down a gradient int64 [coordinates] (section 6); `factor` is f after the division by N Q."""
        exponents: list[int | np.ndarray] = [exponent] * self.trains_weights
        exponents += [exponent - (0 if self.by_nodes else self.bias_steps)] * self.trains_bias
        with np.errstate(over="ignore", under="ignore"):
            of_channels = factor * slopes(self.parameters) if self.by_nodes else factor
        found = zip(self.parts(gradient), exponents, self.factors(of_channels, qas), strict=True)
        self.lower([steps(*one) for one in found])

    def lower(self, by: Sequence[np.ndarray]) -> None:
        """Lower each trained tensor by integers in its shape, within where it may rest."""
        left = iter(by)
        if self.trains_weights:
            self.weights = lowered(self.weights, next(left), LARGEST_WEIGHT)
        if self.trains_bias:
            self.bias = lowered(self.bias, next(left), LARGEST_BIAS)


def _round_shift(values: np.ndarray, shift: int) -> np.ndarray:
    """Return values / 2^shift, half away from zero, in -127..127 (docs/arithmetic.md, section 2); as they are for 0."""
    half = (1 << shift) >> 1
    rounded: np.ndarray = np.sign(values) * np.minimum((np.abs(values) + half) >> shift, 127)
    return rounded
