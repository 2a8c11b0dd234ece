"""Rules of docs/arithmetic-fqt.md that its test vectors do not reach: failures, ranges, statistics, channels."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.training.methods.fqt_settings import FqtSettings
from reference.drawn_graphs import drawn_graph
from reference.failing_steps import FAILURES
from tests.oracle import affine8, fqt
from tests.oracle.affine8_backward import StepFailed
from tests.oracle.affine8_network import Layer
from tests.oracle.affine8_numbers import Tensor
from tests.oracle.fqt import PlainFqt
from tests.oracle.numbers import F32

from .drawn_affine8 import drawn_network, images
from .oracle_affine8_networks import NONE, RELU, Affine8Builder, network_a, network_b, text_samples

SETTINGS = FqtSettings(eta=0.01)


def failure(method: PlainFqt) -> tuple[int, int]:
    """Run a step that fails and changes nothing; return its layer and cause."""
    before = method.digests()
    with pytest.raises(StepFailed) as failed:
        method.step(*text_samples(method.network))
    assert method.digests() == before
    return failed.value.layer, failed.value.cause


@pytest.mark.parametrize("name", FAILURES)
def test_failures(name: str) -> None:
    """Nothing changes; forward passes and losses go on after an error that is too large."""
    network, chosen, expected = FAILURES[name]()
    method = PlainFqt(network, chosen)
    assert failure(method) == expected
    losses = [
        affine8.loss_and_error(network, affine8.forward(network, image)[-1], label)[0]
        for image, label in zip(*text_samples(network), strict=True)
    ]
    assert method.loss_plus == losses[0] + losses[1]


def test_what_does_not_fail() -> None:
    """Biases that are not trained are not checked, and a range that does not grow stays."""
    for name, changed in (("biases leave", {"train_bias": 0}), ("a range leaves", {"range_growth": 0.0})):
        network, chosen, _ = FAILURES[name]()
        PlainFqt(network, replace(chosen, **changed)).step(*text_samples(network))


def test_the_first_layer_fails_first() -> None:
    """A layer's collapse counts before the limits of a later layer, weights before biases, and ranges last."""
    network = network_a()
    first, last, chosen = network.layers[0], network.layers[2], replace(SETTINGS, eta=2.0**-40, range_growth=1.0)
    first.weights, last.bias = [first.z_w] * len(first.weights), [F32(2.0**21)] * 3
    assert failure(PlainFqt(network, chosen)) == (0, 1)
    first.bias = [F32(2.0**21)] * 2
    assert failure(PlainFqt(network, chosen)) == (0, 1)
    first.weights = [first.z_w + 1] * len(first.weights)
    assert failure(PlainFqt(network, chosen)) == (0, 2)
    network.s, first.bias, first.s_w, first.high = F32(2.0**8), [F32(0)] * 2, F32(2.0**8), F32(2.0**30)
    first.weights = [first.z_w + 60] * len(first.weights)
    assert max(affine8.forward(network, text_samples(network)[0][0])[1]) == 127
    assert failure(PlainFqt(network, chosen)) == (2, 2)
    last.bias = [F32(0)] * 3
    assert failure(PlainFqt(network, chosen)) == (0, 4)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.data())
def test_kept_channels_by_counting(norms: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(norms)))
    ahead = [sum(b > a or (b == a and j < o) for j, b in enumerate(norms)) for o, a in enumerate(norms)]
    assert fqt.largest_norms(norms, k) == [o for o, count in enumerate(ahead) if count < k]


def test_statistics_without_momentum_are_means() -> None:
    """mu and nu are the means of the means and of the mean squares of all samples so far."""
    network = network_a()
    method = PlainFqt(network, replace(SETTINGS, statistics_momentum=0.0, eta=2.0**-40))
    means, squares = [], []
    for _ in range(4):
        method.step(*text_samples(network))
        for found in method.passes:
            own = found.own[2]
            g = [Fraction(float(own.c)) * one for one in own.weights[18:36]]
            means.append(sum(g) / len(g))
            squares.append(sum(one * one for one in g) / len(g))
    channel = method.statistics[2][1]
    assert channel.count == 8
    np.testing.assert_allclose(float(channel.mean), float(sum(means) / 8), rtol=1e-5)
    np.testing.assert_allclose(float(channel.square), float(sum(squares) / 8), rtol=1e-5)


