"""Forward passes, loss and conversion of the format w16a8, a product at a time: docs/arithmetic-w16a8.md.

A tensor is a list of Python integers in flattened order; they have no width, so nothing overflows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hil.training.graph.formats import POOLS, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node
from tests.oracle.float32 import sizes, windows
from tests.oracle.numbers import F32, exp32, log32

Values = list[int]
INT32 = -(2**31), 2**31 - 1


@dataclass
class Own:
    """Weights and biases of a layer, flattened in the order of the file, and what goes with them.

    Attributes:
        weights, bias: int16 and int32.
        scale: s_w.
        multiplier, shift: M and its shift.
        largest: w_max.
    """

    weights: Values
    bias: Values
    scale: np.float32
    multiplier: int
    shift: int
    largest: int = 32767

    @classmethod
    def of(cls, graph: Graph) -> list[Own | None]:
        """Return those of every layer, None where it has none."""
        return [None if layer.own is None else cls._of_layer(layer) for layer in graph.layers]

    @classmethod
    def _of_layer(cls, layer: Node) -> Own:
        own = layer.own
        assert own is not None
        weights, bias = own.weights.ravel().tolist(), own.bias.tolist()
        return cls(weights, bias, F32(own.scale), own.multiplier, own.shift, own.largest)


def clamp(v: int, low: int, high: int) -> int:
    """Return v held in low..high."""
    return min(max(v, low), high)


def rescale(a: int, multiplier: int, shift: int) -> int:
    """Return a * M * 2^(shift - 31), rounded half up once (section 2)."""
    return (a * multiplier + 2 ** (30 - shift)) // 2 ** (31 - shift)


def accumulated(layer: Node, own: Own, x: Values, zero: int) -> Values:
    """Return acc of a layer with weights, exact, from its input with a zero point (section 2)."""
    inputs, outputs, taps = sizes(layer)
    real = [q - zero for q in x]
    out = []
    for window in windows(layer):
        for o in range(outputs):
            acc = own.bias[o]
            for tap, at in window:
                if layer.op is Op.DEPTHWISE:
                    acc += own.weights[tap * outputs + o] * real[at * outputs + o]
                    continue
                first = (o * taps + tap) * inputs
                weights = own.weights[first : first + inputs]
                acc += sum(w * v for w, v in zip(weights, real[at * inputs : (at + 1) * inputs], strict=True))
            out.append(acc)
    return out


def weighted(layer: Node, own: Own, x: Values, zero: int) -> Values:
    """Return the output of a layer with weights (section 2)."""
    sums = accumulated(layer, own, x, zero)
    rescaled = [layer.zero + rescale(clamp(acc, *INT32), own.multiplier, own.shift) for acc in sums]
    return [clamp(q, int(layer.act_min), int(layer.act_max)) for q in rescaled]


def added(layer: Node, a: Values, b: Values, zeros: tuple[int, int]) -> Values:
    """Return the output of an add (section 2)."""
    assert layer.factors is not None
    (m_a, m_b, m_y), (shift_a, shift_b, shift_y) = layer.factors.multipliers, layer.factors.shifts
    out = []
    for q_a, q_b in zip(a, b, strict=True):
        s = rescale((q_a - zeros[0]) * 2**20, m_a, shift_a) + rescale((q_b - zeros[1]) * 2**20, m_b, shift_b)
        out.append(clamp(layer.zero + rescale(s, m_y, shift_y), int(layer.act_min), int(layer.act_max)))
    return out


def pooled(layer: Node, x: Values) -> Values:
    """Return the output of a pool (docs/arithmetic-tflite.md, section 4)."""
    channels, out = layer.in_shape[2], []
    for window in windows(layer):
        for c in range(channels):
            values = [x[at * channels + c] for _, at in window]
            if layer.op is Op.MAX_POOL:
                q = max(values)
            else:
                total, n = sum(values), len(values)
                q = (abs(total) + n // 2) // n
                q = -q if total < 0 else q
            out.append(clamp(q, int(layer.act_min), int(layer.act_max)))
    return out


def forward(graph: Graph, own: Sequence[Own | None], image: np.ndarray, known: Sequence[Values] = ()) -> list[Values]:
    """Return the values 0..n of a uint8 image; the first of them may be known."""
    values = list(known) or [[int(p) - 128 for p in image.ravel()]]
    done = len(values) - 1
    for layer, one in zip(graph.layers[done:], own[done:], strict=True):
        x, zero = values[layer.reads[0]], graph.zero_of(layer.reads[0])
        if layer.op is Op.ADD:
            out = added(layer, x, values[layer.reads[1]], (zero, graph.zero_of(layer.reads[1])))
        elif layer.op in POOLS:
            out = pooled(layer, x)
        else:
            assert one is not None
            out = weighted(layer, one, x, zero)
        values.append(out)
    return values


def loss(logits: Values, label: int, scale: np.float32) -> np.float32:
    """Return the loss of a sample, of logits with a scale (section 2)."""
    top, total = max(logits), F32(0)
    for q in logits:
        total = total + exp32(F32(q - top) * scale)
    return log32(total) + F32(top - logits[label]) * scale


def sums_are_bounded(products: int, largest: int, zero: int, shift: int) -> bool:
    """Return whether saturation changes no output of a layer (section 3)."""
    d = max(127 - zero, 128 + zero)
    return products <= 2**15 and (products * largest * d + 2**30 <= 2**31 - 1 or shift >= -22)


def factor_parts(factor: float) -> tuple[int, int]:
    """Return M and shift of a real factor (section 5)."""
    f, shift = math.frexp(factor)
    multiplier = math.floor(f * 2**31 + 0.5)
    return (2**30, shift + 1) if multiplier == 2**31 else (multiplier, shift)


def from_tflite8(
    weights: Sequence[Sequence[int]],
    scales: Sequence[float],
    bias: Sequence[int],
    s_x: float,
    zero: int,
    s_y: float,
    largest: int,
) -> Own:
    """Return a layer with the int8 weights of each output channel converted (section 5).

    Args:
        weights: of each output channel.
        scales: s_w of each output channel.
        bias: int32.
        s_x, zero: scale and zero point of the input.
        s_y: scale of the output.
        largest: w_max.
    """
    top, top_bias = (32256 if largest == 32767 else 126), 2**30 - 2**20
    real = [[q * s for q in row] for row, s in zip(weights, scales, strict=True)]
    real_bias = [q * s_x * s for q, s in zip(bias, scales, strict=True)]
    r = max(max(abs(w) for row in real for w in row), 2.0**-20)
    s_w = max(r / top, max(abs(b) for b in real_bias) / (top_bias * s_x), 2.0**-31 * s_y / s_x)
    if not sums_are_bounded(len(weights[0]), largest, zero, -31):
        s_w = max(s_w, 2.0**-22 * s_y / s_x)
    s_w = float(F32(s_w))
    return Own(
        [clamp(round(w / s_w), -top, top) for row in real for w in row],
        [clamp(round(b / (s_x * s_w)), -top_bias, top_bias) for b in real_bias],
        F32(s_w),
        *factor_parts(s_x * s_w / s_y),
        largest,
    )
