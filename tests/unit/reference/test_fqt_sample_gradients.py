"""The gradients of one sample that FQT's reference shows, against those that a step of this sample accumulates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hil.training.graph.graph import Graph
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.reference.methods import fqt
from hil.training.reference.methods.fqt import FqtReference
from hil.training.reference.methods.fqt_update import LayerGradient
from tests.oracle.fqt import PlainFqt

from .affine8_networks import F32, network_a, network_b, network_c, samples
from .oracle_affine8_graphs import oracle_of

NETWORKS = {"A": network_a(), "B": network_b(), "C": network_c(), "float32": network_b(F32)}
CHOSEN: dict[str, dict[str, Any]] = {
    "dense": {},
    "sparse": {"lambda_min": 0.3, "lambda_max": 0.6, "sparse_head": 1},
    "running": {"error_range": "running", "lambda_min": 0.2, "rate": "difference"},
    "few layers": {"last_layers": 2, "train_bias": 0, "standardise": "off"},
}


def trained(network: Graph, chosen: dict[str, Any], steps: int = 3) -> FqtReference:
    """Return a reference after some steps."""
    reference = FqtReference(network, FqtSettings(batch=2, eta=0.01, **chosen))
    for _ in range(steps):
        reference.step(*samples(network))
    return reference


@pytest.mark.parametrize("chosen", CHOSEN.values(), ids=CHOSEN)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_they_are_those_of_a_step_of_this_sample(
    network: Graph, chosen: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a batch of one, as the reference accumulates them for its update."""
    accumulated: dict[int, LayerGradient] = {}
    honest = fqt.updated

    def seen(graph: Graph, gradients: dict[int, LayerGradient], *others: Any) -> Any:
        accumulated.update(gradients)
        return honest(graph, gradients, *others)

    reference, (images, labels) = trained(network, chosen), samples(network)
    found = reference.sample_gradients(images[1], int(labels[1]))
    monkeypatch.setattr(fqt, "updated", seen)
    reference.step(images[1:], labels[1:])
    assert [one.layer for one in found] == [network.layers[index].name for index in accumulated]
    for one, its in zip(found, accumulated.values(), strict=True):
        np.testing.assert_array_equal(one.weights, its.weights)
        if "lambda_min" in chosen:
            np.testing.assert_array_equal(one.kept, its.kept)
        else:
            assert one.kept is None
    assert any(one.weights.any() for one in found)


@pytest.mark.parametrize("chosen", CHOSEN.values(), ids=CHOSEN)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_they_are_those_of_the_oracle(network: Graph, chosen: dict[str, Any]) -> None:
    """Which adds them up weight by weight in loops."""
    reference, (images, labels) = trained(network, chosen, steps=1), samples(network)
    slow = PlainFqt(oracle_of(network), reference.settings)
    slow.step(images, labels.tolist())
    layers = slow.network.layers
    found = reference.sample_gradients(images[0], int(labels[0]))
    slow.step(images[:1], labels[:1].tolist())
    for one, (index, sums) in zip(found, slow.sums.items(), strict=True):
        expected: list[list[np.float32]] = [[] for _ in range(layers[index].channels)]
        for place, value in enumerate(sums.weights):
            expected[layers[index].channel(place)].append(value)
        np.testing.assert_array_equal(one.weights, np.array(expected, np.float32))
        if one.kept is not None:
            assert set(np.flatnonzero(one.kept)) == sums.kept


def test_skipped_channels_have_no_gradient() -> None:
    chosen = {"lambda_min": 0.3, "lambda_max": 0.3, "sparse_head": 1}
    found = trained(network_b(), chosen).sample_gradients(samples(network_b())[0][0], 0)
    dense = trained(network_b(), {}).sample_gradients(samples(network_b())[0][0], 0)
    for one in found:
        assert one.kept is not None and one.kept.sum() == max(int(0.3 * len(one.kept)), 1) < len(one.kept)
        assert not one.weights[~one.kept].any()
    assert any(one.weights.any(axis=1).sum() > 1 for one in dense), "without the settings more channels have one"


@pytest.mark.parametrize("chosen", CHOSEN.values(), ids=CHOSEN)
def test_showing_them_changes_no_later_step(chosen: dict[str, Any]) -> None:
    (images, labels), shown, other = samples(network_b()), trained(network_b(), chosen), trained(network_b(), chosen)
    for _ in range(2):
        for label in range(3):  # also of a class that is far off, with a large loss
            shown.sample_gradients(images[1], label)
        assert shown.step(images, labels) == other.step(images, labels)
        assert shown.last_work() == other.last_work()
        for name, array in shown.state().items():
            np.testing.assert_array_equal(array, other.state()[name], err_msg=name)
