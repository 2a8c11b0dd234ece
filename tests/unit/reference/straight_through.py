"""Straight-through gradients of a graph in double precision: gates, largest inputs and activations of the integer pass, no error rounded."""

from __future__ import annotations

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node
from tests.oracle import tflite_graph as spec
from tests.oracle.graph_layers import taps, windows


def gradients(graph: Graph, images: np.ndarray, labels: np.ndarray) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return the mean loss's gradients by weights and biases, float64 and flattened, of every layer with weights, by its index."""
    values = [value.reshape(len(images), -1).astype(float) for value in spec.forward(graph, images)]
    scale = graph.layers[-1].scale
    p = np.exp(scale * (values[-1] - values[-1].max(axis=1, keepdims=True)))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(p)), labels] -= 1
    errors = {value: np.zeros_like(its) for value, its in enumerate(values)}
    errors[len(graph.layers)] = scale * p / len(images)
    found = {}
    for index in reversed(range(len(graph.layers))):
        layer = graph.layers[index]
        error, x = errors[index + 1], values[layer.reads[0]]
        if layer.op in (Op.MAX_POOL, Op.AVERAGE_POOL):
            errors[layer.reads[0]] += _of_pool(layer, error, x)
            continue
        error = error * ((values[index + 1] > layer.act_min) & (values[index + 1] < layer.act_max))
        if layer.op is Op.ADD:
            for value in layer.reads:
                errors[value] += error * graph.scale_of(value) / layer.scale
            continue
        assert layer.own is not None
        of_sum = error * np.tile(
            layer.own.multiplier * np.exp2(layer.own.shift - 31.0), layer.out_size // layer.channels
        )
        o, w, i = np.array(list(taps(layer))).T
        flat = layer.own.weights.ravel().astype(float)
        for n in range(len(images)):
            errors[layer.reads[0]][n] += np.bincount(i, of_sum[n, o] * flat[w], layer.in_size)
        products = (of_sum[:, o] * (x[:, i] - graph.zero_of(layer.reads[0]))).sum(axis=0)
        found[index] = np.bincount(w, products, flat.size), of_sum.reshape(-1, layer.channels).sum(axis=0)
    return found


def _of_pool(layer: Node, error: np.ndarray, x: np.ndarray) -> np.ndarray:
    channels, area = layer.out_shape[2], layer.kernel[0] * layer.kernel[1]
    seen = np.zeros((layer.out_size // channels, area), int)
    for position, tap, at in windows(layer):
        seen[position, tap] = at
    of_image, inside = error.reshape(len(x), -1, 1, channels), x.reshape(len(x), -1, channels)[:, seen]
    share = np.full(inside.shape, 1 / area)
    if layer.op is Op.MAX_POOL:
        share = np.arange(area)[:, None] == inside.argmax(axis=2)[:, :, None]  # the first of the largest
    out = np.zeros((len(x), layer.in_size // channels, channels))
    out[:, seen.ravel()] = (of_image * share).reshape(len(x), -1, channels)
    return out.reshape(len(x), -1)
