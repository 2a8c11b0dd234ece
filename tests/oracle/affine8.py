"""Forward passes of affine8, float32 and their mixtures, a product at a time: docs/arithmetic-affine8.md, section 3.

A value is a list of integers, or of `numpy.float32` scalars in float32. Integers have no width, so nothing overflows.
"""

from __future__ import annotations

import numpy as np

from tests.oracle import float32, graph_layers
from tests.oracle.affine8_network import Layer, Network
from tests.oracle.affine8_numbers import (
    FAR,
    Tensor,
    clamp,
    factor,
    float_of,
    float_tensor,
    held,
    params,
    quantize,
    rescale,
    rint,
)
from tests.oracle.float32 import LARGEST, ONE, ZERO, Floats, windows
from tests.oracle.graph_layers import taps
from tests.oracle.numbers import F32, exp32, log32

THREE, SIXTH = F32(3), F32(float.fromhex("0x1.555556p-3"))
LARGEST_BIAS = 2.0**29


def limit(layer: Layer, v: float, rounding: str) -> int:
    """Return limit(v) of a layer's output."""
    s, _, z = params(layer.low, layer.high, rounding)
    return z + rint(held(F32(v) * (ONE / s), -FAR, FAR))


def bias_steps(layer: Layer, s_x: np.float32) -> list[int]:
    """Return b_q."""
    j = ONE / (s_x * layer.s_w)
    return [rint(held(b * j, -LARGEST_BIAS, LARGEST_BIAS)) for b in layer.bias]


def folded(network: Network, layer: Layer) -> list[int]:
    """Return b' of section 7, as int32."""
    s_x, z_x = network.scale(layer.reads[0])
    sums = bias_steps(layer, s_x)
    for index, q in enumerate(layer.weights):
        sums[layer.channel(index)] -= z_x * (q - layer.z_w)
    return [(b + 2**31) % 2**32 - 2**31 for b in sums]


def add_factors(s_a: np.float32, s_b: np.float32) -> tuple[np.float32, int, int]:
    """Return S, A and B of two scales."""
    largest = max(s_a, s_b)
    return largest, rint((s_a / largest) * F32(2**14)), rint((s_b / largest) * F32(2**14))


def accumulated(network: Network, layer: Layer, inputs: list[list[int]]) -> tuple[list[int], np.float32]:
    """Return the exact sums of a layer with weights, an add or a multiply, and the real value of 1."""
    scales = [network.scale(value) for value in layer.reads]
    a = [q - scales[0][1] for q in inputs[0]]
    if layer.weights:
        acc = bias_steps(layer, scales[0][0]) * (layer.node.out_size // layer.channels)
        for o, w, i in taps(layer.node):
            acc[o] += a[i] * (layer.weights[w] - layer.z_w)
        return acc, scales[0][0] * layer.s_w
    b = [q - scales[1][1] for q in inputs[1]]
    if layer.op == "multiply":
        return [a_i * b[i % layer.channels] for i, a_i in enumerate(a)], scales[0][0] * scales[1][0]
    largest, of_a, of_b = add_factors(scales[0][0], scales[1][0])
    return [of_a * a_i + of_b * b_i for a_i, b_i in zip(a, b, strict=True)], largest * F32(2.0**-14)


def run_affine8(network: Network, layer: Layer, inputs: list[list[int]]) -> list[int]:
    """Return the output of a layer in affine8 (section 3)."""
    rounding = network.rounding
    if layer.op in ("max_pool", "average_pool"):
        return pooled(layer, inputs[0], rounding)
    s_y, j_y, z_y = params(layer.low, layer.high, rounding)
    if layer.op == "hard_swish":
        s_x, z_x = network.scale(layer.reads[0])
        ys = [hard_swish(s_x * float_of(q - z_x)) for q in inputs[0]]
        return [quantize(y, j_y, z_y, rounding) for y in ys]
    acc, unit = accumulated(network, layer, inputs)
    by = factor(unit / s_y)
    q_min = max(limit(layer, layer.act_min, rounding), -128)
    q_max = min(limit(layer, layer.act_max, rounding), 127)
    return [clamp(z_y + rescale(one, by, rounding), q_min, q_max) for one in acc]


def hard_swish(x: np.float32) -> np.float32:
    """Return x * relu6(x + 3) / 6."""
    return (x * held(x + THREE, 0, 6)) * SIXTH


def pooled(layer: Layer, x: list[int], rounding: str) -> list[int]:
    """Return the output of a pool."""
    out = []
    for window in windows(layer.node):
        for c in range(layer.channels):
            values = [x[at * layer.channels + c] for _, at in window]
            n = len(values)
            mean = (sum(values) + (n // 2 if rounding == "nearest" else 0)) // n
            out.append(max(values) if layer.op == "max_pool" else mean)
    return out


def run_float32(network: Network, layer: Layer, inputs: list[list]) -> Floats:
    """Return the output of a layer in float32, cast among them (sections 3 and 5)."""
    if layer.op == "cast":
        s_x, z_x = network.scale(layer.reads[0])
        return [s_x * float_of(q - z_x) for q in inputs[0]]
    if layer.op == "hard_swish":
        return [held(hard_swish(x) + ZERO, -LARGEST, LARGEST) for x in inputs[0]]
    if layer.op == "multiply":
        a, b = inputs
        return [held(a_i * b[i % layer.channels] + ZERO, -LARGEST, LARGEST) for i, a_i in enumerate(a)]
    return float32.run(layer.node, float32.Own(layer.weights, layer.bias), inputs)


def forward(network: Network, image: np.ndarray) -> list[list]:
    """Return the values 0..n of a uint8 image."""
    values = [network.input_value(image)]
    for index, layer in enumerate(network.layers):
        inputs = [values[value] for value in layer.reads]
        if layer.format == "tflite8":
            assert network.tflite is not None
            node, own = network.tflite.layers[index], graph_layers.Own.of(network.tflite)[index]
            values.append(graph_layers.run(network.tflite, node, inputs, own))
        elif layer.format == "float32":
            values.append(run_float32(network, layer, inputs))
        else:
            values.append(run_affine8(network, layer, inputs))
    return values


def loss_and_error(network: Network, logits: list, label: int) -> tuple[np.float32, Floats]:
    """Return the loss and the real numbers d of a sample."""
    if network.layers[-1].format == "float32":
        return float32.loss_and_error(logits, label)
    top, (s, _) = max(logits), network.scale(len(network.layers))
    powers, total = [exp32(F32(q - top) * s) for q in logits], ZERO
    for one in powers:
        total = total + one
    error = [one / total for one in powers]
    error[label] = error[label] - ONE
    return log32(total) + F32(top - logits[label]) * s, error


def logits_error(network: Network, d: Floats) -> Tensor | Floats:
    """Return the error of the logits as the last layer takes it."""
    return d if network.layers[-1].format == "float32" else float_tensor(d, network.rounding)
