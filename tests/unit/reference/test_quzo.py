"""What docs/arithmetic-quzo.md says of every step: exact restoring, unbiased roundings, an unbiased update."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from network.w16a8_graphs import LABELS, PIXELS, text_network

from hil.training.graph.graph import Graph
from hil.training.methods.quzo import Quzo
from hil.training.methods.quzo_tensors import QuzoTensor
from hil.training.reference.floats import F
from hil.training.reference.formats.tflite8.loss import summed
from hil.training.reference.methods import reference_of
from hil.training.reference.methods.directions import direction, direction_pool
from hil.training.reference.methods.quzo import QuzoReference, QuzoWeights, factor
from reference.cut_training import check_nothing_else_is_kept
from reference.drawn_graphs import drawn_graph, labelled

SIZE = 20_000  # weights whose roundings are averaged


def reference(graph: Graph, **settings: Any) -> QuzoReference:
    found = reference_of(Quzo.on(graph, "full", **settings))
    assert isinstance(found, QuzoReference)
    return found


def tensor(epsilon: float, unit: float = 2.0**-6) -> QuzoWeights:
    """Return 8-bit weights that are all 0."""
    known = QuzoTensor("fc1", 0, np.array(unit, F), 127, F(epsilon))
    return QuzoWeights(known, 0, np.zeros(SIZE, np.int8))


@pytest.mark.parametrize("seed", range(6))
def test_the_passes_move_both_ways_and_the_weights_come_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng)
    least = min(float(np.min(layer.own.scale)) for layer in graph.trained if layer.own is not None)
    trained = reference(graph, epsilon=float(F(20 * least)), directions=3, seed=seed)
    trained.step(*labelled(graph, rng))  # clips
    before, passes = trained.weights, list(trained.passes(trained.weights, 7))
    assert len(passes) == 6
    for plus, minus in zip(passes[::2], passes[1::2], strict=True):
        for rest, up, down in zip(before, plus, minus, strict=True):
            np.testing.assert_array_equal(up.astype(int) + down, 2 * rest.astype(int))
            assert np.abs(up.astype(int)).max() <= 127 and np.abs(down.astype(int)).max() <= 127
    assert any((up != rest).any() for up, rest in zip(passes[0], before, strict=True))
    assert any((one != other).any() for one, other in zip(passes[0], passes[2], strict=True))
    for now, rest in zip(trained.weights, before, strict=True):
        np.testing.assert_array_equal(now, rest)


@pytest.mark.parametrize("steps_of_weight", [0.02, 0.3, 1.0, 7.7])
def test_u_and_v_are_epsilon_z_in_the_mean_and_rounded_apart(steps_of_weight: float) -> None:
    """u and v of the same z: the means of both, their largest distance, and no correlation of the two errors."""
    settings = Quzo.on(text_network(), "full").settings
    weights = tensor(steps_of_weight * 2.0**-6)
    pool = direction_pool("gaussian", settings.seed, 3)
    u, v = weights.roundings(pool, settings, 3, 1)
    exact = direction(pool, settings.seed, 3, 1, 0, SIZE) / 32 * steps_of_weight
    spread = 0.5 / np.sqrt(SIZE)  # of the mean of a rounding: at most half a step each
    for rounded in (u, v):
        error = rounded - exact
        assert np.abs(error).max() < 1 + 2**-6
        assert abs(error.mean()) < 5 * spread
        for sign in (1, -1):  # so that halves are not rounded away from zero, or toward it
            assert abs(error[np.sign(exact) == sign].mean()) < 5 * spread * np.sqrt(2)
    assert abs(((u - exact) * (v - exact)).mean()) < 5 * 0.25 / np.sqrt(SIZE)
    assert (u != v).any()


@pytest.mark.parametrize("of_a_step", [-3.25, -0.1, 0.004, 0.5])
def test_a_move_is_made_as_often_as_it_should_be(of_a_step: float) -> None:
    weights = tensor(2.0**-6)
    weights.lower(np.full(SIZE, round(of_a_step * 65536), np.int64), 1, 5)
    assert set(weights.values.tolist()) <= {-int(np.floor(of_a_step)), -int(np.floor(of_a_step)) - 1}
    assert abs(weights.values.mean() + of_a_step) < 5 * 0.5 / np.sqrt(SIZE)


def test_the_streams_of_layers_directions_and_updates_differ() -> None:
    settings = Quzo.on(text_network(), "full").settings
    pool = direction_pool("gaussian", 1, 0)
    first, second = tensor(2.0**-7), tensor(2.0**-7)
    second.number = 1
    drawn = [one.roundings(pool, settings, 0, i) for one in (first, second) for i in (0, 1)]
    assert len({u.tobytes() for u, _ in drawn}) == 4
    for one in (first, second):
        one.lower(np.full(SIZE, 1 << 15, np.int64), 1, 0)
    assert (first.values != second.values).any()


def losses_of(trained: QuzoReference, weights: np.ndarray) -> float:
    """Return the mean loss of the text's two samples with other weights of all layers, one after the other."""
    at = 0
    for one in trained._tensors:
        size = one.values.size
        one.values = weights[at : at + size].reshape(one.values.shape).astype(np.int32)
        at += size
    prefix = trained._network.prefix(PIXELS)
    return float(summed(trained._network.losses(prefix, LABELS), F(0))) / len(LABELS)


