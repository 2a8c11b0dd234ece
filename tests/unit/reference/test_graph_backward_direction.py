"""Is the gradient of bp that of the network that the integers stand for?

The slope is that of the same network in double precision, nothing rounded, by central differences so narrow that next to no
kink lies within. The straight-through gradient in double precision lies between the two: it has the activations of the integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.formats.tflite8.factors import slopes
from hil.training.reference.methods.back_propagation import BackPropagation
from reference import float_graph, straight_through
from reference.drawn_graphs import Builder, many_readers
from reference.test_graph_gradient_direction import cosine, residual_graph, unlikely_samples

WIDTH = 1e-3  # of a difference, in steps of a weight or bias
COORDINATES = 20  # of a tensor that are compared
LARGEST = 40  # update of a weight, in steps: none is clipped
CHOSEN = GraphSettings(method="bp", qas=0)


def max_pooled(seed: int) -> Graph:
    """Return convolutions with a stride, a hidden fully connected layer and a max_pool."""
    builder = Builder(np.random.default_rng(seed), (8, 8, 2), "double", 4, 6)
    builder.append(Op.CONV2D, (8, 8, 4), (3, 3), 1, 1)
    builder.append(Op.MAX_POOL, (4, 4, 4), (2, 2), 2)
    builder.append(Op.CONV2D, (2, 2, 5), (2, 2), 2)
    builder.append(Op.FULLY_CONNECTED, (1, 1, 12))
    builder.append(Op.FULLY_CONNECTED, (1, 1, 4))
    return builder.graph


def deep(seed: int) -> Graph:
    """Return three inverted bottlenecks, the second with a stride and the others with an add."""
    builder = Builder(np.random.default_rng(seed), (8, 8, 2), "double", 4, 6)
    builder.append(Op.POINTWISE, (8, 8, 4), (1, 1), 1)
    for block in range(3):
        value, side = len(builder.layers), 8 if block < 1 else 4
        builder.append(Op.POINTWISE, (*builder.shape[:2], 8), (1, 1), 1)
        builder.append(Op.DEPTHWISE, (side, side, 8), (3, 3), builder.shape[0] // side, 1)
        builder.append(Op.POINTWISE, (side, side, 4), (1, 1), 1)
        if block in (0, 2):
            builder.append_add(value)
    builder.append(Op.AVERAGE_POOL, (1, 1, 4), (4, 4), 1)
    builder.append(Op.FULLY_CONNECTED, (1, 1, 4))
    return builder.graph


def estimates(graph: Graph, images: np.ndarray, labels: np.ndarray) -> dict[int, list[np.ndarray]]:
    """Return the mean loss's gradient by the weights and by the biases of each layer, by its index, from what a step updates by."""
    method = BackPropagation(graph, CHOSEN)
    found = method.estimate(0, images, labels)
    result = {}
    for layer, gradient in zip(method.trained, found.gradients, strict=True):
        factor = method.backward.chain.of_value[layer.index + 1]
        unit = (
            slopes(layer.parameters).astype(float)
            * float(factor.c)
            * 2.0 ** (factor.j + gradient.exponent)
            / len(images)
        )
        weights, bias = (part.astype(float) for part in layer.parts(gradient.total))
        by_channel = unit if layer.layer.op is Op.DEPTHWISE else unit.reshape(-1, *[1] * (weights.ndim - 1))
        result[layer.index] = [(weights * by_channel).ravel(), bias * unit]
    return result


GRAPHS: dict[str, Callable[[int], Graph]] = {
    "residual": residual_graph,
    "max_pool": max_pooled,
    "many readers": lambda seed: many_readers(Builder(np.random.default_rng(seed), (5, 5, 2), "double", 4, 6), 5, 4),
    "deep": deep,
}


@cache
def samples(kind: str, seed: int) -> tuple[Graph, np.ndarray, np.ndarray]:
    """Return a graph whose logits are not clipped, images and labels."""
    graph = GRAPHS[kind](seed)
    graph = replace(graph, layers=(*graph.layers[:-1], replace(graph.layers[-1], act_min=-128, act_max=127)))
    return graph, *unlikely_samples(graph, seed)


def along(ours: np.ndarray, slope: np.ndarray) -> tuple[float, float]:
    """Return the cosine, and the size along the slope as a share of it."""
    return cosine(ours, slope), float(ours @ slope / (slope @ slope))


@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("kind", GRAPHS)
def test_gradients_are_straight_through(kind: str, seed: int) -> None:
    """What 8 bits of error a tensor leave of the gradient: after ten layers it is still within 0.99."""
    graph, images, labels = samples(kind, seed)
    exact = straight_through.gradients(graph, images, labels)
    least, reach = (0.99, 0.15) if kind == "deep" else (0.9995, 0.015)
    for index, found in estimates(graph, images, labels).items():
        for ours, slope in zip(found, exact[index], strict=True):
            cos, size = along(ours, slope)
            assert cos > least and abs(size - 1) < reach, (graph.layers[index].name, cos, size)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("kind", GRAPHS)
def test_gradients_are_those_of_the_float_network(kind: str, seed: int) -> None:
    """Whose activations are not rounded either."""
    (graph, images, labels), rng = samples(kind, seed), np.random.default_rng(seed)
    for index, found in estimates(graph, images, labels).items():
        for of_bias, ours in enumerate(found):
            chosen = rng.permutation(ours.size)[:COORDINATES]
            slope = float_graph.gradient(graph, images, labels, index, bool(of_bias), WIDTH, chosen)
            cos, size = along(ours[chosen], slope)
            assert cos > 0.99 and abs(size - 1) < 0.1, (graph.layers[index].name, of_bias, cos, size)


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_a_step_is_eta_times_the_gradient(momentum: float) -> None:
    """Rounded to whole steps of a weight; with momentum, the second step on the same gradient is 1 + M of the first."""
    graph, images, labels = samples("many readers", 1)
    exact = straight_through.gradients(graph, images, labels)
    for index, (slope, _) in exact.items():
        eta = LARGEST / float(np.abs(slope).max())
        only = replace(graph, layers=tuple(replace(one, block=2 - (i == index)) for i, one in enumerate(graph.layers)))
        method = BackPropagation(only, replace(CHOSEN, blocks=1, train_bias=0, eta=eta, momentum=momentum))
        [before] = method.weights
        method.step(images, labels)
        [after] = method.weights
        cos, size = along((before.astype(float) - after).ravel() / eta, slope)
        assert cos > 0.99 and abs(size - 1) < 0.02, (graph.layers[index].name, cos, size)
        method.trained[0].weights = before
        method.step(images, labels)
        cos, size = along((before.astype(float) - method.weights[0]).ravel() / eta, slope)
        assert cos > 0.99 and abs(size - 1 - momentum) < 0.04, (graph.layers[index].name, cos, size)
