"""Passes of the format float32, one binary32 number at a time: docs/arithmetic-float32.md, sections 2 to 5.

A tensor is a list of `numpy.float32` scalars in flattened order. Python rounds nothing here: every `+`, `-`, `*` and
`/` of two such scalars is one binary32 operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hil.training.graph.formats import POOLS, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node
from tests.oracle.numbers import F32, exp32, log32

Floats = list[np.float32]
ZERO, ONE = F32(0), F32(1)
LARGEST = F32(2.0**40)  # H


@dataclass
class Own:
    """Weights and biases of a layer, flattened in the order of the file."""

    weights: Floats
    bias: Floats

    @classmethod
    def of(cls, graph: Graph) -> list[Own | None]:
        """Return those of every layer, None where it has none."""
        return [
            None if layer.own is None else cls(list(layer.own.weights.ravel()), list(layer.own.bias.ravel()))
            for layer in graph.layers
        ]


def clamp(v: np.float32, low: np.float32, high: np.float32) -> np.float32:
    """Return v held in low..high."""
    return min(max(v, low), high)


def windows(layer: Node) -> list[list[tuple[int, int]]]:
    """Return what each output position reads, row-major: tap and input position of all that lies inside the image.

    A fully connected layer is one position with one tap.
    """
    if layer.op is Op.FULLY_CONNECTED:
        return [[(0, 0)]]
    (height, width, _), (out_h, out_w, _), (kh, kw) = layer.in_shape, layer.out_shape, layer.kernel
    seen = []
    for y in range(out_h):
        for x in range(out_w):
            window = []
            for ky in range(kh):
                for kx in range(kw):
                    row, column = y * layer.stride[0] + ky - layer.pad[0], x * layer.stride[1] + kx - layer.pad[1]
                    if 0 <= row < height and 0 <= column < width:
                        window.append((ky * kw + kx, row * width + column))
            seen.append(window)
    return seen


def sizes(layer: Node) -> tuple[int, int, int]:
    """Return input channels, output channels and taps; a fully connected layer reads its input as channels."""
    if layer.op is Op.FULLY_CONNECTED:
        return layer.in_size, layer.out_size, 1
    return layer.in_shape[2], layer.out_shape[2], layer.kernel[0] * layer.kernel[1]


def input_value(graph: Graph, image: np.ndarray) -> Floats:
    """Return value 0 of a uint8 image (section 2)."""
    return [F32(graph.scale) * F32((int(p) - 128) - graph.zero) for p in image.ravel()]


def convolved(layer: Node, own: Own, x: Floats) -> Floats:
    """Return acc + bias of conv2d, pointwise, fully_connected and depthwise (section 3)."""
    inputs, outputs, taps = sizes(layer)
    out = []
    for window in windows(layer):
        for o in range(outputs):
            acc = ZERO
            for tap, at in window:
                if layer.op is Op.DEPTHWISE:
                    acc = acc + own.weights[tap * outputs + o] * x[at * outputs + o]
                    continue
                first = (o * taps + tap) * inputs
                for w, value in zip(
                    own.weights[first : first + inputs], x[at * inputs : (at + 1) * inputs], strict=True
                ):
                    acc = acc + w * value
            out.append(acc + own.bias[o])
    return out


def pooled(layer: Node, x: Floats) -> Floats:
    """Return the outputs of a pool before its clamp (section 3)."""
    channels, out = layer.in_shape[2], []
    for window in windows(layer):
        for c in range(channels):
            values = [x[at * channels + c] for _, at in window]
            if layer.op is Op.MAX_POOL:
                out.append(max(values))
                continue
            total = ZERO
            for value in values:
                total = total + value
            out.append(total / F32(len(values)) + ZERO)
    return out


def run(layer: Node, own: Own | None, inputs: Sequence[Floats]) -> Floats:
    """Return the output of a layer (section 3)."""
    if layer.op is Op.ADD:
        before = [a + b for a, b in zip(*inputs, strict=True)]
    elif layer.op in POOLS:
        before = pooled(layer, inputs[0])
    else:
        assert own is not None
        before = convolved(layer, own, inputs[0])
    return [clamp(v, F32(layer.act_min), F32(layer.act_max)) for v in before]


def forward(graph: Graph, own: Sequence[Own | None], image: np.ndarray) -> list[Floats]:
    """Return the values 0..n of a uint8 image."""
    values = [input_value(graph, image)]
    for layer, one in zip(graph.layers, own, strict=True):
        values.append(run(layer, one, [values[value] for value in layer.reads]))
    return values


def loss_and_error(logits: Floats, label: int) -> tuple[np.float32, Floats]:
    """Return the loss of a sample and the error of its logits (section 4)."""
    top = max(logits)
    powers = [exp32(a - top) for a in logits]
    total = ZERO
    for one in powers:
        total = total + one
    error = [one / total for one in powers]
    error[label] = error[label] - ONE
    return log32(total) + (top - logits[label]), error


@dataclass
class Gradients:
    """What the backward pass of a sample found: by layer, of weights and biases; by value, the errors.

    The error of a value is before the gate of its layer.
    """

    own: dict[int, Own] = field(default_factory=dict)
    errors: dict[int, Floats] = field(default_factory=dict)


def backward(graph: Graph, own: Sequence[Own | None], values: Sequence[Floats], error: Floats, first: int) -> Gradients:
    """Return the gradients of one sample from the error of its logits down to the layer `first` (section 5)."""
    found = Gradients(errors={len(graph.layers): error})
    for index in range(len(graph.layers) - 1, first - 1, -1):
        layer, one = graph.layers[index], own[index]
        if index + 1 not in found.errors:
            continue
        e = found.errors[index + 1]
        if layer.op not in POOLS:
            low, high = F32(layer.act_min), F32(layer.act_max)
            e = [e_i if low < y < high else ZERO for e_i, y in zip(e, values[index + 1], strict=True)]
        if one is not None:
            found.own[index] = own_gradient(layer, e, values[layer.reads[0]])
        for value in layer.reads:
            if value - 1 < first:
                continue
            if layer.op is Op.ADD:
                given = e
            elif layer.op in POOLS:
                given = pool_error(layer, e, values[value])
            else:
                assert one is not None
                given = input_error(layer, one, e)
            if value in found.errors:
                earlier = found.errors[value]
                given = [clamp(a + b, -LARGEST, LARGEST) for a, b in zip(earlier, given, strict=True)]
            found.errors[value] = given
    return found


def own_gradient(layer: Node, e: Floats, x: Floats) -> Own:
    """Return the gradient of weights and biases from the gated error: output position after output position."""
    inputs, outputs, taps = sizes(layer)
    depthwise = layer.op is Op.DEPTHWISE
    weights, bias = [ZERO] * (taps * outputs * (1 if depthwise else inputs)), [ZERO] * outputs
    for position, window in enumerate(windows(layer)):
        for o in range(outputs):
            e_o = e[position * outputs + o]
            bias[o] = bias[o] + e_o
            for tap, at in window:
                if depthwise:
                    weights[tap * outputs + o] = weights[tap * outputs + o] + e_o * x[at * outputs + o]
                    continue
                for i in range(inputs):
                    w = (o * taps + tap) * inputs + i
                    weights[w] = weights[w] + e_o * x[at * inputs + i]
    return Own(weights, bias)


def input_error(layer: Node, own: Own, e: Floats) -> Floats:
    """Return the error of a layer's input from its gated error: tap after tap, output channel after output channel."""
    inputs, outputs, taps = sizes(layer)
    acc = [ZERO] * layer.in_size
    for tap in range(taps):
        for position, window in enumerate(windows(layer)):
            for at in (at for one, at in window if one == tap):
                for c in range(inputs):
                    given = acc[at * inputs + c]
                    if layer.op is Op.DEPTHWISE:
                        given = given + own.weights[tap * inputs + c] * e[position * inputs + c]
                    else:
                        for o in range(outputs):
                            given = given + own.weights[(o * taps + tap) * inputs + c] * e[position * outputs + o]
                    acc[at * inputs + c] = given
    return [clamp(a, -LARGEST, LARGEST) for a in acc]


def pool_error(layer: Node, e: Floats, x: Floats) -> Floats:
    """Return the error of a pool's input; the windows do not overlap."""
    channels = layer.in_shape[2]
    given = [ZERO] * layer.in_size
    for position, window in enumerate(windows(layer)):
        for c in range(channels):
            places, one = [at * channels + c for _, at in window], e[position * channels + c]
            if layer.op is Op.MAX_POOL:
                given[max(places, key=x.__getitem__)] = one  # `max` gives the first of equals
                continue
            for place in places:
                given[place] = one / F32(len(places)) + ZERO
    return given
