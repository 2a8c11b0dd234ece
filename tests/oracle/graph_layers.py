"""Forward passes and gradients of a graph, one number at a time: docs/arithmetic-tflite.md.

Add and loss: docs/arithmetic-zeroth-order.md, section 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import AddFactors, MeanFactor, Node, Table
from tests.oracle.numbers import F32, exp32, log32

Values = list[int]  # of one tensor of one sample, HWC


@dataclass
class Own:
    """Weights and biases of a layer, flattened in the order of the file."""

    weights: list[int]
    bias: list[int]

    @classmethod
    def of(cls, graph: Graph) -> list[Own | None]:
        """Return those of every layer, None where it has none."""
        return [
            None if layer.own is None else cls(layer.own.weights.ravel().tolist(), layer.own.bias.tolist())
            for layer in graph.layers
        ]


def clamp(v: int, low: int, high: int) -> int:
    """Return v held in low..high."""
    return min(max(v, low), high)


def half_up(x: Fraction) -> int:
    """Round to the nearest integer, halves upward."""
    return floor(x + Fraction(1, 2))


def half_away(x: Fraction) -> int:
    """Round to the nearest integer, halves away from zero."""
    return half_up(x) if x >= 0 else -half_up(-x)


def rescale(acc: int, multiplier: int, shift: int, rounding: str) -> int:
    """Return acc * multiplier * 2^(shift - 31) as section 3 rounds it."""
    if rounding == "single":
        return half_up(acc * Fraction(multiplier) * Fraction(2) ** (shift - 31))
    raised = clamp(acc * 2 ** max(shift, 0), -(2**31), 2**31 - 1)
    return half_away(Fraction(half_up(Fraction(raised * multiplier, 2**31)), 2 ** max(-shift, 0)))


def windows(layer: Node) -> Iterator[tuple[int, int, int]]:
    """Yield output position, tap, and input position of all that lies inside the image.

    They are flat numbers of (y, x), (ky, kx), (y, x).
    """
    (height, width, _), (out_h, out_w, _), (kh, kw) = layer.in_shape, layer.out_shape, layer.kernel
    (sh, sw), (ph, pw) = layer.stride, layer.pad
    for y, x, ky, kx in np.ndindex(out_h, out_w, kh, kw):
        row, column = y * sh + ky - ph, x * sw + kx - pw
        if 0 <= row < height and 0 <= column < width:
            yield y * out_w + x, ky * kw + kx, row * width + column


def taps(layer: Node) -> Iterator[tuple[int, int, int]]:
    """Yield flat indices (output, weight, input) of every product of a layer with weights; padding adds nothing."""
    channels, outputs = layer.in_shape[2], layer.out_shape[2]
    if layer.op is Op.FULLY_CONNECTED:
        yield from ((o, o * layer.in_size + i, i) for o in range(outputs) for i in range(layer.in_size))
        return
    area = layer.kernel[0] * layer.kernel[1]
    for position, tap, at in windows(layer):
        if layer.op is Op.DEPTHWISE:
            yield from ((position * channels + c, tap * channels + c, at * channels + c) for c in range(channels))
            continue
        for o in range(outputs):
            for c in range(channels):
                yield position * outputs + o, (o * area + tap) * channels + c, at * channels + c


def run(graph: Graph, layer: Node, inputs: Sequence[Values], own: Own | None) -> Values:
    """Run one layer for one sample."""
    if layer.op is Op.ADD:
        return _add(graph, layer, inputs)
    if layer.op is Op.MEAN:
        return _mean(graph, layer, inputs[0])
    if layer.op is Op.TABLE:
        assert isinstance(layer.factors, Table)
        return [int(layer.factors.outputs[q + 128]) for q in inputs[0]]
    if own is None:
        return _pool(layer, inputs[0])
    assert layer.own is not None
    outputs, zero = layer.out_shape[2], graph.zero_of(layer.reads[0])
    acc = [own.bias[i % outputs] for i in range(layer.out_size)]
    for o, w, i in taps(layer):
        acc[o] += (inputs[0][i] - zero) * own.weights[w]
    multipliers, shifts = layer.own.multiplier.tolist(), layer.own.shift.tolist()
    scaled = (rescale(a, multipliers[i % outputs], shifts[i % outputs], layer.rounding) for i, a in enumerate(acc))
    return [clamp(layer.zero + value, layer.act_min, layer.act_max) for value in scaled]


def _mean(graph: Graph, layer: Node, x: Values) -> Values:
    assert isinstance(layer.factors, MeanFactor)
    zero, channels = graph.zero_of(layer.reads[0]), layer.in_shape[2]
    sums = [sum(q - zero for q in x[c::channels]) for c in range(channels)]
    scaled = (rescale(acc, layer.factors.multiplier, layer.factors.shift, layer.rounding) for acc in sums)
    return [clamp(layer.zero + value, layer.act_min, layer.act_max) for value in scaled]


def _add(graph: Graph, layer: Node, inputs: Sequence[Values]) -> Values:
    assert isinstance(layer.factors, AddFactors)
    factors = list(zip(layer.factors.multipliers, layer.factors.shifts, strict=True))
    zeros = [graph.zero_of(value) for value in layer.reads]
    out = []
    for a, b in zip(*inputs, strict=True):
        s = rescale((a - zeros[0]) * 2**20, *factors[0], layer.rounding)
        s += rescale((b - zeros[1]) * 2**20, *factors[1], layer.rounding)
        out.append(clamp(layer.zero + rescale(s, *factors[2], layer.rounding), layer.act_min, layer.act_max))
    return out


def _pool(layer: Node, x: Values) -> Values:
    channels = layer.out_shape[2]
    seen: list[list[int]] = [[] for _ in range(layer.out_size)]
    for position, _, at in windows(layer):
        for c in range(channels):
            seen[position * channels + c].append(x[at * channels + c])
    if layer.op is Op.MAX_POOL:
        return [clamp(max(values), layer.act_min, layer.act_max) for values in seen]
    means = (half_away(Fraction(sum(values), len(values))) for values in seen)
    return [clamp(mean, layer.act_min, layer.act_max) for mean in means]


def gradient(layer: Node, x: Values, zero: int, error: Values) -> Own:
    """Return the gradients of weights and biases (section 5) from the output's error and the input."""
    weights, bias = [0] * layer.weight_count, [0] * layer.channels
    for o, w, i in taps(layer):
        weights[w] += error[o] * (x[i] - zero)
    for o, e in enumerate(error):
        bias[o % layer.channels] += e
    return Own(weights, bias)


def loss(graph: Graph, logits: Values, label: int) -> np.float32:
    """Return the cross-entropy of one sample."""
    top, scale, total = max(logits), F32(graph.layers[-1].scale), F32(0.0)
    for q in logits:
        total = total + exp32(F32(q - top) * scale)
    return log32(total) + F32(top - logits[label]) * scale
