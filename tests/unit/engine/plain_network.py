"""Sections 3, 4 of docs/arithmetic-affine8.md and 7 of docs/arithmetic-fqt.md in fractions, from the text alone.

All values are 1 x 1, so a layer with weights is a matrix and an add or a multiply goes channel by channel.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from engine.plain_affine8 import Error, clamp, error_of_sums, factor, near, params, quantized, rescaled
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node

SMALLEST_WIDTH, WIDEST = Fraction(2) ** -20, Fraction(2**30)
QUARTERS = Fraction(2**14)


def exact(x: float | np.floating) -> Fraction:
    """Return a binary32 number as it is."""
    return Fraction(float(np.float32(x)))


@dataclass
class PlainLayer:
    """A layer in affine8: weights [output][input] as stored, real numbers in fractions."""

    op: Op
    reads: tuple[int, ...]
    low: Fraction
    high: Fraction
    act_min: Fraction
    act_max: Fraction
    weights: list[list[int]]
    bias: list[Fraction]
    s_w: Fraction
    z_w: int

    @classmethod
    def of(cls, node: Node) -> PlainLayer:
        """Take what the file has of a layer."""
        assert node.out_shape[:2] == (1, 1)
        ends = (exact(node.low), exact(node.high), exact(node.act_min), exact(node.act_max))
        if node.own is None:
            return cls(node.op, node.reads, *ends, [], [], Fraction(0), 0)
        assert node.op in (Op.FULLY_CONNECTED, Op.POINTWISE)
        rows = node.own.weights.reshape(node.channels, -1).tolist()
        return cls(
            node.op, node.reads, *ends, rows, [exact(b) for b in node.own.bias], exact(node.own.scale), node.own.zero
        )

    def take(self, weights: bytes, biases: bytes) -> None:
        """Take trained tensors as they are digested: section 8 there. Without weights: the range alone."""
        if not self.weights:
            self.low, self.high = map(Fraction, struct.unpack("<2f", weights))
            return
        inputs = len(self.weights[0])
        count = inputs * len(self.weights)
        flat = struct.unpack_from(f"<{count}b", weights)
        self.weights = [list(flat[first : first + inputs]) for first in range(0, count, inputs)]
        s_w, self.z_w, low, high = struct.unpack_from("<fb3x2f", weights, -(-count // 4) * 4)
        self.s_w, self.low, self.high = Fraction(s_w), Fraction(low), Fraction(high)
        self.bias = [Fraction(b) for b in struct.unpack(f"<{len(self.bias)}f", biases)]


class PlainNetwork:
    """A graph whose values are 1 x 1."""

    def __init__(self, graph: Graph) -> None:
        self.layers = [PlainLayer.of(node) for node in graph.layers]
        self._input, self.rounding = (exact(graph.scale), graph.zero), graph.affine_rounding

    def take(self, tensors: list[bytes]) -> None:
        """Take all trained tensors, in their order."""
        left = iter(tensors)
        for layer in self.layers:
            layer.take(next(left), next(left) if layer.weights else b"")

    def scale(self, value: int) -> tuple[Fraction, Fraction, int]:
        """Return s, j, z of a value."""
        if value == 0:
            return self._input[0], near(1 / self._input[0]), self._input[1]
        layer = self.layers[value - 1]
        return params(layer.low, layer.high, self.rounding)

    def limit(self, index: int, end: Fraction) -> int:
        """Return limit(end) of the output of a layer."""
        _, j, z = self.scale(index + 1)
        return z + round(clamp(near(end * j), -512, 512))

    def values(self, pixels: list[int]) -> list[list[int]]:
        """Return the values of a forward pass, as stored."""
        values = [[p - 128 for p in pixels]]
        for index in range(len(self.layers)):
            values.append(self._run(index, values))
        return values

    def _run(self, index: int, values: list[list[int]]) -> list[int]:
        layer, (s_y, j_y, z_y) = self.layers[index], self.scale(index + 1)
        inputs, scales = [values[value] for value in layer.reads], [self.scale(value) for value in layer.reads]
        (s_a, _, z_a), (s_b, _, z_b) = scales[0], scales[-1]
        a, b = ([q - z for q in each] for each, z in ((inputs[0], z_a), (inputs[-1], z_b)))
        if layer.op is Op.HARD_SWISH:
            sixth, out = Fraction(float.fromhex("0x1.555556p-3")), []
            for x in (near(s_a * q) for q in a):
                t = clamp(near(x + 3), 0, 6)
                out.append(quantized(near(near(x * t) * sixth), j_y, z_y, self.rounding))
            return out
        if layer.op is Op.MULTIPLY:
            acc, unit = [p * q for p, q in zip(a, b, strict=True)], near(s_a * s_b)
        elif layer.op is Op.ADD:
            of_a, of_b = (round(near(s / max(s_a, s_b)) * QUARTERS) for s in (s_a, s_b))
            acc = [p * of_a + q * of_b for p, q in zip(a, b, strict=True)]
            unit = near(max(s_a, s_b) / QUARTERS)
        else:
            unit = near(s_a * layer.s_w)
            j_b = near(1 / unit)
            start = [round(clamp(near(bias * j_b), -(2**29), 2**29)) for bias in layer.bias]
            acc = [
                first + sum(q * (w - layer.z_w) for q, w in zip(a, row, strict=True))
                for first, row in zip(start, layer.weights, strict=True)
            ]
        m, n = factor(near(unit / s_y))
        least, most = max(self.limit(index, layer.act_min), -128), min(self.limit(index, layer.act_max), 127)
        return [min(max(z_y + rescaled(each, m, n, self.rounding), least), most) for each in acc]

    def smallest_width(self, index: int) -> Fraction:
        """Return W of a layer, from the scales of now."""
        layer = self.layers[index]
        s = [self.scale(value)[0] for value in layer.reads]
        if layer.op is Op.HARD_SWISH:
            width = Fraction(0)
        elif layer.op is Op.MULTIPLY:
            width = near(255 * near(s[0] * s[1]))
        elif layer.op is Op.ADD:
            width = near(255 * near(max(s) / QUARTERS))
        else:
            width = near(255 * near(s[0] * layer.s_w))
        return max(width, SMALLEST_WIDTH)

    def passed_error(self, index: int, error: Error, values: list[list[int]]) -> Error:
        """Return the error of what a layer with weights reads, with all channels and the range of the sample."""
        layer, q_y = self.layers[index], values[index + 1]
        least, most = self.limit(index, layer.act_min), self.limit(index, layer.act_max)
        e = [q - error.z if least < y < most else 0 for q, y in zip(error.q, q_y, strict=True)]
        acc = [
            sum((row[i] - layer.z_w) * one for row, one in zip(layer.weights, e, strict=True))
            for i in range(len(layer.weights[0]))
        ]
        return error_of_sums(acc, near(layer.s_w * error.s), self.rounding)


def moved_range(
    network: PlainNetwork,
    index: int,
    old: tuple[Fraction, Fraction, Fraction, int],
    seen: tuple[int, int],
    momentum: Fraction,
    growth: Fraction,
) -> tuple[Fraction, Fraction]:
    """Return low and high of a layer after a step; the layers before it, and its weights, have moved already.

    Args:
        network: with the new weights, and the new ranges of what the layer reads.
        index: of the layer.
        old: low, high, s and z of its output in the step.
        seen: lo and hi of the step.
        momentum, growth: the settings.
    """
    (low, high, s, z), (lo, hi), layer = old, seen, network.layers[index]
    w = near(high - low)
    if hi == 127:
        new_high = near(high + near(growth * w))
    else:
        new_high = near(high + near(momentum * near(near(s * (hi - z)) - high)))
    if lo == -128:
        new_low = near(low - near(growth * w))
    else:
        new_low = near(low + near(momentum * near(near(s * (lo - z)) - low)))
    new_high, new_low = min(max(new_high, Fraction(0)), layer.act_max), max(min(new_low, Fraction(0)), layer.act_min)
    width = network.smallest_width(index)
    if near(new_high - new_low) < width:
        new_high = near(new_low + width)
    return new_low, new_high