@pytest.mark.parametrize("format", ["affine8", "mixed", "float32"])
@pytest.mark.parametrize("seed", range(12))
def test_channels_that_are_not_kept_stay(seed: int, format: str) -> None:
    """With one channel a sample, the others have no d: in float32 their weights keep every bit."""
    rng = np.random.default_rng(seed)
    network = drawn_network(rng, format)
    chosen = replace(SETTINGS, lambda_min=0.0, lambda_max=0.0, sparse_head=1)
    method = PlainFqt(network, chosen)
    method.step(*images(network, 1, rng))
    for index in method.trained:
        before, after, sums = network.layers[index], method.network.layers[index], method.sums[index]
        assert len(sums.kept) == 1
        stayed = [k for k in range(len(before.weights)) if before.channel(k) not in sums.kept]
        assert all(sums.weights[k] == 0 for k in stayed)
        assert [after.bias[o] for o in range(before.channels) if o not in sums.kept] == [
            before.bias[o] for o in range(before.channels) if o not in sums.kept
        ]
        if before.format == "float32":
            assert [after.weights[k] for k in stayed] == [before.weights[k] for k in stayed]
        assert [c.count for c in method.statistics[index]] == [int(o in sums.kept) for o in range(before.channels)]


@pytest.mark.parametrize("seed", range(12))
def test_ranges_stay_usable(seed: int) -> None:
    """After every step 0 is in each range, a range is as wide as its sums need, and the loss falls."""
    rng = np.random.default_rng(seed)
    network = drawn_network(rng)
    method, (drawn, labels) = PlainFqt(network, replace(SETTINGS, standardise="off", eta=0.02)), images(network, 3, rng)
    losses = []
    for _ in range(12):
        losses.append(float(method.step(drawn, labels)))
        for index in method.ranged:
            layer = method.network.layers[index]
            assert layer.low <= 0 <= layer.high and layer.high - layer.low >= F32(2.0**-20)
            s_y = method.network.scale(index + 1)[0]
            scales = [method.network.scale(value)[0] for value in layer.reads]
            unit = scales[0] * layer.s_w if layer.weights else scales[0] * scales[-1]
            if layer.weights or layer.op == "multiply":
                assert unit / s_y <= F32(float.fromhex("0x1.01p+0"))
    assert losses[-1] < losses[0]


def test_running_errors_have_a_range_for_each_value() -> None:
    """Only errors made of sums have one, not those that an add, a pool or a second reader gives."""
    method = PlainFqt(network_b(), replace(SETTINGS, error_range="running"))
    method.step(*text_samples(method.network))
    weighted = {(index, 0) for index in (2, 4, 5, 7, 9, 11)}
    assert set(method.ranges) == weighted | {(1, 0), (6, 0), (6, 1)}


def test_configure_begins_anew_but_keeps_weights() -> None:
    method = PlainFqt(network_a(), replace(SETTINGS, error_range="running"))
    method.step(*text_samples(method.network))
    digests = method.digests()
    method.configure(replace(method.settings, eta=0.02))
    assert method.digests() == digests and method.largest_loss == 0 and method.ranges == {}
    assert {c.count for channels in method.statistics.values() for c in channels} == {0}


@pytest.mark.parametrize("seed", range(8))
def test_layers_behind_tflite8(seed: int) -> None:
    """Layers in affine8 read a value of tflite8 with its scale and zero point; those before them stay."""
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng, apart=True)
    before = [
        Layer(layer.op.name.lower(), layer.reads, layer.in_shape, layer.out_shape, format="tflite8")
        for layer in graph.layers
    ]
    n, channels = len(before), graph.layers[-1].out_shape[2]
    builder = Affine8Builder(graph.in_shape, F32(graph.scale), graph.zero, before)
    builder.append("fully_connected", (1, 1, 4), (0, 2), RELU)
    builder.append("fully_connected", (1, 1, 3), (-2, 2), NONE)
    network = replace(builder.network(), tflite=graph)
    drawn = rng.integers(0, 256, (2, *graph.in_shape)).astype(np.uint8)
    values = affine8.forward(network, drawn[0])
    assert network.scale(n) == (F32(graph.layers[-1].scale), graph.layers[-1].zero)
    s, z = network.scale(n)
    first = network.layers[n]
    real = [
        float(b)
        + sum(float(first.real_weights[o * channels + i]) * float(s) * (q - z) for i, q in enumerate(values[n]))
        for o, b in enumerate(first.bias)
    ]
    s_y, z_y = network.scale(n + 1)
    for q, y in zip(values[n + 1], real, strict=True):
        assert abs(float(s_y) * (q - z_y) - min(max(y, 0.0), 2.0)) <= 0.51 * float(s_y)
    method = PlainFqt(network, replace(SETTINGS, standardise="off"))
    assert method.first == n
    loss = method.step(drawn, [0, 1])
    assert method.step(drawn, [0, 1]) < loss
    assert all(isinstance(e, Tensor) for found in method.passes for e in found.errors.values())
    assert {value for found in method.passes for value in found.errors} == {n + 1, n + 2}
