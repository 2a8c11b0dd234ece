"""The vectorised method against the loop-form specification, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network.drawn import networks

from hil.training.data import load
from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_settings import VARIANTS, ElasticZoSettings
from hil.training.networks import build
from hil.training.reference.methods.elasticzo_int8 import ElasticZoInt8Reference
from tests.oracle import PlainElasticZoInt8
from tests.oracle import layers as plain
from tests.oracle.loss import logits_error
from tests.oracle.numbers import Tensor

STEPS = 2


@st.composite
def method_settings(draw: st.DrawFn, network: Graph) -> ElasticZoSettings:
    tensors = len(network.trained)
    perturb, loss = (draw(st.sampled_from(ElasticZoSettings.table[word].words)) for word in ("perturb", "loss"))
    return ElasticZoSettings(
        partition=draw(st.integers(0, tensors)),
        b_zo=draw(st.integers(1, 7)),
        b_bp=draw(st.integers(1, 7)),
        p_zero=draw(st.sampled_from([0, 84, 230, 255])),
        r_max=draw(st.sampled_from([1, 2, 7, 63] if perturb == "exact" else [1, 2, 7, 63, 127])),
        loss=loss,
        scope=draw(st.sampled_from(ElasticZoSettings.table["scope"].words)),
        perturb=perturb,
        logit_error=draw(st.sampled_from(ElasticZoSettings.table["logit_error"].words)),
        loss_fraction=draw(st.integers(0, 6)) if loss == "integer" else 0,
        batch=draw(st.integers(1, 5)),
        seed=draw(st.integers(0, 2**32 - 1)),
    )


def samples(network: Graph, batch: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return images of very different brightness, so that the exponents of the samples differ, and their labels."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (batch, *network.in_shape)) >> rng.integers(0, 9, (batch, 1, 1, 1))
    return images.astype(np.uint8), rng.integers(0, network.classes, batch).astype(np.uint8)


def check_steps(network: Graph, chosen: ElasticZoSettings, batches: list[tuple[np.ndarray, np.ndarray]]) -> None:
    fast, slow = ElasticZoInt8Reference(network, chosen), PlainElasticZoInt8(network, chosen)
    for step, (images, labels) in enumerate(batches):
        if step:  # the schedule changes what it may, the weights stay
            chosen = chosen.changed(b_zo=step + 1, b_bp=step + 2, p_zero=40 * step, r_max=chosen.r_max // 2 + 1)
            fast.configure(chosen, step)
            slow.configure(chosen, step)
        outcome = fast.step(images, labels)
        plus, minus, sign = slow.step(images, labels)
        assert outcome.step == step
        assert np.float32(outcome.loss_plus).tobytes() == np.float32(plus).tobytes()
        assert np.float32(outcome.loss_minus).tobytes() == np.float32(minus).tobytes()
        assert outcome.sign == sign
        for layer, got, expected in zip(network.trained, fast.weights, slow.weights, strict=True):
            assert got.dtype == np.int8
            assert got.shape == layer.weights.shape
            assert got.ravel().tolist() == list(expected), layer.name


@settings(max_examples=120, deadline=None)
@given(data=st.data(), network=networks(largest=6, exponents=(-14, 2)), seed=st.integers(0, 2**32))
def test_small_networks(data: st.DataObject, network: Graph, seed: int) -> None:
    chosen = data.draw(method_settings(network))
    check_steps(network, chosen, [samples(network, chosen.batch, seed + step) for step in range(STEPS)])


@settings(max_examples=25, deadline=None)
@given(data=st.data(), network=networks(largest=4, exponents=(-10, -4)), seed=st.integers(0, 2**32))
def test_a_larger_batch_and_a_step_of_fewer(data: st.DataObject, network: Graph, seed: int) -> None:
    """Enough samples of one exponent for whole products; then a step that the data set's end cut short, then one sample."""
    chosen = replace(data.draw(method_settings(network)), batch=30)
    check_steps(network, chosen, [samples(network, size, seed + size) for size in (30, 11, 1)])


@settings(max_examples=30, deadline=None)
@given(data=st.data(), network=networks(largest=4, exponents=(-32, 8)), seed=st.integers(0, 2**32))
def test_extreme_exponents(data: st.DataObject, network: Graph, seed: int) -> None:
    chosen = data.draw(method_settings(network))
    check_steps(network, chosen, [samples(network, chosen.batch, seed)])


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_step_of_lenet5(variant: str) -> None:
    data, network = load("fashion-mnist-1k"), build("lenet5", 1)
    chosen = ElasticZoSettings.of_variant(variant, 5, batch=1, r_max=15, seed=77)
    check_steps(network, chosen, [(data.train_images[:1], data.train_labels[:1])])


def test_the_first_weights_are_left_alone() -> None:
    network = build("lenet5", 1)
    before = [layer.weights.copy() for layer in network.trained]
    method = ElasticZoInt8Reference(network, ElasticZoSettings.of_variant("full-bp", 5, batch=1))
    data = load("fashion-mnist-1k")
    method.step(data.train_images[:1], data.train_labels[:1])
    assert all(np.array_equal(a, layer.weights) for a, layer in zip(before, network.trained, strict=True))
    assert any(not np.array_equal(a, b) for a, b in zip(before, method.weights, strict=True))


@settings(max_examples=40, deadline=None)
@given(data=st.data(), network=networks(largest=5), seed=st.integers(0, 2**32))
def test_a_trace_is_what_the_specification_computes(data: st.DataObject, network: Graph, seed: int) -> None:
    partition = data.draw(st.integers(0, len(network.trained)))
    scope = data.draw(st.sampled_from(["sample", "batch"]))
    form = data.draw(st.sampled_from(ElasticZoSettings.table["logit_error"].words))
    method = ElasticZoInt8Reference(network, ElasticZoSettings(partition, scope=scope, batch=3, logit_error=form))
    images, labels = samples(network, 3, seed)
    slot = data.draw(st.integers(0, 2))
    stages = method.trace(method.weights, images, labels, slot)
    if scope == "sample":
        images, labels, slot = images[slot : slot + 1], labels[slot : slot + 1], 0

    def flat(group: list[Tensor]) -> bytes:
        tensor = group[slot]
        return np.array(tensor.values, np.int8).tobytes() + tensor.exponent.to_bytes(2, "little", signed=True)

    weights = {layer.name: [int(w) for w in layer.weights.ravel()] for layer in network.trained}
    values = PlainElasticZoInt8(network, ElasticZoSettings(partition)).activations(images)
    expected = [(layer.name, "output", flat(v)) for layer, v in zip(network.layers, values[1:], strict=True)]
    first_bp = network.first_bp(partition)
    if first_bp < len(network.layers):
        error = [logits_error(one, int(label), form) for one, label in zip(values[-1], labels, strict=True)]
        expected.append((network.layers[-1].name, "error", flat(error)))
        for index, (x, y) in reversed(list(enumerate(pairwise(values)))[first_bp + 1 :]):
            layer = network.layers[index]
            error = plain.input_error(layer, weights.get(layer.name, []), x, y, error)
            expected.append((layer.name, "error handed on", flat(error)))
    assert [(stage.layer, stage.what, stage.data) for stage in stages] == expected
