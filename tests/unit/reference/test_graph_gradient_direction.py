"""Does a step go down the slope of the network that the integers stand for, by as much as the text says?

The slope is that of the same network in double precision, nothing rounded, by numeric differentiation. Many queries make the
estimate's own scatter small; what is left are roundings of activations and the width of a perturbation.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.methods import training_loop
from reference import float_graph
from reference.drawn_graphs import Builder

SAMPLES = 60  # whose roundings of activations average out
SEEDS = (
    1,
    7,
)  # of networks with a steep loss; in a flat one, roundings and kinks within the width of a perturbation weigh more
TRAINED = (0, 1, 2, 5)
BITS = 6  # of the weights, so that no update is clipped
LARGEST = 50  # update of a weight, in steps


def residual_graph(seed: int) -> Graph:
    """Return conv, depthwise, pointwise, an add, a mean and fully connected, with ReLU, ReLU6 or none."""
    builder = Builder(np.random.default_rng(seed), (5, 5, 2), "double", 4, BITS)
    builder.append(Op.CONV2D, (5, 5, 4), (3, 3), 1, 1)
    builder.append(Op.DEPTHWISE, (5, 5, 4), (3, 3), 1, 1)
    builder.append(Op.POINTWISE, (5, 5, 4), (1, 1), 1)
    builder.append_add(1)
    builder.append(Op.AVERAGE_POOL, (2, 2, 4), (2, 2), 2)
    builder.append(Op.FULLY_CONNECTED, (1, 1, 4))
    return builder.graph


def unlikely_samples(graph: Graph, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return images that differ a little from one another, and the label that the network finds least likely: the slope is steep there."""
    rng = np.random.default_rng(seed)
    images = rng.integers(20, 236, graph.in_shape) + rng.integers(-20, 21, (SAMPLES, *graph.in_shape))
    weights, classes = float_graph.of_graph(graph), range(graph.classes)
    each = [float_graph.losses(graph, weights, images, np.full(SAMPLES, label)).mean() for label in classes]
    return images.astype(np.uint8), np.full(SAMPLES, np.argmax(each))


def updates(graph: Graph, settings: GraphSettings, images: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
    """Return by how much one step lowers each trained tensor."""
    method = training_loop(settings.method)(graph, settings)
    before = [tensor.astype(np.float64) for tensor in method.weights]
    method.step(images, labels)
    return [(old - new).ravel() for old, new in zip(before, method.weights, strict=True)]


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def agrees(update: np.ndarray, slope: np.ndarray, eta: float) -> bool:
    """Whether an update is eta times the slope: in its direction, and in its size along the slope."""
    return cosine(update, slope) > 0.93 and 0.85 < float(update @ slope / (slope @ slope)) / eta < 1.15


@cache
def samples(seed: int) -> tuple[Graph, np.ndarray, np.ndarray]:
    """Return a graph with a layer in each block, images and labels."""
    graph = residual_graph(seed)
    layers = list(graph.layers)
    for block, index in enumerate(TRAINED, 1):
        layers[index] = replace(layers[index], block=block)
    return replace(graph, layers=tuple(layers)), *unlikely_samples(graph, seed)


@cache
def slope_of(seed: int, index: int, of: str) -> np.ndarray:
    """Return the float network's slope, between points about as far apart as a perturbation is wide."""
    return float_graph.gradient(*samples(seed), index, of == "biases", 1.0 if of == "weights" else 40.0)


WP = GraphSettings(perturb="weight", queries=60, batch=SAMPLES, gns=0, qas=0)
NP = replace(WP, perturb="node")
CASES = {
    "weights": WP,
    "nodes": NP,
    "mezo": replace(WP, difference="central", wise="model"),
    "deepzero": replace(WP, method="deepzero"),
}


@pytest.mark.parametrize("of", ["weights", "biases"])
@pytest.mark.parametrize("case", CASES)
def test_updates_go_down_the_slope_of_the_float_network(case: str, of: str) -> None:
    """A block at a time, so that each layer has an eta to its slope."""
    for seed in SEEDS:
        graph, images, labels = samples(seed)
        chosen = replace(CASES[case], train="bias") if of == "biases" else replace(CASES[case], train_bias=0)
        for block, index in enumerate(TRAINED):
            slope = slope_of(seed, index, of)
            eta = LARGEST / float(np.abs(slope).max())
            [update] = updates(graph, replace(chosen, eta=eta, blocks=1 << block), images, labels)
            assert agrees(update, slope, eta), (graph.layers[index].name, cosine(update, slope))
            assert not agrees(-update, slope, eta)
            assert not agrees(update, slope, 2 * eta)
