"""Back-propagation beside QZO-FF: Full BP of float32 where both can do the same, and AdamW against PyTorch's rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hil.training.methods.qzo_ff_plan import QzoFfPlan
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.reference.methods.elasticzo_fp32 import ElasticZoFp32Reference
from hil.training.reference.methods.float_back_propagation import FloatBackPropagation

from .float32_networks import network_a, network_b, samples
from .float32_networks import settings as zo_settings


@pytest.mark.parametrize("make", [network_a, network_b])
def test_plain_steps_on_all_layers_are_full_bp(make: Any) -> None:
    graph = make()
    theirs = ElasticZoFp32Reference(graph, zo_settings(0))
    ours = FloatBackPropagation(graph, QzoFfSettings(eta=0.05, train_bias=1, batch=2))
    for _ in range(3):
        one, other = ours.step(*samples(graph)), theirs.step(*samples(graph))
        assert (one.loss_plus, one.digests) == (other.loss_plus, other.digests)


@pytest.mark.parametrize("optimizer", ["plain", "adamw"])
def test_the_last_layers_alone_are_trained(optimizer: str) -> None:
    graph = network_b()
    learner = FloatBackPropagation(graph, QzoFfSettings(eta=0.05, optimizer=optimizer, last_layers=2, batch=2))
    assert [tensor.shape for tensor in learner.weights] == [(3, 3, 3, 4), (3, 3)]
    images, labels = samples(graph)
    losses = [learner.step(images, labels).loss_plus for _ in range(10)]
    assert losses[-1] < losses[0]
    logits, _ = learner.logits(images)
    assert logits.dtype == np.float32 and logits.shape == (2, 3)


def test_adamw_goes_on_from_its_state() -> None:
    graph, chosen = network_a(), QzoFfSettings(eta=0.05, optimizer="adamw", batch=2)
    whole, first = FloatBackPropagation(graph, chosen), FloatBackPropagation(graph, chosen)
    for _ in range(4):
        done = whole.step(*samples(graph))
    for _ in range(2):
        first.step(*samples(graph))
    second = FloatBackPropagation(QzoFfPlan(graph, chosen).with_arrays(first.weights), chosen)
    second.configure(chosen, 2)
    second.restore(first.state())
    assert [second.step(*samples(graph)) for _ in range(2)][-1] == done
