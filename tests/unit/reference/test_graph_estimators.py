"""Are the estimators right? Their mean against every direction in turn, their variance against PMT's equation (7) and table 2.

The networks here have fully connected layers whose factor is exactly 1, so that nothing is rounded: a layer's output is its sum.
Only where two layers are perturbed at once has the last one a factor of 1/32, so that its weights may be large beside a step.
Estimates of thousands of samples, each with its own perturbations, are independent; averages of them are normal, and a score is
(mean - expected) / standard error. A good generator fails a test once in 1 / ALPHA choices of its seed.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from statistics import NormalDist

import numpy as np
import pytest

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Parameters, Tflite8Node, Tflite8Parameters
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.gradient import Gradient
from hil.training.reference.methods.poor_mans import PoorMans
from hil.training.reference.methods.trained_graph import Samples
from tests.oracle import tflite_graph as spec

ALPHA = 1e-4
SAMPLES = 4000
CURVED = 2.0**-4  # scale of the logits at which the loss is anything but straight
STRAIGHT = 2.0**-9  # at which a step of all coordinates leaves it straight to one percent
REMAINDER = 0.02  # of a variance: O(mu^2 d^2) and the eight bits of a node's gradient


def chain(
    widths: tuple[int, ...], scale: float, largest: tuple[int, ...] = (2, 2), shift: int = 1, seed: int = 3
) -> Graph:
    """Return fully connected layers without an activation, of weights up to `largest`; the last one's factor is 2^(shift - 1), the others' 1."""
    rng = np.random.default_rng(seed)
    layers = []
    for index, (inputs, outputs) in enumerate(pairwise(widths)):
        last = index == len(widths) - 2
        own = Tflite8Parameters(
            rng.integers(-largest[index], largest[index] + 1, (outputs, inputs)).astype(np.int8),
            rng.integers(-5, 6, outputs).astype(np.int32),
            np.full(outputs, 2**30, np.int32),
            np.full(outputs, shift if last else 1, np.int8),
            np.ones(outputs, np.float32),
        )
        shapes = (1, 1, inputs), (1, 1, outputs)
        name = f"fc{index + 1}"
        layers.append(
            Tflite8Node(name, Op.FULLY_CONNECTED, (index,), *shapes, block=1, scale=scale if last else 1.0, own=own)
        )
    return Graph("chain", tuple(layers), (1, 1, widths[0]), widths[-1])


def factors(own: Parameters) -> tuple[float, int]:
    """Return a layer's factor and the step of its biases, m_o."""
    return 2.0 ** (int(own.shift[0]) - 1), 2 ** max(-int(own.shift[0]), 0)


def loss(graph: Graph, image: np.ndarray, label: int, nodes: dict[int, np.ndarray] | None = None) -> float:
    """The cross-entropy in double precision of the int64 path, with outputs of layers moved."""
    value = spec.input_values(graph, image[None])
    for index, layer in enumerate(graph.layers):
        assert layer.own is not None
        value = spec.run(graph, layer, [value], layer.own.weights, layer.own.bias)
        if nodes and index in nodes:
            value = value + nodes[index].reshape(value.shape).astype(np.int8)
    x = value.ravel() * graph.layers[-1].scale
    return float(np.log(np.exp(x - x.max()).sum()) + x.max() - x[label])


def moved(graph: Graph, index: int, noise: np.ndarray) -> Graph:
    own = graph.layers[index].own
    assert own is not None
    weights, bias = np.split(noise, [own.weights.size])
    changed = (
        own.weights + weights.reshape(own.weights.shape).astype(np.int8),
        own.bias + (bias * factors(own)[1]).astype(np.int32),
    )
    return graph.with_parameters({index: changed})


class Recorder(Gradient):
    """Keeps the samples' gradients instead of their sum."""

    def __init__(self) -> None:
        super().__init__()
        self.each: list[np.ndarray] = []

    def add(self, gradient: np.ndarray, exponent: int) -> None:
        self.each.append(gradient * 2.0**exponent)


