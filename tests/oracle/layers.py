"""Layers and their gradients: docs/arithmetic.md, sections 4 and 7, a product at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.node import Node
from tests.oracle.numbers import Tensor, bits, round_shift, trunc_shift

Group = list[Tensor]  # one tensor a sample: the samples that share an exponent


def taps(layer: Node) -> Iterator[tuple[int, int, int]]:
    """Yield each product of a layer as (output, weight, input), indices into the flattened tensors; no padding."""
    if layer.op is Op.FULLY_CONNECTED:
        yield from ((o, o * layer.in_size + i, i) for o in range(layer.out_size) for i in range(layer.in_size))
        return
    (in_h, in_w, in_c), (out_h, out_w, out_c), (k_h, k_w) = layer.in_shape, layer.out_shape, layer.kernel
    for o, k_y, k_x, c in product(range(out_c), range(k_h), range(k_w), range(in_c)):
        weight = ((o * k_h + k_y) * k_w + k_x) * in_c + c
        for y, x in product(range(out_h), range(out_w)):
            i_y, i_x = y + k_y - layer.pad[0], x + k_x - layer.pad[1]
            if 0 <= i_y < in_h and 0 <= i_x < in_w:
                yield (y * out_w + x) * out_c + o, weight, (i_y * in_w + i_x) * in_c + c


def windows(layer: Node) -> Iterator[tuple[int, list[int]]]:
    """Yield every output of a max_pool with its window, row by row: indices into the flattened tensors."""
    (_, in_w, channels), (out_h, out_w, _), k = layer.in_shape, layer.out_shape, layer.stride[0]
    for y, x, c in product(range(out_h), range(out_w), range(channels)):
        window = [((y * k + dy) * in_w + x * k + dx) * channels + c for dy, dx in product(range(k), repeat=2)]
        yield (y * out_w + x) * channels + c, window


def narrowed(group: Group) -> Group:
    """Return the int32 sums of a group as int8 tensors with one shift (sections 4 and 7)."""
    s = bits(max(abs(value) for acc in group for value in acc.values)) - 7
    if s <= 0:
        return group
    return [Tensor([round_shift(value, s) for value in acc.values], acc.exponent + s) for acc in group]


def forward(layer: Node, weights: list[int], group: Group) -> Group:
    """Return the outputs of a layer for a group of samples (section 4).

    `weights` is not read where the layer has none.
    """
    if layer.op is Op.RELU:
        return [Tensor([max(value, 0) for value in x.values], x.exponent) for x in group]
    if layer.op is Op.MAX_POOL:
        pools = [window for _, window in windows(layer)]
        return [Tensor([max(x.values[i] for i in pool) for pool in pools], x.exponent) for x in group]
    sums = []
    for x in group:
        out = [0] * layer.out_size
        for o, w, i in taps(layer):
            out[o] += weights[w] * x.values[i]
        sums.append(Tensor(out, x.exponent + layer.weight_exp))
    return narrowed(sums)


def input_error(layer: Node, weights: list[int], inputs: Group, outputs: Group, errors: Group) -> Group:
    """Return the errors of a layer's inputs, from those of its outputs (section 7)."""
    samples = list(zip(inputs, outputs, errors, strict=True))
    if layer.op is Op.RELU:
        return [
            Tensor([e if out > 0 else 0 for e, out in zip(error.values, y.values, strict=True)], error.exponent)
            for _, y, error in samples
        ]
    back = []
    for x, _, error in samples:
        handed = [0] * layer.in_size
        if layer.op is Op.MAX_POOL:
            for o, window in windows(layer):
                handed[max(window, key=x.values.__getitem__)] = error.values[o]  # `max` gives the first of equals
            back.append(Tensor(handed, error.exponent))
        else:
            for o, w, i in taps(layer):
                handed[i] += weights[w] * error.values[o]
            back.append(Tensor(handed, error.exponent + layer.weight_exp))
    return back if layer.op is Op.MAX_POOL else narrowed(back)


def weight_gradient(layer: Node, x: Tensor, error: Tensor) -> Tensor:
    """Return the gradient of a layer's weights for one sample: exact sums, wider than int8 (section 7)."""
    gradient = [0] * math.prod(np.shape(layer.weights))
    for o, w, i in taps(layer):
        gradient[w] += error.values[o] * x.values[i]
    return Tensor(gradient, error.exponent + x.exponent)


def accumulated(total: Tensor | None, one: Tensor) -> Tensor:
    """Return the batch's gradient G with one more sample in it (section 7); None before the first."""
    total = total or Tensor([0] * len(one.values), one.exponent)
    exponent = max(total.exponent, one.exponent)
    old, new = (
        [trunc_shift(value, exponent - part.exponent) if exponent - part.exponent < 31 else 0 for value in part.values]
        for part in (total, one)
    )
    return Tensor([min(max(a + b, -(2**31)), 2**31 - 1) for a, b in zip(old, new, strict=True)], exponent)