def smoothed_gradients(graph: Graph, epsilon: float, draws: int) -> np.ndarray:
    """Return the gradient by finite differences for each of some draws of weights that other noise has moved."""
    trained, rng = reference(graph, epsilon=epsilon), np.random.default_rng(1)
    rest = np.concatenate([weights.ravel() for weights in trained.weights]).astype(float)
    steps = epsilon / np.concatenate([np.full(one.values.size, one.known.unit) for one in trained._tensors])
    found = np.zeros((draws, len(rest)))
    for gradient in found:
        around = rest + rng.normal(size=len(rest)) * steps
        for place, side in enumerate(np.diag(steps)):
            gradient[place] = losses_of(trained, around + side) - losses_of(trained, around - side)
    return found / (2 * epsilon)


def test_the_mean_of_the_update_is_the_gradient() -> None:
    """Over many seeds, on the network of docs/arithmetic-w16a8.md: its length, too, not only where it points to."""
    epsilon, eta, seeds = 0.03, 2.0**-11, 20
    plan = Quzo.on(text_network(), "full").plan
    graph = plan.with_arrays([weights // 2 for _, weights in plan.arrays])  # no weight is near its limit
    moves = []
    for seed in range(seeds):
        trained = reference(graph, epsilon=epsilon, eta=eta, directions=40, seed=seed)
        before = trained.weights
        trained.step(PIXELS, LABELS)
        lowered = zip(before, trained.weights, trained._tensors, strict=True)
        its = [(old.astype(int) - now) * float(one.known.unit) / eta for old, now, one in lowered]
        moves.append(np.concatenate([one.ravel() for one in its]))
    expected = smoothed_gradients(graph, epsilon, 20)
    spread = np.sqrt(np.var(moves, axis=0) / len(moves) + np.var(expected, axis=0) / len(expected))
    mean, gradient = np.mean(moves, axis=0), expected.mean(axis=0)
    assert np.abs(gradient).max() > 8 * spread.max()
    assert (np.abs(mean - gradient) < 5 * spread).all()
    assert 0.85 < (mean @ gradient) / (gradient @ gradient) < 1.15


def test_a_difference_of_losses_is_held() -> None:
    settings = Quzo.on(text_network(), "full", epsilon=2.0**-6, eta=1.0).settings
    assert factor(settings, F(3e38), F(0), 1) == 2**30
    assert factor(settings, F(0), F(3e38), 1) == -(2**30)
    assert factor(settings, F(1), F(1), 1) == 0
    assert factor(settings, F(1.5), F(1), 2) == round(0.5 / 4 * 2**12 * 65536)


def test_weights_beyond_their_limit_are_clipped_in_the_first_step() -> None:
    graph = text_network()
    trained = reference(graph, epsilon=0.05, eta=2.0**-40)
    limits = [int(one.known.limit) for one in trained._tensors]
    assert np.abs(trained.weights[0]).max() > limits[0]
    trained.step(PIXELS, LABELS)
    assert [np.abs(weights).max() <= limit for weights, limit in zip(trained.weights, limits, strict=True)] == [
        True
    ] * 2


def test_nothing_but_weights_is_kept_from_step_to_step() -> None:
    """So a trial may be cut and go on from its weights, and a schedule may change the rate."""
    graph = drawn_graph(np.random.default_rng(2))
    least = min(float(np.min(layer.own.scale)) for layer in graph.trained if layer.own is not None)
    method = Quzo.on(graph, "full", epsilon=float(F(20 * least)), eta=0.03)
    check_nothing_else_is_kept(method, graph)
