"""Layers with a leading axis of samples and one of queries, in floats that are exact integers.

Values are float32 [N, R, H, W, C] **less their zero point**, so that padding is 0. R is Q where passes differ and 1
where they do not, and broadcasts. Sums of products run through BLAS in float32 where no partial sum can reach 2^24,
else in float64. What floats cannot hold (`FloatScaling.of`) is rescaled in int64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import AddFactors, MeanFactor, Quantized, Table, Tflite8Parameters
from hil.training.reference.arith import INT32_MAX
from hil.training.reference.formats.tflite8.rescale import Quantization, requantize, rescale
from hil.training.reference.formats.tflite8.scaling import FloatScaling

EXACT_FLOAT32 = 2**24
ADD_HEADROOM = 20  # bits by which the inputs of an add are raised
LARGEST_BIAS_STEP = 20  # bits of the largest perturbation of a bias
NEVER = -1000.0  # less than any value: the padding never wins


def bias_steps(own: Tflite8Parameters) -> np.ndarray:
    """Return the exponent of m_o of every output channel, int64 [O] (docs/arithmetic-zeroth-order.md, section 3)."""
    return np.clip(-own.shift.astype(np.int64), 0, LARGEST_BIAS_STEP)


@dataclass(frozen=True, eq=False)
class OwnWeights:
    """Weights [K, O] (depthwise: [kh * kw, C]) and biases [O] of a layer in floats; with [N, Q, ...] one set a pass."""

    weights: np.ndarray
    bias: np.ndarray


class FastLayer:
    """One layer of a graph, ready to run."""

    def __init__(self, graph: Graph, layer: Quantized) -> None:
        self.layer, self._rounding = layer, layer.rounding
        self.zeros = [graph.zero_of(value) for value in layer.reads]
        self.low, self.high = layer.act_min - layer.zero, layer.act_max - layer.zero
        self._scaling = None
        if isinstance(layer.own, Tflite8Parameters):
            self._own = own = layer.own
            self._scaling = FloatScaling.of(own.multiplier, own.shift, layer.rounding, self.low, self.high)
        match layer.factors:
            case AddFactors() as factors:
                self._sums = self._sums_of_pairs(factors)
            case MeanFactor() as factor:
                self._factor_of_mean = factor
            case Table() as table:
                self._table = (table.outputs.astype(np.int64) - layer.zero).astype(np.float32)

    def _sums_of_pairs(self, factors: AddFactors) -> np.ndarray:
        """Return the output of an add for all pairs of values, float32 [65536]."""
        values, rounding = np.arange(-128, 128), self._rounding
        multipliers, shifts = (np.array(numbers) for numbers in (factors.multipliers, factors.shifts))
        a, b = (
            rescale((values - zero) << ADD_HEADROOM, multipliers[place], shifts[place], rounding)
            for place, zero in enumerate(self.zeros)
        )
        return self._requantized((a[:, None] + b).ravel(), multipliers[2], shifts[2])

    def _requantized(self, acc: np.ndarray, multiplier: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """Return outputs less their zero point, float32, of sums in int64."""
        layer = self.layer
        limits = (layer.zero, layer.act_min, layer.act_max)
        out = requantize(acc, Quantization(self.zeros[0], *limits, multiplier, shift, self._rounding))
        return out.astype(np.float32) - np.float32(layer.zero)

    def float_type(self, weights: np.ndarray, bias: np.ndarray) -> type[np.float32] | type[np.float64]:
        """Return the float type that holds every partial sum with any input, perturbed by one step everywhere.

        Raises:
            OverflowError: a sum of these int8 weights, in the layer's shape, and int32 biases [O] might leave int32.
        """
        channels_last = self.layer.op is Op.DEPTHWISE
        by_tap = (
            weights.reshape(-1, self.layer.channels) if channels_last else weights.reshape(self.layer.channels, -1).T
        )
        largest_input = max(127 - self.zeros[0], 128 + self.zeros[0])
        per_channel = np.abs(by_tap.astype(np.int64)).sum(axis=0) + self.layer.taps
        bound = int((largest_input * per_channel + np.abs(bias.astype(np.int64)) + (1 << bias_steps(self._own))).max())
        if bound > INT32_MAX:
            raise OverflowError(
                f"{self.layer.name}: a sum may reach {bound}, outside int32; it has too many taps or too large a bias"
            )
        return np.float32 if bound < EXACT_FLOAT32 else np.float64

    def own(self, weights: np.ndarray, bias: np.ndarray, dtype: type[np.float32] | type[np.float64]) -> OwnWeights:
        """Return weights and biases in the layout that this layer multiplies in, in the type that `float_type` says.

        Args:
            weights: integers [..., weights], flattened in the order of the file; leading axes: none, or [N, Q].
            bias: integers [..., O].
            dtype: of both.
        """
        lead = weights.shape[:-1]
        if self.layer.op is Op.DEPTHWISE:
            matrix = weights.reshape(*lead, -1, self.layer.channels).astype(dtype)
        else:
            matrix = weights.astype(dtype).reshape(*lead, self.layer.channels, -1).swapaxes(-1, -2)
        return OwnWeights(matrix, bias.astype(dtype))

    def run(self, inputs: Sequence[np.ndarray], own: OwnWeights | None) -> np.ndarray:
        """Return the output, float32 [N, R, oh, ow, O], of what the layer reads and its weights."""
        op = self.layer.op
        if op is Op.ADD:
            a, b = (x + np.float32(zero + 128) for x, zero in zip(inputs, self.zeros, strict=True))
            return self._sums[(a * np.float32(256) + b).astype(np.int32)]
        if op is Op.MAX_POOL:
            return self._max_pool(inputs[0])
        if op is Op.AVERAGE_POOL:
            return self._average_pool(inputs[0])
        if op is Op.MEAN:
            return self._mean(inputs[0])
        if op is Op.TABLE:
            return self._table[(inputs[0] + np.float32(self.zeros[0] + 128)).astype(np.int32)]
        assert own is not None
        return self.scaled(self.sums(inputs[0], own))

    def sums(self, x: np.ndarray, own: OwnWeights) -> np.ndarray:
        """Return acc, exact in floats, [N, R, oh, ow, O]."""
        if self.layer.op is Op.DEPTHWISE:
            acc = self._depthwise(x, own.weights)
        else:
            acc = self._product(self.patches(x).astype(own.weights.dtype, copy=False), own.weights)
        bias: np.ndarray = own.bias[..., None, None, :]
        if own.bias.ndim > 1 and own.weights.ndim == 2:  # passes that differ in their biases only
            acc = acc + bias
        else:
            acc += bias
        return acc

    def patches(self, x: np.ndarray) -> np.ndarray:
        """Return what the taps of every output position see, [N, R, positions, taps of all channels]."""
        layer = self.layer
        lead = x.shape[:2]
        if layer.op is Op.FULLY_CONNECTED:
            return x.reshape(*lead, 1, -1)
        if layer.op is Op.POINTWISE:
            return x.reshape(*lead, -1, x.shape[-1])
        seen = sliding_window_view(self._padded(x, 0), layer.kernel, axis=(2, 3))  # [..., C, kh, kw]
        down, across = layer.stride
        seen = np.moveaxis(seen[:, :, ::down, ::across], 4, -1)
        return seen.reshape(*lead, layer.out_shape[0] * layer.out_shape[1], -1)

    def _product(self, patches: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if weights.ndim == 2:
            acc: np.ndarray = patches.reshape(-1, patches.shape[-1]) @ weights
            return acc.reshape(*patches.shape[:2], *self.layer.out_shape)
        acc = patches @ weights
        return acc.reshape(*acc.shape[:2], *self.layer.out_shape)

    def _padded(self, x: np.ndarray, outside: float) -> np.ndarray:
        """Return x with what lies around it, cut to what the windows cover."""
        layer, (top, left) = self.layer, self.layer.pad
        spans = [(layer.out_shape[axis] - 1) * layer.stride[axis] + layer.kernel[axis] for axis in (0, 1)]
        if (top, left) == (0, 0) and spans[0] <= x.shape[2] and spans[1] <= x.shape[3]:
            return x[:, :, : spans[0], : spans[1]]
        padded = np.full((*x.shape[:2], *spans, x.shape[4]), outside, x.dtype)
        inside = padded[:, :, top : top + x.shape[2], left : left + x.shape[3]]
        inside[...] = x[:, :, : inside.shape[2], : inside.shape[3]]
        return padded

    def places(self, x: np.ndarray, outside: float) -> list[np.ndarray]:
        """Return for every tap in row-major order what all windows have there, views [N, R, oh, ow, C]."""
        padded, (down, across) = self._padded(x, outside), self.layer.stride
        height, width, _ = self.layer.out_shape
        return [
            padded[:, :, ky : ky + (height - 1) * down + 1 : down, kx : kx + (width - 1) * across + 1 : across]
            for ky in range(self.layer.kernel[0])
            for kx in range(self.layer.kernel[1])
        ]

    def _depthwise(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        places = self.places(x.astype(weights.dtype, copy=False), 0)
        acc: np.ndarray = places[0] * weights[..., 0, None, None, :]
        product = np.empty_like(acc)
        for tap, place in enumerate(places[1:], 1):
            np.multiply(place, weights[..., tap, None, None, :], out=product)
            acc += product
        return acc

    def _max_pool(self, x: np.ndarray) -> np.ndarray:
        first, *rest = self.places(x, NEVER)
        out = first.copy()
        for place in rest:
            np.maximum(out, place, out=out)
        return np.clip(out, self.low, self.high, out=out)

    def _average_pool(self, x: np.ndarray) -> np.ndarray:
        """Use float64: a quotient of integers below 2^24 that is no integer is further from one than its rounding."""
        zero = self.zeros[0]
        count = sum(self.places(np.ones((1, 1, *x.shape[2:4], 1)), 0))
        total = sum(place.astype(np.float64) for place in self.places(x, 0)) + zero * count
        mean = np.trunc((total + np.copysign(np.floor(count / 2), total)) / count)
        held: np.ndarray = np.clip(mean - zero, self.low, self.high)
        return held.astype(np.float32)

    def _mean(self, x: np.ndarray) -> np.ndarray:
        factor = self._factor_of_mean
        acc = x.sum(axis=(2, 3), keepdims=True, dtype=np.float64).astype(np.int64)
        return self._requantized(acc, np.array([factor.multiplier]), np.array([factor.shift]))

    def scaled(self, acc: np.ndarray, channels: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return outputs less their zero point, float32 [..., O], of sums [..., O] of these output channels."""
        if self._scaling is not None:
            return self._scaling.of_channels(channels).apply(acc)
        own = self._own
        factors = own.multiplier[channels].astype(np.int64), own.shift[channels].astype(np.int64)
        return self._requantized(acc.astype(np.int64), *factors)
