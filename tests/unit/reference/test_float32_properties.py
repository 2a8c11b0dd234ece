"""Properties of the reference in `float32`, on drawn graphs: order, independence of samples, limits, directions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from network.drawn_float32 import float32_graphs

from hil.errors import RigError
from hil.training.graph.formats import LARGEST_FLOAT
from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_settings import Fp32Settings
from hil.training.reference.floats import F
from hil.training.reference.formats.float32 import sums
from hil.training.reference.formats.float32.backward import errors_of
from hil.training.reference.formats.float32.forward import values_of
from hil.training.reference.formats.float32.loss import logits_error
from hil.training.reference.formats.float32.normal import moved, normal_of, normals
from hil.training.reference.methods import elasticzo_fp32
from hil.training.reference.methods.elasticzo_fp32 import ElasticZoFp32Reference

from .float32_networks import network_a, network_b

CHOSEN = Fp32Settings(partition=0, epsilon=0.01, eta=0.1, batch=5, seed=3)


def drawn_samples(graph: Graph, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (count, *graph.in_shape)).astype(np.uint8)
    return images, rng.integers(0, graph.classes, count).astype(np.uint8)


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype == F and one.tobytes() == other.tobytes()


def loss_of(graph: Graph, weights: list[np.ndarray], images: np.ndarray, labels: np.ndarray) -> float:
    """Return the sum of the losses with some weights."""
    method = ElasticZoFp32Reference(graph, CHOSEN)
    method._tensors = weights
    return method.step(images, labels).loss_plus


@settings(max_examples=80, deadline=None)
@given(shape=st.tuples(*[st.integers(1, 9)] * 3), block=st.sampled_from([1, 7, 2**15]), seed=st.integers(0, 999))
def test_products_are_added_in_order(shape: tuple[int, int, int], block: int, seed: int) -> None:
    (m, k, n), rng = shape, np.random.default_rng(seed)
    a, b, start = (rng.normal(size=size).astype(F) for size in ((m, k), (k, n), (m, n)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "BLOCK", block)
        found = sums.ordered_products(a, b), sums.ordered_products(a, b, start)
    for result, first in zip(found, (np.zeros((m, n), F), start), strict=True):
        for row in range(m):
            for column in range(n):
                total = first[row, column]
                for i in range(k):
                    total = F(total + F(a[row, i] * b[i, column]))
                assert total == result[row, column]


@settings(max_examples=60, deadline=None)
@given(graph=float32_graphs(), seed=st.integers(0, 999))
def test_there_is_no_nan_no_infinity_and_no_negative_zero(graph: Graph, seed: int) -> None:
    """Also with the largest weights and inputs of a file: errors through the whole network, where its pools allow it."""
    images, labels = drawn_samples(graph, 3, seed)
    own = {index: (node.own.weights, node.own.bias) for index, node in enumerate(graph.layers) if node.own is not None}
    with np.errstate(over="raise", invalid="raise"):
        values = values_of(graph, images, own)
        found = list(values)
        try:
            ElasticZoFp32Reference(graph, CHOSEN)
            error = logits_error(values[-1][0, 0], labels.astype(np.intp))
            found += [whole for _, whole in errors_of(graph, 0, values, own, error)]
        except RigError:  # a pool that errors cannot be handed through
            pass
    for array in found:
        assert array.dtype == F and np.abs(array).max() <= LARGEST_FLOAT
        assert not (np.signbit(array) & (array == 0)).any()


@settings(max_examples=40, deadline=None)
@given(graph=float32_graphs(), seed=st.integers(0, 999))
def test_samples_are_independent(graph: Graph, seed: int) -> None:
    """What is computed of many samples at a time is computed of each: values, logits, losses, the sum of gradients."""
    images, labels = drawn_samples(graph, 5, seed)
    try:
        method = ElasticZoFp32Reference(graph, CHOSEN)
    except RigError:
        assume(False)
    alone = np.concatenate([method.logits(images[at : at + 1])[0] for at in range(5)])
    assert same_bits(np.ascontiguousarray(method.logits(images)[0]), alone)
    wanted = method.gradients(images[:1], labels[:1])
    for at in range(1, 5):  # G + g, element by element
        wanted = [
            total + one for total, one in zip(wanted, method.gradients(images[at:][:1], labels[at:][:1]), strict=True)
        ]
    assert all(map(same_bits, method.gradients(images, labels), wanted))


@pytest.mark.parametrize("partition", [0, 2, 5])
def test_a_step_does_not_depend_on_how_many_samples_are_computed_at_a_time(partition: int) -> None:
    graph, digests = network_b(), []
    images, labels = drawn_samples(graph, 7, 1)
    for group in (1, 3, 32):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(elasticzo_fp32, "GROUP", group)
            method = ElasticZoFp32Reference(graph, replace(CHOSEN, partition=partition))
            digests.append([method.step(images, labels) for _ in range(2)])
    assert digests[0] == digests[1] == digests[2]


@pytest.mark.parametrize("network", [network_a, network_b])
def test_the_gradient_is_the_slope_of_the_loss(network: Callable[[], Graph]) -> None:
    """Along drawn directions, of which few cross a kink (a limit, another maximum)."""
    graph, width, close = network(), F(2.0**-12), []
    images, labels = drawn_samples(graph, 8, 2)
    for seed in range(8):
        method = ElasticZoFp32Reference(graph, CHOSEN)
        z = [normals(seed, 0, index, tensor.size) for index, tensor in enumerate(method.weights)]
        method._tensors = list(map(moved, method.weights, z, [F(0.1)] * len(z)))
        ends = [
            loss_of(graph, list(map(moved, method.weights, z, [c] * len(z))), images, labels) for c in (width, -width)
        ]
        gradients = method.gradients(images, labels)
        along = sum(float(g.ravel().astype(float) @ (its * 2.0**-21)) for g, its in zip(gradients, z, strict=True))
        close.append((ends[0] - ends[1]) / float(2 * width) == pytest.approx(along, rel=0.01, abs=0.01))
    assert sum(close) >= 6, close


@pytest.mark.parametrize("magnitude", [1e-3, 1.0, 300.0])
def test_a_restored_weight_is_at_most_one_and_a_half_steps_away(magnitude: float) -> None:
    weights = np.random.default_rng(5).normal(0, magnitude, 20_000).astype(F)
    z, eps = normals(9, 4, 2, weights.size), F(0.001)
    found = weights
    for c in (eps, F(-2) * eps, eps):
        found = moved(found, z, c)
    largest = np.maximum(np.abs(weights), np.abs(z * 2.0**-21 * float(eps)))
    assert (np.abs(found - weights) <= 1.5 * np.spacing(2 * largest.astype(F))).all()


def test_the_normal_numbers() -> None:
    z = np.concatenate([normals(seed, 7, 3, 100_000) for seed in range(10)]) * 2.0**-21
    for power, wanted, error in ((1, 0, 1), (2, 1, 2**0.5), (3, 0, 15**0.5), (4, 2.999, 96**0.5)):
        assert abs((z**power).mean() - wanted) < 4 * error / z.size**0.5
    assert abs(np.corrcoef(z[1:], z[:-1])[0, 1]) < 4 / z.size**0.5


def test_a_larger_word_is_a_smaller_number() -> None:
    words = np.sort(np.random.default_rng(1).integers(0, 2**31, 100_000)).astype(np.uint32) * np.uint32(2)
    z = normal_of(words)
    assert (np.diff(z) <= 0).all() and z.max() <= 13288767 and z.min() >= 0
    assert np.array_equal(normal_of(words | np.uint32(1)), -z)


def test_a_stream_depends_on_its_place_only() -> None:
    long = normals(1, 2, 3, 1000)
    assert np.array_equal(normals(1, 2, 3, 10), long[:10])
    others = [normals(*at, 1000) for at in ((2, 2, 3), (1, 3, 3), (1, 2, 4))]
    assert all((other != long).mean() > 0.99 for other in others)


def test_back_propagation_learns_and_zeroth_order_follows_it() -> None:
    """On 64 samples of network A whose label is the brightest of three rows."""
    graph = network_a()
    rng = np.random.default_rng(0)
    images = rng.integers(0, 120, (64, *graph.in_shape)).astype(np.uint8)
    labels = rng.integers(0, 3, 64).astype(np.uint8)
    images[np.arange(64), 2 * labels] += 130
    after = {}
    for partition in (0, 1, 2):
        chosen = Fp32Settings(partition=partition, epsilon=0.01, eta=0.1, batch=64, seed=1)
        method = ElasticZoFp32Reference(graph, chosen)
        losses = [method.step(images, labels).loss_plus / 64 for _ in range(40)]
        after[partition] = np.mean(losses[-10:])
        assert after[partition] < losses[0] - 0.1
    assert after[0] < after[2]


def test_the_passes_of_a_step_are_those_that_it_used() -> None:
    graph = network_b()
    images, labels = drawn_samples(graph, 3, 4)
    for partition, passes in ((0, 1), (2, 2), (5, 2)):
        method = ElasticZoFp32Reference(graph, replace(CHOSEN, partition=partition))
        before = method.weights
        found = method.step(images, labels)
        used = list(method.passes(before, 0))
        assert len(used) == passes
        losses = [loss_of(graph, weights, images, labels) for weights in used]
        assert (losses[0], losses[-1]) == (found.loss_plus, found.loss_minus)


def test_the_stages_of_a_trace() -> None:
    """Outputs of all layers, then errors down to the first layer that back-propagation trains (docs/memory.md)."""
    graph = network_b()
    images, labels = drawn_samples(graph, 2, 4)
    whole = ElasticZoFp32Reference(graph, CHOSEN)
    outputs = [layer.name for layer in graph.layers]
    for partition, errors in ((0, outputs[::-1]), (4, ["fc1"]), (3, ["fc1", "mean1", "conv1"]), (5, [])):
        method = ElasticZoFp32Reference(graph, replace(CHOSEN, partition=partition))
        stages = method.trace(method.weights, images, labels, 1)
        assert [(stage.layer, stage.what) for stage in stages] == [
            *((name, "output") for name in outputs),
            *((name, "error") for name in errors),
        ]
        sizes = {layer.name: 4 * prod(layer.out_shape) + 2 for layer in graph.layers}
        assert all(len(stage.data) == sizes[stage.layer] and stage.data[-2:] == bytes(2) for stage in stages)
        assert [stage.data for stage in stages] == [
            stage.data for stage in whole.trace(method.weights, images, labels, 1)[: len(stages)]
        ]


def test_a_partition_that_cannot_be_is_refused() -> None:
    with pytest.raises(RigError, match="partition is 6: the network has 5 layers with weights"):
        ElasticZoFp32Reference(network_b(), replace(CHOSEN, partition=6))
