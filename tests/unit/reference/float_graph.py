"""The network that a graph stands for, in double precision and with nothing rounded; values in steps above their zero point."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node

Weights = dict[int, tuple[np.ndarray, np.ndarray]]  # of the layers, by index: float weights and biases in their shapes


def of_graph(graph: Graph) -> Weights:
    """Return weights and biases as floats."""
    return {
        index: (layer.own.weights.astype(float), layer.own.bias.astype(float))
        for index, layer in enumerate(graph.layers)
        if layer.own is not None
    }


def losses(graph: Graph, weights: Weights, images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the cross-entropy of each of the uint8 images [B, H, W, C]."""
    x = values(graph, weights, images)[-1].reshape(len(images), -1) * graph.layers[-1].scale
    return np.log(np.exp(x).sum(axis=1)) - x[np.arange(len(x)), labels]


def values(graph: Graph, weights: Weights, images: np.ndarray) -> list[np.ndarray]:
    """Return every value of a forward pass, the input first."""
    found = [images.astype(float) - 128 - graph.zero]
    for index, layer in enumerate(graph.layers):
        out = _run(graph, layer, [found[value] for value in layer.reads], weights.get(index))
        found.append(np.clip(out, layer.act_min - layer.zero, layer.act_max - layer.zero))
    return found


def _run(graph: Graph, layer: Node, inputs: list[np.ndarray], own: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
    x = inputs[0]
    if layer.op is Op.ADD:
        scales = [graph.scale_of(value) for value in layer.reads]
        return (inputs[0] * scales[0] + inputs[1] * scales[1]) / layer.scale
    if layer.op is Op.MAX_POOL:
        return _windows(layer, x, -np.inf).max(axis=(-2, -1))
    if layer.op is Op.AVERAGE_POOL:
        return np.nanmean(_windows(layer, x, np.nan), axis=(-2, -1))
    assert own is not None and layer.own is not None
    weights, bias = own
    if layer.op is Op.FULLY_CONNECTED:
        acc = (x.reshape(len(x), -1) @ weights.T)[:, None, None]
    elif layer.op is Op.DEPTHWISE:
        acc = np.einsum("byxcij,ijc->byxc", _windows(layer, x, 0), weights)
    else:
        acc = np.einsum("byxcij,oijc->byxo", _windows(layer, x, 0), weights)
    return (acc + bias) * layer.own.multiplier * np.exp2(layer.own.shift.astype(float) - 31)


def _windows(layer: Node, x: np.ndarray, outside: float) -> np.ndarray:
    """Return [B, oh, ow, C, kh, kw]."""
    (kh, kw), (height, width, _), (down, across) = layer.kernel, layer.out_shape, layer.stride
    sides = (layer.pad[0], kh + down), (layer.pad[1], kw + across)
    padded = np.pad(x, ((0, 0), *sides, (0, 0)), constant_values=outside)
    return sliding_window_view(padded, (kh, kw), axis=(1, 2))[:, ::down, ::across][:, :height, :width]


def gradient(
    graph: Graph,
    images: np.ndarray,
    labels: np.ndarray,
    index: int,
    of_bias: bool,
    step: float,
    chosen: np.ndarray | None = None,
) -> np.ndarray:
    """Return central differences of the mean loss in the weights or biases of one layer, flattened, `step` to either side; of all, or of some."""
    weights = of_graph(graph)
    flat = weights[index][of_bias].reshape(-1)  # a view: writing to it changes the weights
    chosen = np.arange(flat.size) if chosen is None else chosen
    found = np.zeros(chosen.size)
    for place, j in enumerate(chosen):
        kept = flat[j]
        flat[j] = kept + step
        up = losses(graph, weights, images, labels).mean()
        flat[j] = kept - step
        found[place] = (up - losses(graph, weights, images, labels).mean()) / (2 * step)
        flat[j] = kept
    return found
