"""QuZO in the tree's reference against the oracle, bit for bit, on small random graphs of w16a8 and tflite8."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from hil.errors import RigError
from hil.training.graph.graph import Graph
from hil.training.methods.quzo import Quzo
from hil.training.reference.methods import reference_of
from reference.drawn_graphs import drawn_graph, images
from reference.test_oracle_qzo_ff_against_reference import drawn_w16a8
from tests.oracle.quzo import PlainQuzo

STEPS = 2
FORMATS = ("tflite8", "w16a8", "8w8a")


def drawn(rng: np.random.Generator, formats: str) -> Graph:
    """Return a small random graph."""
    return drawn_graph(rng) if formats == "tflite8" else drawn_w16a8(rng, 127 if formats == "8w8a" else 32767)


def of(graph: Graph, epsilon: float, **chosen: float) -> Quzo:
    """Return the method with an epsilon that is given as a share of the largest that the graph allows."""
    most = min(
        float(np.min(layer.own.scale)) * (getattr(layer.own, "largest", 127) // 2) * 32 / 92
        for layer in graph.trained
        if layer.own is not None
    )
    size = min(max(most * epsilon, 2.0**-40), 1.0)
    return Quzo.on(graph, "full", epsilon=float(np.float32(size)), **chosen)


@settings(max_examples=60, deadline=None)
@given(
    formats=st.sampled_from(FORMATS),
    epsilon=st.sampled_from([0.9, 0.5, 0.02, 0.003]),
    eta=st.sampled_from([2.0**-40, 1e-5, 1e-3, 0.05, 1.0]),
    directions=st.sampled_from([1, 1, 2, 5]),
    last_layers=st.sampled_from([64, 1, 2]),
    samples=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
    first=st.sampled_from([0, 1, 50]),
)
@example("tflite8", 0.5, 1e-3, 127, 1, 1, 5, 0)
def test_small_graphs(
    formats: str, epsilon: float, eta: float, directions: int, last_layers: int, samples: int, seed: int, first: int
) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn(rng, formats)
    chosen = {"directions": directions, "last_layers": last_layers, "batch": samples, "seed": seed}
    try:
        method = of(graph, epsilon, eta=float(np.float32(eta)), **chosen)
    except RigError:  # nothing would move
        assume(False)
    fast, slow = reference_of(method), PlainQuzo(graph, method.settings)
    fast.configure(method.settings, first)
    for step in range(first, first + STEPS):
        pictures, labels = images(graph, samples, rng)
        outcome = fast.step(pictures, labels.astype(np.uint8))
        plus, minus, sign = slow.step(step, pictures, labels.tolist())
        assert np.float32(outcome.loss_plus).tobytes() == plus.tobytes()
        assert np.float32(outcome.loss_minus).tobytes() == minus.tobytes()
        assert outcome.sign == sign
        for index, (got, layer) in enumerate(zip(fast.weights, slow.trained, strict=True)):
            assert got.ravel().tolist() == layer.weights, f"tensor {index}"
        assert outcome.digests == slow.digests()
    pictures, _ = images(graph, 2, rng)
    assert fast.logits(pictures)[0].tolist() == [slow.logits(image) for image in pictures]


@pytest.mark.parametrize("formats", FORMATS)
def test_every_drawn_network_has_trained_weights_that_move(formats: str) -> None:
    """So that the test above does not compare what stands still."""
    moved = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        graph = drawn(rng, formats)
        reference = reference_of(of(graph, 0.5, eta=0.05, batch=2))
        pictures, labels = images(graph, 2, rng)
        before = reference.digests()
        reference.step(pictures, labels.astype(np.uint8))
        moved += before != reference.digests()
    assert moved >= 6
