"""Last layers for new classes, in floats: drawn by seed, or from prototypes (few-shot learning)."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Node, Float32Parameters
from hil.training.networks.lenet5 import xavier_uniform

PROTONETS, SIMPLESHOT = "protonet", "simpleshot"
MARGIN = 4.0  # nats by which a prototype is nearer to itself than to another, on average
Head = tuple[np.ndarray, np.ndarray]  # weights [classes, features] and biases [classes], float64


def prototype_head(classifier: str, features: np.ndarray, labels: np.ndarray) -> Head:
    """Return a linear layer with the arg max of a few-shot classifier.

    ProtoNets has the least squared distance to the mean m_c of a class: logits 2 m_c x - |m_c|^2. SimpleShot with
    features of length 1 has the nearest direction: logits p_c x, where p_c is the mean of the features of length 1,
    brought to length 1; the length of x does not change the arg max. Both are divided by a temperature, which the
    papers leave to the backbone: on average a prototype has MARGIN nats more for its own class than for another.

    Args:
        classifier: `protonet` or `simpleshot`.
        features: real numbers [n, features] of the support samples.
        labels: classes 0, 1, ... [n]; each has a sample.
    """
    real = np.asarray(features, np.float64)
    classes = range(int(labels.max()) + 1)
    means = np.stack([real[labels == label].mean(axis=0) for label in classes])
    if classifier == PROTONETS:
        weights, bias = 2 * means, -(means**2).sum(axis=1)
    else:
        units = _of_length_1(real)
        weights = _of_length_1(np.stack([units[labels == label].mean(axis=0) for label in classes]))
        bias = np.zeros(len(means))
    logits = means @ weights.T + bias
    margin = float(np.mean([logits[own, own] - logits[own, other] for own, other in permutations(classes, 2)]))
    scale = MARGIN / margin if margin > 0 else 1.0
    return weights * scale, bias * scale


def _of_length_1(rows: np.ndarray) -> np.ndarray:
    found: np.ndarray = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return found


def drawn_head(classes: int, features: int, seed: int) -> Head:
    """Return a linear layer drawn from `seed` (Xavier uniform), with biases 0."""
    rng = np.random.Generator(np.random.PCG64(seed))
    weights, _ = xavier_uniform((classes, features), features, classes, rng)
    return weights.astype(np.float64), np.zeros(classes)


def with_float_head(graph: Graph, weights: np.ndarray, bias: np.ndarray) -> Graph:
    """Return a graph in `float32` with another last layer."""
    own = Float32Parameters(weights.astype(np.float32), bias.astype(np.float32))
    last = replace(graph.node(-1, Float32Node), out_shape=(1, 1, len(bias)), own=own)
    return replace(graph, layers=(*graph.layers[:-1], last), classes=len(bias))
