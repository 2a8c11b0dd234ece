"""A layer in `affine8` with the scales and weights of a step (docs/arithmetic-affine8.md, sections 3 and 7)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from hil.training.graph.affine8 import quantized_biases
from hil.training.graph.formats import GATED, PAIRED, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Affine8Node, Affine8Parameters
from hil.training.reference.floats import F
from hil.training.reference.formats.affine8.rescale import WIDEST, factor, quantized, rescaled
from hil.training.reference.formats.affine8.windows import columns, padded, taps, under_tap

SHARE = F(2.0**14)  # of one of the two values of an add
ONE_SIXTH = F(float.fromhex("0x1.555556p-3"))
SLOPE_ONE = 128.0  # of a hard_swish
LEAST = -1000.0  # less than any value: the padding never wins


class RunnableLayer:
    """A layer, ready to run. Values are whole numbers in float64 less their zero point, [B, H, W, C].

    Args:
        graph: whose scales follow from its ranges.
        node: one of its layers in `affine8`.

    Attributes:
        s_x: scales of the values that it reads.
        weights: `q_w - z_w`, float64 [K, O] (depthwise: [kh * kw, C]); empty without.
        s_w: scale of the weights.
        slopes: of a hard_swish by the value less -128, float64 [256].
    """

    def __init__(self, graph: Graph, node: Affine8Node) -> None:
        self.node, self.rounding = node, node.rounding
        self.s_x = [F(graph.scale_of(value)) for value in node.reads]
        self._z_x = [graph.zero_of(value) for value in node.reads]
        self._s_y, self._z_y = F(node.scale), node.zero
        self.weights = np.zeros((0, 0))
        self.s_w = F(0)
        self._limits = self._limit(node.act_min), self._limit(node.act_max)
        lowest, highest = max(self._limits[0], -128), min(self._limits[1], 127)
        self._lowest, self._highest = lowest - self._z_y, highest - self._z_y
        if node.own is not None:
            self._take_weights(node.own)
        elif node.op is Op.ADD:
            s_a, s_b = self.s_x
            largest = max(s_a, s_b)
            self._shares = [float(np.rint((s / largest) * SHARE)) for s in (s_a, s_b)]
            self._factor = factor((largest / SHARE) / self._s_y)
        elif node.op is Op.MULTIPLY:
            self._factor = factor((self.s_x[0] * self.s_x[1]) / self._s_y)
        elif node.op is Op.HARD_SWISH:
            self._take_tables()

    def _limit(self, limit: float) -> int:
        """Return limit(v), which may be beyond int8."""
        j_y = F(1) / self._s_y
        return self._z_y + int(np.rint(min(max(F(limit) * j_y, -WIDEST), WIDEST)))

    def _take_weights(self, own: Affine8Parameters) -> None:
        self.s_w = F(own.scale)
        centred = own.weights.astype(np.float64) - own.zero
        depthwise, channels = self.node.op is Op.DEPTHWISE, self.node.channels
        self.weights = centred.reshape(-1, channels) if depthwise else centred.reshape(channels, -1).T
        self._bias = quantized_biases(own.bias, self.s_x[0], self.s_w).astype(np.float64)
        self._factor = factor((self.s_x[0] * self.s_w) / self._s_y)

    def _take_tables(self) -> None:
        """Make output and slope of a hard_swish for every value."""
        x = self.s_x[0] * (np.arange(-128, 128) - self._z_x[0]).astype(F)
        t = np.minimum(np.maximum(x + F(3), F(0)), F(6))
        y = (x * t) * ONE_SIXTH
        self._outputs = (quantized(y, F(1) / self._s_y, self._z_y, self.rounding) - self._z_y).astype(np.float64)
        d = np.rint((((F(2) * x) + F(3)) * ONE_SIXTH) * F(SLOPE_ONE))
        self.slopes = np.where(x <= -3, 0.0, np.where(x >= 3, SLOPE_ONE, d)).astype(np.float64)

    def run(self, reads: Sequence[np.ndarray]) -> np.ndarray:
        """Return the output, whole numbers in float64 less their zero point, of the values that it reads."""
        node, x = self.node, reads[0]
        if node.op is Op.HARD_SWISH:
            found: np.ndarray = self._outputs[self.table_index(x)]
            return found
        if node.op is Op.MAX_POOL:
            return reduce(np.maximum, self.places(x, LEAST))
        if node.op is Op.AVERAGE_POOL:
            return self._average_pool(x)
        if node.op in PAIRED:
            acc = x * self._shares[0] + reads[1] * self._shares[1] if node.op is Op.ADD else x * reads[1]
        else:
            acc = self._sums(x)
            acc += self._bias
        out = rescaled(acc, *self._factor, self.rounding)
        return np.clip(out, self._lowest, self._highest, out=out)

    def table_index(self, x: np.ndarray) -> np.ndarray:
        """Return the places in the tables of a hard_swish of values less their zero point."""
        return (x + (self._z_x[0] + 128)).astype(np.intp)

    def _sums(self, x: np.ndarray) -> np.ndarray:
        if self.node.op is Op.DEPTHWISE:
            places = self.places(x)
            acc: np.ndarray = places[0] * self.weights[0]
            for tap, place in zip(self.weights[1:], places[1:], strict=True):
                acc += place * tap
            return acc
        seen = columns(self.node, x)
        acc = seen.reshape(-1, seen.shape[2]) @ self.weights
        return acc.reshape(len(x), *self.node.out_shape)

    def places(self, x: np.ndarray, outside: float = 0.0) -> list[np.ndarray]:
        """Return what lies under each tap of the windows, [B, oh, ow, C] each."""
        whole = padded(self.node, x, outside)
        return [under_tap(self.node, whole, ky, kx) for ky, kx in taps(self.node)]

    def _average_pool(self, x: np.ndarray) -> np.ndarray:
        """A quotient of integers below 2^24 that is no integer is further from one than its rounding in float64."""
        zero = self._z_x[0]
        count = sum(self.places(np.ones((1, *x.shape[1:3], 1))))
        total = sum(self.places(x)) + zero * count
        if self.rounding == "nearest":
            total = total + np.floor(count / 2)
        mean: np.ndarray = np.floor(total / count) - zero
        return mean

    def gate(self, out: np.ndarray) -> np.ndarray | None:
        """Return where the error of an output stays, bool [B, oh, ow, O]; None if it stays everywhere."""
        if self.node.op not in GATED:
            return None
        low, high = (limit - self._z_y for limit in self._limits)
        if low < -128 - self._z_y and high > 127 - self._z_y:
            return None
        return (out > low) & (out < high)
