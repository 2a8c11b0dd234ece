"""Backward passes of affine8, float32 and their mixtures: docs/arithmetic-affine8.md, sections 4 and 5."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.oracle import float32
from tests.oracle.affine8 import SIXTH, THREE, add_factors, limit
from tests.oracle.affine8_network import POOLS, Layer, Network
from tests.oracle.affine8_numbers import Tensor, float_of, float_tensor, held, integer_tensor, rint
from tests.oracle.float32 import LARGEST, ZERO, Floats, windows
from tests.oracle.graph_layers import taps
from tests.oracle.numbers import F32

LARGEST_SCALE = F32(2.0**40)

Error = Tensor | Floats
Quantizer = Callable[[int, int, list[int], np.float32], Tensor]
"""Makes the error that a layer (its index) gives to one of the values that it reads (its place) from sums worth c."""
Choice = Callable[[int, Sequence], Sequence[int]]
"""Says which channels of a layer (its index) are kept, from the steps or numbers of its error after the gate."""


class StepFailed(Exception):
    """A step that fails: the index of the layer, and the cause of docs/arithmetic-fqt.md, section 8."""

    def __init__(self, layer: int, cause: int) -> None:
        super().__init__(f"layer {layer}: cause {cause}")
        self.layer, self.cause = layer, cause


@dataclass
class OwnGradient:
    """The gradient of a layer for one sample: exact integers in affine8, binary32 numbers in float32.

    Attributes:
        weights, bias: the gradients.
        c, c_bias: what 1 is worth in affine8.
        kept: the channels that took part, in ascending order.
    """

    weights: list
    bias: list
    c: np.float32
    c_bias: np.float32
    kept: list[int]


@dataclass
class Gradients:
    """What the backward pass of a sample found, by layer and by value; errors are those before the gate."""

    own: dict[int, OwnGradient] = field(default_factory=dict)
    errors: dict[int, Error] = field(default_factory=dict)


def gated(network: Network, layer: Layer, e: Error, y: list) -> Error:
    """Return the error of a layer's output where the activation let the value pass."""
    if layer.op in (*POOLS, "cast", "hard_swish", "multiply"):
        return e
    if isinstance(e, Tensor):
        low, high = (limit(layer, v, network.rounding) for v in (layer.act_min, layer.act_max))
        return Tensor([q if low < q_y < high else e.z for q, q_y in zip(e.q, y, strict=True)], e.s, e.z)
    return [e_i if layer.act_min < y_i < layer.act_max else ZERO for e_i, y_i in zip(e, y, strict=True)]


def selected(layer: Layer, e: Error, kept: Sequence[int]) -> Error:
    """Return the error with nothing in the channels that are not kept."""
    chosen, zero = set(kept), e.z if isinstance(e, Tensor) else ZERO
    numbers = [
        e_i if i % layer.channels in chosen else zero for i, e_i in enumerate(e.q if isinstance(e, Tensor) else e)
    ]
    return Tensor(numbers, e.s, e.z) if isinstance(e, Tensor) else numbers


def own_gradient(network: Network, layer: Layer, e: Error, x: list, kept: Sequence[int]) -> OwnGradient:
    """Return the gradient of weights and biases, from the error after gate and selection."""
    if not isinstance(e, Tensor):
        found = float32.own_gradient(layer.node, e, x)
        return OwnGradient(found.weights, found.bias, ZERO, ZERO, list(kept))
    s_x, z_x = network.scale(layer.reads[0])
    weights, bias, steps = [0] * len(layer.weights), [0] * layer.channels, e.steps
    for o, w, i in taps(layer.node):
        weights[w] += steps[o] * (x[i] - z_x)
    for o, step in enumerate(steps):
        bias[o % layer.channels] += step
    return OwnGradient(weights, bias, e.s * s_x, e.s, list(kept))


def slope(x: np.float32) -> int:
    """Return d of hard_swish: its slope in units of 2^-7."""
    if x <= -THREE:
        return 0
    return 128 if x >= THREE else rint((((F32(2) * x) + THREE) * SIXTH) * F32(128))


def input_sums(
    network: Network, layer: Layer, e: Tensor, inputs: list[list], place: int
) -> tuple[list[int], np.float32]:
    """Return the exact sums of the error of the value read at a place, and what 1 is worth."""
    scales, steps = [network.scale(value) for value in layer.reads], e.steps
    if layer.weights:
        acc = [0] * layer.node.in_size
        for o, w, i in taps(layer.node):
            acc[i] += (layer.weights[w] - layer.z_w) * steps[o]
        return acc, layer.s_w * e.s
    if layer.op == "hard_swish":
        s_x, z_x = scales[0]
        d = [slope(s_x * float_of(q - z_x)) for q in inputs[0]]
        return [one * d_i for one, d_i in zip(steps, d, strict=True)], e.s * F32(2.0**-7)
    other = [q - scales[1 - place][1] for q in inputs[1 - place]]
    if place == 0:
        return [one * other[i % layer.channels] for i, one in enumerate(steps)], e.s * scales[1][0]
    acc = [0] * layer.channels
    for i, one in enumerate(steps):
        acc[i % layer.channels] += one * other[i]
    return acc, e.s * scales[0][0]


