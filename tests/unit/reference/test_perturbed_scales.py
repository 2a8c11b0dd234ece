"""What docs/arithmetic-quzo.md says of perturbed scales: gains of one, passes that come back, an unbiased update."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hil.training.graph.file import decode
from hil.training.graph.graph import Graph
from hil.training.methods.perturbed_scales import PerturbedScales
from hil.training.methods.quzo import Quzo
from hil.training.networks import build
from hil.training.reference.floats import F
from hil.training.reference.formats.tflite8.loss import summed
from hil.training.reference.methods import reference_of
from hil.training.reference.methods.perturbed_scales import PerturbedScalesReference, factor
from reference.cut_training import check_nothing_else_is_kept
from reference.drawn_graphs import drawn_graph, images, labelled
from reference.quzo_text import LABELS, PIXELS, text_graph

ONE = 2**24


def reference(graph: Graph, **settings: Any) -> PerturbedScalesReference:
    found = reference_of(PerturbedScales.on(graph, "full", **settings))
    assert isinstance(found, PerturbedScalesReference)
    return found


def plain_logits(graph: Graph, pictures: np.ndarray) -> np.ndarray:
    """Return the logits of a network as it is in a file, by a method that knows no gains."""
    return reference_of(Quzo.on(graph, "full", epsilon=float(F(20 * least_unit(graph))))).logits(pictures)[0]


def least_unit(graph: Graph) -> float:
    return min(float(np.min(layer.own.scale)) for layer in graph.trained if layer.own is not None)


@pytest.mark.parametrize("seed", range(12))
def test_gains_of_one_leave_every_output_as_it_was(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng)
    pictures, _ = images(graph, 3, rng)
    trained = reference(graph)
    assert all((gains == ONE).all() for gains in trained.weights)
    np.testing.assert_array_equal(trained.logits(pictures)[0], plain_logits(graph, pictures))


@pytest.mark.parametrize("seed", range(12))
def test_the_trained_file_computes_what_the_gains_do(seed: int) -> None:
    """And what it says its weights are worth has moved by the same share."""
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng)
    method = PerturbedScales.on(graph, "full", eta=0.05, batch=2, seed=seed)
    trained = reference_of(method)
    for _ in range(3):
        trained.step(*labelled(graph, rng))
    assert any((gains != ONE).any() for gains in trained.weights)
    exported = decode(method.plan.file(trained.weights))
    pictures, _ = images(graph, 3, rng)
    np.testing.assert_array_equal(trained.logits(pictures)[0], plain_logits(exported, pictures))
    for old, new, gains in zip(graph.trained, exported.trained, trained.weights, strict=True):
        np.testing.assert_allclose(new.own.scale, old.own.scale * gains.astype(float) / ONE, rtol=2e-7)  # type: ignore[union-attr]
        np.testing.assert_array_equal(new.weights, old.weights)
    assert method.plan.file() == method.given(trained.weights).plan.file()


@pytest.mark.parametrize("seed", range(6))
def test_the_passes_move_both_ways_and_the_gains_come_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng)
    trained = reference(graph, epsilon=2.0**-5, seed=seed)
    before = trained.weights
    plus, minus = list(trained.passes(before, 7))
    for rest, up, down in zip(before, plus, minus, strict=True):
        np.testing.assert_array_equal(up + down, 2 * rest)
        assert (up != rest).any()
    for now, rest in zip(trained.weights, before, strict=True):
        np.testing.assert_array_equal(now, rest)


def test_gains_beyond_their_limits_are_held_in_the_first_step_and_stay() -> None:
    graph = text_graph()
    method = PerturbedScales.on(graph, "full", epsilon=2.0**-5, eta=2.0**-40)
    ends = [np.array([2**22, 2**26, ONE], np.int32)[: array.size] for _, array in method.plan.arrays]
    trained = reference_of(method.given(ends))
    trained.step(PIXELS, LABELS)
    low, high = 2**22 + 92 * 2**14, 2**26 - 92 * 2**14
    assert method.settings.limits == (low, high)
    for gains in trained.weights:
        assert np.abs(gains - np.array([low, high, ONE])[: gains.size]).max() <= 1
        assert gains.min() >= low and gains.max() <= high
    fast = reference(graph, epsilon=2.0**-5, eta=1.0, seed=5)
    seen = set()
    for _ in range(60):
        fast.step(PIXELS, LABELS)
        seen |= {int(gain) for gains in fast.weights for gain in gains}
    assert min(seen) == low and max(seen) == high


def losses_of(trained: PerturbedScalesReference, gains: np.ndarray) -> float:
    """Return the mean loss of two samples with gains of all layers, one after the other, as real factors."""
    at = 0
    for one in trained._tensors:
        size = one.values.size
        one.values = np.rint(gains[at : at + size] * ONE).astype(np.int32)
        at += size
    return float(summed(trained._network.losses(trained._network.prefix(PIXELS), LABELS), F(0))) / len(LABELS)


def test_the_mean_of_the_update_is_the_gradient() -> None:
    """Over many seeds: the gradient of the loss along the gains, smoothed by the perturbation, by finite differences."""
    epsilon, eta, seeds, draws = 2.0**-5, 2.0**-8, 800, 100
    graph = text_graph()
    trained, moves = reference(graph, epsilon=epsilon, eta=eta), []
    first = [array.copy() for array in trained.weights]
    for seed in range(seeds):
        trained.configure(replace(trained.settings, seed=seed), 0)
        for one, gains in zip(trained._tensors, first, strict=True):
            one.values = gains.copy()
        trained.step(PIXELS, LABELS)
        moves.append(np.concatenate([old - now for old, now in zip(first, trained.weights, strict=True)]) / ONE / eta)
    rng, found = np.random.default_rng(1), np.zeros((draws, len(moves[0])))
    for gradient in found:
        around = 1 + epsilon * rng.normal(size=len(gradient))
        for place, side in enumerate(np.eye(len(gradient)) * epsilon):
            gradient[place] = losses_of(trained, around + side) - losses_of(trained, around - side)
    found /= 2 * epsilon
    mean, expected = np.mean(moves, axis=0), found.mean(axis=0)
    spread = np.sqrt(np.var(moves, axis=0) / seeds + np.var(found, axis=0) / draws)
    assert np.abs(expected).max() > 8 * spread.max()
    assert (np.abs(mean - expected) < 5 * spread).all()
    assert 0.85 < (mean @ expected) / (expected @ expected) < 1.15


def test_a_slope_is_clipped_and_a_factor_is_held() -> None:
    settings = PerturbedScales.on(text_graph(), "full", epsilon=2.0**-6, eta=1.0).settings
    assert factor(settings, F(3e38), F(0), 1) == 2**41
    assert factor(settings, F(0), F(3e38), 1) == -(2**41)
    assert factor(settings, F(1), F(1), 1) == 0
    assert factor(settings, F(1.5), F(1), 2) == round(0.5 / 4 * 2**6) * 2**27
    clipped = replace(settings, clip=0.5, eta=0.25)
    assert factor(clipped, F(1.5), F(1), 2) == 2**24
    assert factor(clipped, F(1), F(1.5), 2) == -(2**24)
    assert factor(replace(clipped, clip=8.0), F(1.5), F(1), 2) == 2**28


def test_nothing_but_gains_is_kept_from_step_to_step() -> None:
    """So a trial may be cut and go on from its gains, and a schedule may change the rate."""
    graph = drawn_graph(np.random.default_rng(2))
    method = PerturbedScales.on(graph, "full", eta=0.05)
    check_nothing_else_is_kept(method, graph)


def test_a_change_of_the_schedule_leaves_the_gains() -> None:
    trained = reference(build("lenet5-tflite", 1), eta=0.05, batch=2, last_layers=1)
    pictures, labels = np.random.default_rng(1).integers(0, 256, (2, 28, 28), np.uint8), np.array([3, 7])
    trained.step(pictures, labels)
    held = trained.digests()
    trained.follow(trained.settings.changed(eta=0.01))
    assert trained.digests() == held
