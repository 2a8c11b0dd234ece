"""What momentum, Adam and statistics of accumulated gradients do, against formulas in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hil.training.graph.graph import Graph
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.reference.methods.fqt import FqtReference
from tests.oracle.affine8_network import Network

from .affine8_double import Weights, differences, loss, weights_of
from .affine8_networks import F32, network_a, network_b, samples
from .oracle_affine8_graphs import oracle_of

STEPS, STEP = 4, 1e-6  # of training, and of a central difference
SMALL = float(np.float32(1e-4))  # epsilon: above the error of a difference


def made(graph: Graph, **settings: Any) -> FqtReference:
    return FqtReference(graph, FqtSettings(**{"batch": 2, "eta": 0.01, "standardise": "off", **settings}))


def gradients(network: Network, weights: Weights) -> np.ndarray:
    """Return the slopes of the loss of both samples in all weights and biases, layer by layer."""
    images, labels = samples(network_a(F32))
    for index, layer in enumerate(network.layers):
        if layer.weights:
            layer.weights, layer.bias = weights[index]
    return sum(
        np.concatenate(
            [differences(network, image, int(label), index, part, STEP) for index in weights for part in (0, 1)]
        )
        for image, label in zip(images, labels, strict=True)
    )


def adam(g: list[np.ndarray], alpha: float, beta1: float, beta2: float, epsilon: float) -> np.ndarray:
    """Return the change of the last step of algorithm 1 of Kingma and Ba (2015), of all gradients so far."""
    t = len(g)
    m = sum((1 - beta1) * beta1 ** (t - 1 - i) * one for i, one in enumerate(g)) / (1 - beta1**t)
    v = sum((1 - beta2) * beta2 ** (t - 1 - i) * one**2 for i, one in enumerate(g)) / (1 - beta2**t)
    return alpha * m / (np.sqrt(v) + epsilon)


def momentum(g: list[np.ndarray], eta: float, beta: float) -> np.ndarray:
    """Return the change of the last step: gradients that fade by beta a step (Polyak; SGD-M)."""
    return eta * sum(beta ** (len(g) - 1 - i) * one for i, one in enumerate(g))


CASES: dict[str, dict[str, Any]] = {
    "momentum": {"optimizer": "momentum", "beta1": 0.9},
    "a short momentum": {"optimizer": "momentum", "beta1": 0.25, "gradient": "mean", "eta": 0.05},
    "adam": {"optimizer": "adam", "epsilon": SMALL},
    "adam with other decays": {"optimizer": "adam", "epsilon": SMALL, "beta1": 0.5, "beta2": 0.75},
    "adam without the first": {"optimizer": "adam", "epsilon": SMALL, "beta1": 0.0, "gradient": "mean"},
}


@pytest.mark.parametrize("name", CASES)
def test_network_a_in_float32_against_double_precision(name: str) -> None:
    """Slopes are central differences of the network without any rounding; so are the weights that they move."""
    graph, its = network_a(F32), FqtSettings(**{"eta": 0.01, **CASES[name]})
    reference, network = made(graph, **CASES[name]), oracle_of(graph)
    weights, seen = weights_of(network), []
    for _ in range(STEPS):
        assert float(reference.step(*samples(graph)).loss_plus) == pytest.approx(
            sum(loss(network, weights, image, int(label)) for image, label in zip(*samples(graph), strict=True)),
            rel=1e-5,
        )
        seen.append(gradients(network, weights) * (0.5 if its.gradient == "mean" else 1))
        if its.optimizer == "adam":
            change = adam(seen, its.eta, its.beta1, its.beta2, its.epsilon)
        else:
            change = momentum(seen, its.eta, its.beta1)
        sizes = [len(part) for own in weights.values() for part in own]
        left = iter(np.split(change, np.cumsum(sizes)[:-1]))
        weights = {
            index: tuple((np.array(part) - next(left)).tolist() for part in own) for index, own in weights.items()
        }  # type: ignore[assignment]
        expected = np.concatenate([np.array(part) for own in weights.values() for part in own])
        found = np.concatenate([tensor.reshape(-1) for tensor in reference.weights])
        np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6)
    assert np.abs(found - np.concatenate([tensor.reshape(-1) for tensor in made(graph).weights])).max() > 0.02


@pytest.mark.parametrize("chosen", [{"optimizer": "momentum"}, {"optimizer": "adam"}])
@pytest.mark.parametrize("gradient", ["sum", "mean"])
def test_a_channel_that_no_sample_keeps_stays_with_all_that_is_kept_of_it(
    chosen: dict[str, Any], gradient: str
) -> None:
    """Of network B in float32 two of three steps keep the channels of one sample alone."""
    graph = network_b(F32)
    images, labels = samples(graph)
    reference = made(graph, lambda_min=0.4, lambda_max=0.4, gradient=gradient, batch=1, **chosen)
    stayed = 0
    for number in (0, 1, 0):
        before, state = [tensor.copy() for tensor in reference.weights], reference.state()
        part = slice(number, number + 1)
        kept = {one.layer: one.kept for one in reference.sample_gradients(images[number], int(labels[number]))}
        reference.step(images[part], labels[part])
        after = reference.state()
        for place, (tensor, old) in enumerate(zip(reference.weights, before, strict=True)):
            layer = graph.layers[reference._tensors[place].layer]
            mask = kept[layer.name]
            assert mask is not None
            rows = np.moveaxis(tensor, -1, 0) if tensor.ndim == 3 else tensor  # depthwise: channels last
            old_rows = np.moveaxis(old, -1, 0) if old.ndim == 3 else old
            np.testing.assert_array_equal(rows[~mask], old_rows[~mask])
            assert not np.array_equal(rows[mask], old_rows[mask]) or not rows[mask].any() or place not in (0, 16)
            for name in (f"velocity{place}", f"m{place}", f"v{place}"):
                if name in state:
                    np.testing.assert_array_equal(after[name][~mask], state[name][~mask])
                    stayed += int(np.any(state[name][~mask]))
    assert stayed, "no state of a skipped channel was other than 0"


def test_statistics_of_accumulated_gradients_are_means_over_the_steps() -> None:
    """mu and nu of each channel, without a momentum, from the G that steps gather."""
    graph = network_a(F32)
    images, labels = samples(graph)
    reference = made(graph, standardise="accumulated", statistics_momentum=0.0, batch=1)
    means, squares = [], []
    for number in (0, 1, 1):
        g = [one.weights.astype(np.float64) for one in reference.sample_gradients(images[number], int(labels[number]))]
        means.append(np.concatenate([one.mean(axis=1) for one in g]))
        squares.append(np.concatenate([(one**2).mean(axis=1) for one in g]))
        reference.step(images[number : number + 1], labels[number : number + 1])
    state = reference.state()
    np.testing.assert_allclose(state["mean"], np.mean(means, axis=0), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(state["square"], np.mean(squares, axis=0), rtol=1e-5)
    assert (state["count"] == 3).all()


@pytest.mark.parametrize(("standardise", "alike"), [("accumulated", True), ("running", False)])
def test_a_weight_moves_as_far_whatever_the_batch(standardise: str, alike: bool) -> None:
    """Both samples eight times: G is eight times larger, and so are its own mean and deviation."""
    graph = network_a(F32)
    images, labels = samples(graph)
    moves = []
    for times in (1, 8):
        reference = made(graph, standardise=standardise, batch=2 * times)
        before = reference.weights[0].copy()
        reference.step(np.tile(images, (times, *[1] * (images.ndim - 1))), np.tile(labels, times))
        moves.append(np.abs(reference.weights[0] - before).mean())
    assert (abs(moves[1] / moves[0] - 1) < 1e-3) == alike
    if not alike:
        assert moves[1] / moves[0] > 4


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
@pytest.mark.parametrize("standardise", ["off", "running", "batch", "accumulated"])
def test_training_lowers_the_loss(optimizer: str, standardise: str) -> None:
    reference = made(network_b(), optimizer=optimizer, standardise=standardise, eta=0.003)
    losses = [reference.step(*samples(reference.graph)).loss_plus for _ in range(30)]
    assert losses[-1] < 0.8 * losses[0]