def pool_error(layer: Layer, e: Tensor, x: list[int]) -> Tensor:
    """Return the error of the input of a pool whose windows lie apart and inside the image."""
    channels, given, s = layer.channels, [e.z] * layer.node.in_size, e.s
    for position, window in enumerate(windows(layer.node)):
        for c in range(channels):
            places, one = [at * channels + c for _, at in window], e.q[position * channels + c]
            if layer.op == "max_pool":
                given[max(places, key=x.__getitem__)] = one  # `max` gives the first of equals
                continue
            s = e.s / F32(len(places))
            for place in places:
                given[place] = one
    return Tensor(given, s, e.z)


def float_error(layer: Layer, e: Floats, inputs: list[list], place: int) -> Floats:
    """Return the error of the value that a layer in float32 reads at a place (section 5)."""
    if layer.op == "add":
        return e
    if layer.op in POOLS:
        return float32.pool_error(layer.node, e, inputs[0])
    if layer.op == "hard_swish":
        return [float_slope(x, one) for x, one in zip(inputs[0], e, strict=True)]
    if layer.op == "multiply" and place == 0:
        b = inputs[1]
        return [held(one * b[i % layer.channels] + ZERO, -LARGEST, LARGEST) for i, one in enumerate(e)]
    if layer.op == "multiply":
        sums = [ZERO] * layer.channels
        for i, (one, a) in enumerate(zip(e, inputs[0], strict=True)):
            sums[i % layer.channels] = sums[i % layer.channels] + one * a
        return [held(one, -LARGEST, LARGEST) for one in sums]
    return float32.input_error(layer.node, float32.Own(layer.weights, layer.bias), e)


def float_slope(x: np.float32, e: np.float32) -> np.float32:
    """Return the error of one x of a hard_swish in float32."""
    if x <= -THREE:
        return ZERO
    return e if x >= THREE else held(e * (((F32(2) * x) + THREE) * SIXTH) + ZERO, -LARGEST, LARGEST)


def together(first: Error, second: Error, rounding: str) -> Error:
    """Return the error of a value with a further reader."""
    if not isinstance(first, Tensor):
        return [held(a + b, -LARGEST, LARGEST) for a, b in zip(first, second, strict=True)]
    if second.s == 0:
        return first
    if first.s == 0:
        return second
    largest, a_1, a_2 = add_factors(first.s, second.s)
    acc = [a * a_1 + b * a_2 for a, b in zip(first.steps, second.steps, strict=True)]
    return integer_tensor(acc, largest * F32(2.0**-14), rounding)


def checked(index: int, e: Error) -> Error:
    """Return an error whose scale is within its limit; else the step fails at the layer that computed it."""
    if isinstance(e, Tensor) and not e.s <= LARGEST_SCALE:
        raise StepFailed(index, 3)
    return e


def backward(
    network: Network,
    values: list[list],
    error: Error,
    first: int,
    choose: Choice | None = None,
    quantizer: Quantizer | None = None,
) -> Gradients:
    """Return the gradients of one sample from the error of its logits down to the layer `first`.

    Raises:
        StepFailed: if the scale of an error leaves its limit.
    """
    n, rounding = len(network.layers), network.rounding
    found = Gradients(errors={n: checked(n - 1, error)})
    for index in range(n - 1, first - 1, -1):
        layer = network.layers[index]
        if index + 1 not in found.errors:
            continue
        e = gated(network, layer, found.errors[index + 1], values[index + 1])
        inputs = [values[value] for value in layer.reads]
        if layer.weights:
            kept: Sequence[int] = range(layer.channels)
            if choose is not None:
                kept = choose(index, e.steps if isinstance(e, Tensor) else e)
            e = selected(layer, e, kept)
            found.own[index] = own_gradient(network, layer, e, inputs[0], kept)
        for place, value in enumerate(layer.reads):
            if value - 1 < first:
                continue
            if layer.op == "cast":
                given: Error = float_tensor(e, rounding)
            elif not isinstance(e, Tensor):
                given = float_error(layer, e, inputs, place)
            elif layer.op == "add":
                given = e
            elif layer.op in POOLS:
                given = pool_error(layer, e, inputs[0])
            else:
                acc, c = input_sums(network, layer, e, inputs, place)
                given = integer_tensor(acc, c, rounding) if quantizer is None else quantizer(index, place, acc, c)
            given = checked(index, given)
            if value in found.errors:
                given = checked(index, together(found.errors[value], given, rounding))
            found.errors[value] = given
    return found
