"""The yardstick of QZO-FF on `float32`: docs/arithmetic-qzo-ff.md, section 10, computed again weight by weight."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.graph.graph import Graph
from hil.training.methods import METHODS, qzo_ff_refusals
from hil.training.methods.qzo_ff_plan import QzoFfPlan
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import trained_tensors
from hil.training.reference.floats import F
from hil.training.reference.formats.float32.forward import values_of
from hil.training.reference.formats.float32.loss import losses
from hil.training.reference.methods.directions import direction, direction_pool
from hil.training.reference.methods.qzo_ff import QzoFfReference
from hil.training.reference.methods.qzo_rates import rate

from .float32_networks import network_a, network_b, samples

BOTH = {"epsilon": 0.01, "eta": 0.02, "batch": 2}


def own_of(
    graph: Graph, settings: QzoFfSettings, tensors: list[np.ndarray]
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    changed = QzoFfPlan(graph, settings).with_arrays(tensors)
    return {
        index: (layer.own.weights, layer.own.bias)
        for index, layer in enumerate(changed.layers)
        if layer.own is not None
    }


def loss(graph: Graph, settings: QzoFfSettings, tensors: list[np.ndarray], images: np.ndarray, labels: np.ndarray) -> F:
    logits = values_of(graph, images, own_of(graph, settings, tensors))[-1][0, 0]
    total = F(0)
    for one in losses(logits, labels):
        total = total + one
    return total


def by_hand(graph: Graph, settings: QzoFfSettings, steps: int) -> list[np.ndarray]:
    """Plain steps without guide and mask, in scalars where the order matters."""
    images, labels = samples(graph)
    tensors = [
        (layer.own.bias if known.is_bias else layer.own.weights).copy()
        for known in trained_tensors(graph, settings)
        if (layer := graph.layers[known.layer]).own is not None
    ]
    m = settings.directions
    for step in range(steps):
        pool = direction_pool(settings.distribution, settings.seed, step)
        z = [
            [direction(pool, settings.seed, step, number, index, its.size) for number in range(settings.draws)]
            for index, its in enumerate(tensors)
        ]

        def moved(number: int, c: F, z: list[list[np.ndarray]] = z) -> None:
            for index, its in enumerate(tensors):
                flat = its.reshape(-1)
                for place in range(flat.size):
                    flat[place] = flat[place] + F(c * F(F(int(z[index][number][place])) * F(2.0**-5)))

        def sign(number: int, moved: Any = moved) -> int:
            epsilon, found = F(settings.epsilon), []
            for c in (epsilon, F(-2) * epsilon):
                moved(number, c)
                found.append(loss(graph, settings, tensors, images, labels))
            moved(number, epsilon)
            return int(found[0] > found[1]) - int(found[0] < found[1])

        ascent = F(0)
        if settings.has_sharpness:
            ascent = F(sign(m)) * F(settings.rho)
            moved(m, ascent)
        signs = [sign(number) for number in range(m)]
        if settings.has_sharpness:
            moved(m, -ascent)
        root = F(0)
        for index, known in enumerate(trained_tensors(graph, settings)):
            total = [
                sum(s * int(z[index][i][place]) for i, s in enumerate(signs)) for place in range(tensors[index].size)
            ]
            flat = tensors[index].reshape(-1)
            if settings.normalise and not known.is_bias:
                squares = F(0)
                for w in flat:
                    squares = squares + w * w
                of_gradient = sum(one * one for one in total)
                root = F(math.sqrt(float(F(squares / F(of_gradient))))) if squares and of_gradient else F(0)
            for place, one in enumerate(total):
                h = F(F(one) * root) if settings.normalise else F(F(F(one) / F(m)) * F(2.0**-5))
                flat[place] = min(max(flat[place] - rate(settings, step) * h, F(-(2.0**20))), F(2.0**20))
    return tensors


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"directions": 3, "train_bias": 1},
        {"rho": 0.02, "directions": 2},
        {"normalise": 1, "train_bias": 1, "last_layers": 1},
        {"distribution": "binomial", "warmup": 2, "last_layers": 1},
    ],
)
@pytest.mark.parametrize("make", [network_a, network_b])
def test_two_steps_are_those_of_the_text(make: Any, changes: dict[str, Any]) -> None:
    graph, chosen = make(), QzoFfSettings(**BOTH | changes)
    reference = QzoFfReference(graph, chosen)
    images, labels = samples(graph)
    for _ in range(2):
        reference.step(images, labels)
    expected = by_hand(graph, chosen, 2)
    assert len(expected) == len(reference.weights)
    for ours, theirs in zip(reference.weights, expected, strict=True):
        assert ours.dtype == F and ours.tobytes() == theirs.tobytes()


def test_adamw_by_hand() -> None:
    """One step: both moments begin at 0, so a weight moves by about eta, against its gradient."""
    graph = network_a()
    reference = QzoFfReference(graph, QzoFfSettings(**BOTH, optimizer="adamw", last_layers=1))
    (before,) = (its.copy() for its in reference.weights)
    done = reference.step(*samples(graph))
    (z,) = (mine[0] for mine in reference._last.directions)  # type: ignore[union-attr]
    by = (before - reference.weights[0]).reshape(-1)
    assert done.sign and np.allclose(by[z != 0], 0.02 * done.sign * np.sign(z[z != 0]), atol=1e-4)


@pytest.mark.parametrize(
    "sparse",
    [{"sparse": "top", "keep": 100}, {"sparse": "random", "keep": 100}, {"sparse": "threshold", "threshold": 0.3}],
)
@pytest.mark.parametrize("optimizer", ["plain", "adamw"])
def test_what_is_masked_never_moves(sparse: dict[str, Any], optimizer: str) -> None:
    graph = network_a()
    reference = QzoFfReference(graph, QzoFfSettings(**BOTH, **sparse, guide=200, optimizer=optimizer))
    before = [its.copy() for its in reference.weights]
    for _ in range(3):
        reference.step(*samples(graph))
    masks = reference._masks
    assert masks is not None
    for first, now, mask in zip(before, reference.weights, masks, strict=True):
        assert mask is not None and 0 < mask.sum() < mask.size
        assert np.array_equal(first.ravel()[~mask], now.ravel()[~mask])
        assert not np.array_equal(first.ravel()[mask], now.ravel()[mask])


def test_the_directions_are_those_of_w16a8() -> None:
    """The same settings draw the same z in both formats, whatever the weights."""
    from network.w16a8_graphs import LABELS, PIXELS, text_network

    chosen = QzoFfSettings(**BOTH, seed=7)
    integers, floats = QzoFfReference(text_network(), chosen), QzoFfReference(network_a(), chosen)
    integers.step(PIXELS, LABELS)
    floats.step(*samples(network_a()))
    assert integers._last is not None and floats._last is not None
    for ours, theirs in zip(integers._last.directions, floats._last.directions, strict=True):
        size = min(ours[0].size, theirs[0].size)
        assert np.array_equal(ours[0][:size], theirs[0][:size])


def test_evaluation_and_trace_have_binary32() -> None:
    graph = network_b()
    reference = QzoFfReference(graph, QzoFfSettings(**BOTH))
    images, labels = samples(graph)
    logits, exponents = reference.logits(images)
    assert logits.dtype == F and logits.shape == (2, 3) and not exponents.any()
    stages = reference.trace(reference.weights, images, labels, 1)
    assert stages[-1].type == "float32" and stages[-1].data == logits[1].tobytes() + bytes(2)


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"epsilon": 1e-9}, "setting epsilon is 1e-09: most weights of conv1 would not change by it"),
        ({"eta": 1e-9, "eta_min": 0.0}, "setting eta is 1e-09: most weights of"),
        ({"rho": 1e-9}, "setting rho is 1e-09: most weights of"),
        ({"sparse": "threshold", "threshold": 9.0}, "setting threshold is 9.0, which selects no weight of drawn"),
    ],
)
def test_what_rounds_to_nothing_is_refused(changes: dict[str, Any], said: str) -> None:
    graph, chosen = network_a(), QzoFfSettings(**BOTH | changes)
    with pytest.raises(RigError, match=said):
        qzo_ff_refusals.check(graph, chosen, trained_tensors(graph, chosen))


def test_no_trial_names_it() -> None:
    """It is a yardstick of the host: no firmware has it."""
    assert not METHODS["qzo-ff"].trains(network_a().formats)
