"""Batch normalisation folded into the layer before it (docs/arithmetic-affine8.md, section 9)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.node import Float32Parameters
from hil.training.networks.floating import FloatGraph

EPSILON = 1e-5


@dataclass(frozen=True)
class BatchNorm:
    """A batch normalisation: gamma * (x - mean) / sqrt(variance + epsilon) + beta, each by channel, float [C]."""

    gamma: np.ndarray
    beta: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    epsilon: float = EPSILON


def folded(op: Op, weights: np.ndarray, bias: np.ndarray, norm: BatchNorm) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and biases of a layer and the batch normalisation of its output in one, computed in binary64.

    Args:
        op: of the layer; it says which axis of the weights is the output channel.
        weights: in the order of the network file.
        bias: by output channel.
        norm: of the output.

    Returns:
        float32 weights and biases.
    """
    given = (weights, bias, norm.gamma, norm.beta, norm.mean, norm.variance)
    w, b, gamma, beta, mean, variance = (np.asarray(array, np.float64) for array in given)
    k = gamma / np.sqrt(variance + norm.epsilon)
    by_channel = k if op is Op.DEPTHWISE else k.reshape(-1, *[1] * (w.ndim - 1))
    return (w * by_channel).astype(np.float32), (beta + (b - mean) * k).astype(np.float32)


def normalized(graph: FloatGraph, images: np.ndarray) -> FloatGraph:
    """Return a graph with a batch normalisation behind each layer with weights but the last, folded into it.

    Mean and variance are those of the images, gamma is 1 and beta 0: what training from scratch begins with. They are
    computed in binary64 and rounded to binary32, so that they are the same on every processor.

    Args:
        graph: with drawn weights.
        images: uint8 [n, height, width, channels].
    """
    layers = list(graph.layers)
    for index, layer in enumerate(layers[:-1]):
        if layer.own is None:
            continue
        until = replace(graph, layers=(*layers[:index], replace(layer, activation="none")))
        found = until.values(images)[-1].reshape(-1, len(layer.own.bias))
        ones = np.ones(len(layer.own.bias))
        mean, variance = (moment.astype(np.float32) for moment in (found.mean(axis=0), found.var(axis=0)))
        norm = BatchNorm(ones, 0 * ones, mean, variance)
        layers[index] = replace(
            layer, own=Float32Parameters(*folded(layer.op, layer.own.weights, layer.own.bias, norm))
        )
    return replace(graph, layers=tuple(layers))
