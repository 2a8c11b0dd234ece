"""The real network that a network of FQT stands for, in double precision and with nothing rounded."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tests.oracle.affine8_network import Layer, Network
from tests.oracle.float32 import windows
from tests.oracle.graph_layers import taps

Weights = dict[int, tuple[list[float], list[float]]]  # of the layers, by index: weights and biases


def weights_of(network: Network) -> Weights:
    """Return the weights and biases that the network stands for."""
    return {
        index: ([float(w) for w in layer.real_weights], [float(b) for b in layer.bias])
        for index, layer in enumerate(network.layers)
        if layer.weights
    }


def run(layer: Layer, own: tuple[list[float], list[float]], inputs: Sequence[list[float]]) -> list[float]:
    """Return the output of a layer."""
    x = inputs[0]
    if layer.op == "cast":
        return x
    if layer.op == "hard_swish":
        return [x_i * min(max(x_i + 3, 0.0), 6.0) / 6 for x_i in x]
    if layer.op == "multiply":
        return [x_i * inputs[1][i % layer.channels] for i, x_i in enumerate(x)]
    if layer.op == "add":
        out = [a + b for a, b in zip(*inputs, strict=True)]
    elif layer.op in ("max_pool", "average_pool"):
        out = []
        for window in windows(layer.node):
            for c in range(layer.channels):
                seen = [x[at * layer.channels + c] for _, at in window]
                out.append(max(seen) if layer.op == "max_pool" else sum(seen) / len(seen))
    else:
        out = own[1] * (layer.node.out_size // layer.channels)
        for o, w, i in taps(layer.node):
            out[o] += own[0][w] * x[i]
    return [min(max(v, layer.act_min), layer.act_max) for v in out]


def loss(network: Network, weights: Weights, image: np.ndarray, label: int) -> float:
    """Return the cross-entropy of a uint8 image."""
    values = [[float(network.s) * (int(p) - 128 - network.z) for p in image.ravel()]]
    for index, layer in enumerate(network.layers):
        values.append(run(layer, weights.get(index, ([], [])), [values[value] for value in layer.reads]))
    logits = values[-1]
    return math.log(sum(math.exp(a - max(logits)) for a in logits)) + max(logits) - logits[label]


def differences(network: Network, image: np.ndarray, label: int, index: int, of_bias: bool, step: float) -> np.ndarray:
    """Return central differences of the loss in the weights or biases of a layer, flattened."""
    weights = weights_of(network)
    flat, found = weights[index][of_bias], []
    for place, kept in enumerate(flat):
        sides = []
        for side in (step, -step):
            flat[place] = kept + side
            sides.append(loss(network, weights, image, label))
        flat[place] = kept
        found.append((sides[0] - sides[1]) / (2 * step))
    return np.array(found)