def estimates(graph: Graph, settings: GraphSettings, images: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
    """Return what the method estimates from each sample, for each trained layer: float [samples, coordinates], a mean over its queries.

    Of nodes it is brought to weights and steps of biases by the factor that the update has.
    """
    method = PoorMans(graph, settings)
    found = [Recorder() for _ in method.trained]
    some = Samples(7, np.arange(len(images), dtype=np.uint32), images, labels)
    method.estimate_samples(some, method.own_now(), found)
    each = [np.array(one.each) / settings.queries for one in found]
    for layer, its in zip(method.trained, each, strict=True):
        if layer.by_nodes:
            assert layer.layer.own is not None
            factor, step = factors(layer.layer.own)
            its *= factor
            its[:, -layer.layer.channels :] *= step
    return each


def likely(score: float, over: int) -> bool:
    return abs(score) < NormalDist().inv_cdf(1 - ALPHA / (2 * over))


def copies(graph: Graph, count: int = SAMPLES) -> tuple[np.ndarray, np.ndarray]:
    """Return one sample many times."""
    image = np.random.default_rng(5).integers(2, 9, graph.in_shape).astype(np.uint8)
    return np.repeat(image[None], count, axis=0), np.ones(count, np.int64)


def directions(dimension: int) -> np.ndarray:
    return np.array(list(product((-1, 1), repeat=dimension)), np.int64)


def expected(graph: Graph, wise: str, perturb: str, image: np.ndarray, label: int) -> list[np.ndarray]:
    """Return the mean over all directions of (loss there - loss) * direction, for each layer: the gradient of the smoothed loss."""
    clean, sizes = loss(graph, image, label), []
    values = [spec.input_values(graph, image[None])]
    for layer in graph.layers:
        assert layer.own is not None
        sizes.append(layer.weight_count + layer.channels if perturb == "weight" else layer.out_size)
        values.append(spec.run(graph, layer, [values[-1]], layer.own.weights, layer.own.bias))
    groups = [list(range(len(sizes)))] if wise == "model" else [[index] for index in range(len(sizes))]
    means: list[np.ndarray] = []
    for group in groups:
        xi = directions(sum(sizes[index] for index in group))
        parts = np.split(xi, np.cumsum([sizes[index] for index in group])[:-1], axis=1)
        differences = []
        for row in range(len(xi)):
            its, nodes = graph, {}
            for index, part in zip(group, parts, strict=True):
                if perturb == "weight":
                    its = moved(its, index, part[row])
                else:
                    nodes[index] = part[row]
            differences.append(loss(its, image, label, nodes) - clean)
        means += [np.array(differences) @ part / len(xi) for part in parts]
    if perturb == "weight":
        return means
    inputs = [value.ravel() - graph.zero_of(index) for index, value in enumerate(values[:-1])]
    return [np.concatenate([np.outer(e, x).ravel(), e]) for e, x in zip(means, inputs, strict=True)]


@pytest.mark.parametrize("wise", ["layer", "model"])
@pytest.mark.parametrize("perturb", ["weight", "node"])
def test_the_mean_is_the_gradient_of_the_smoothed_loss(wise: str, perturb: str) -> None:
    graph = chain((2, 2, 2), CURVED)
    images, labels = copies(graph)
    settings = GraphSettings(perturb=perturb, wise=wise, queries=16, gns=0, qas=0, seed=11)
    found = estimates(graph, settings, images, labels)
    meant = expected(graph, wise, perturb, images[0], 1)
    assert max(np.abs(one).max() for one in meant) > 0.03  # there is something to find
    for ours, theirs in zip(found, meant, strict=True):
        scores = (ours.mean(axis=0) - theirs) / (ours.std(axis=0) / np.sqrt(len(ours)))
        assert all(likely(float(score), scores.size * 2) for score in scores), scores
        wrong = (ours.mean(axis=0) + theirs) / (ours.std(axis=0) / np.sqrt(len(ours)))
        assert not all(likely(float(score), scores.size * 2) for score in wrong)  # the test can tell


def test_a_central_difference_has_the_same_mean_where_the_loss_is_straight() -> None:
    graph = chain((2, 2, 2), STRAIGHT)
    images, labels = copies(graph)
    common = GraphSettings(perturb="weight", queries=8, seed=2)
    forward, central = (
        np.concatenate(estimates(graph, replace(common, difference=d), images, labels), axis=1)
        for d in ("forward", "central")
    )
    np.testing.assert_allclose(
        central.mean(axis=0), forward.mean(axis=0), atol=0.03 * np.abs(forward.mean(axis=0)).max()
    )


def exact_gradient(graph: Graph, image: np.ndarray, label: int) -> list[np.ndarray]:
    """Return the gradient in weights and steps of biases of each layer of the chain, by the chain rule in double precision."""
    values = [image.astype(np.float64).ravel()]
    owns = [layer.own for layer in graph.layers if layer.own is not None]
    for own in owns:
        values.append((own.weights @ values[-1] + own.bias) * factors(own)[0])
    x = values[-1] * graph.layers[-1].scale
    p = np.exp(x - x.max())
    error = (p / p.sum() - np.eye(len(p))[label]) * graph.layers[-1].scale
    found = []
    for own, value in zip(owns[::-1], values[-2::-1], strict=True):
        factor, step = factors(own)
        found.append(np.concatenate([np.outer(error, value).ravel(), error * step]) * factor)
        error = own.weights.T @ error * factor
    return found[::-1]


def test_the_exact_gradient_is_that_of_the_network() -> None:
    """Of a straight loss, half the difference of two opposite steps of one coordinate is the derivative."""
    graph = chain((3, 3, 3), STRAIGHT)
    image = copies(graph)[0][0]
    for index, gradient in enumerate(exact_gradient(graph, image, 1)):
        steps = np.eye(len(gradient), dtype=np.int64)
        numeric = [
            (loss(moved(graph, index, e), image, 1) - loss(moved(graph, index, -e), image, 1)) / 2 for e in steps
        ]
        np.testing.assert_allclose(gradient, numeric, rtol=5e-3, atol=1e-4)


def squared_errors(found: list[np.ndarray], gradient: list[np.ndarray]) -> np.ndarray:
    """Return each sample's squared error over all layers, [samples]."""
    return ((np.concatenate(found, axis=1) - np.concatenate(gradient)) ** 2).sum(axis=1)


def agrees(measured: np.ndarray, theory: float, over: int) -> bool:
    """Whether the mean of what was measured may be the theory's, up to the remainder."""
    error = measured.std() / np.sqrt(len(measured))
    beyond = max(abs(measured.mean() - theory) - REMAINDER * theory, 0.0)
    return likely(float(beyond / error), over)


@pytest.mark.parametrize("perturb", ["weight", "node"])
@pytest.mark.parametrize("queries", [1, 8])
def test_the_variance_of_one_layer_is_that_of_equation_7(perturb: str, queries: int) -> None:
    """(d - 1) / (N Q) * S, the first term, for one sample again and again."""
    graph = chain((4, 5), STRAIGHT)
    images, labels = copies(graph)
    settings = GraphSettings(perturb=perturb, queries=queries, seed=5)
    gradient = exact_gradient(graph, images[0], 1)
    squared = float((np.concatenate(gradient) ** 2).sum())
    d = PoorMans(graph, settings).trained[0].dimension
    assert d == (25 if perturb == "weight" else 5)
    errors = squared_errors(estimates(graph, settings, images, labels), gradient)
    assert agrees(errors, (d - 1) / queries * squared, 4)
    assert not agrees(errors, d / queries * squared, 4) or perturb == "weight"  # 4 % apart for weights, 20 % for nodes


def node_square(graph: Graph, index: int, gradient: np.ndarray) -> float:
    """Return the squared norm of the gradient in a layer's outputs, from that in its biases' steps."""
    own = graph.layers[index].own
    assert own is not None
    return float(((gradient[own.weights.size :] / np.prod(factors(own))) ** 2).sum())


@pytest.mark.parametrize("perturb", ["weight", "node"])
def test_layer_wise_and_model_wise_variance_are_those_of_table_2(perturb: str) -> None:
    """With the same forward passes in all, Q of L layers at once or Q / L of each: (L d - 1) / Q * S and (L d - L) / Q * S.

    S is the squared norm of the whole gradient. The layers of the table are alike; here each counts with its own d and S. For
    nodes the gradient of a layer is that of its nodes times its inputs, so that the table's S is weighted by the inputs' squared
    norm x: the error of layer i is x_i / Q * (sum of all layers' squared node gradients * d_i - its own squared node gradient).
    """
    shape = (
        ((2, 2), 1) if perturb == "node" else ((15, 60), -4)
    )  # what moves weights of two layers at once is not straight but for large ones
    graph, layers, queries = chain((3, 3, 3), STRAIGHT, *shape), 2, 8
    images, labels = copies(graph, 4 * SAMPLES)
    gradient = exact_gradient(graph, images[0], 1)
    modelwise = GraphSettings(perturb=perturb, wise="model", queries=queries, seed=8)
    layerwise = replace(modelwise, wise="layer", queries=queries // layers)
    d = [layer.dimension for layer in PoorMans(graph, modelwise).trained]
    squares = [float((one**2).sum()) for one in gradient]
    base = squares if perturb == "weight" else [node_square(graph, index, one) for index, one in enumerate(gradient)]
    stretch = [square / its for square, its in zip(squares, base, strict=True)]
    model = sum(x * (sum(base) * its - own) for x, its, own in zip(stretch, d, base, strict=True)) / queries
    layer = sum((its - 1) * square for its, square in zip(d, squares, strict=True)) * layers / queries
    if perturb == "weight":
        assert model == pytest.approx((sum(d) - 1) / queries * sum(squares))
        assert layer == pytest.approx((sum(d) - layers) / queries * sum(squares))
    measured = [squared_errors(estimates(graph, s, images, labels), gradient) for s in (modelwise, layerwise)]
    assert agrees(measured[0], model, 4)
    assert agrees(measured[1], layer, 4)
    assert measured[1].mean() < measured[0].mean()
    assert not agrees(measured[0], layer, 4) or perturb == "weight"  # 5 % apart for weights


@pytest.mark.parametrize("queries", [1, 6])
def test_the_variance_over_samples_is_that_of_equation_7(queries: int) -> None:
    """Samples drawn at random add d / (N Q) * V for Q = 1, the paper's second term.

    More queries of a sample do not average its own gradient away: what is exact for any Q is (Q + d - 1) / (N Q) * V.
    """
    graph, rng = chain((3, 3), STRAIGHT), np.random.default_rng(1)
    pictures, classes = rng.integers(0, 9, (6, 1, 1, 3)).astype(np.uint8), rng.integers(0, 3, 6)
    each = np.array([exact_gradient(graph, image, label)[0] for image, label in zip(pictures, classes, strict=True)])
    gradient = each.mean(axis=0)
    squared, variance = float((gradient**2).sum()), float(((each - gradient) ** 2).sum(axis=1).mean())
    drawn = rng.integers(0, 6, 2 * SAMPLES)
    settings = GraphSettings(perturb="weight", queries=queries, seed=3)
    d = PoorMans(graph, settings).trained[0].dimension
    errors = squared_errors(estimates(graph, settings, pictures[drawn], classes[drawn]), [gradient])
    assert variance > squared / 2
    assert agrees(errors, (d - 1) / queries * squared + (queries + d - 1) / queries * variance, 2)
    assert not agrees(errors, (d - 1) / queries * squared, 2)
