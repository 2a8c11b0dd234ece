"""Back-propagation in its fast form against the loop form, bit for bit: weights, biases, momentum, losses, work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.methods import training_loop
from hil.training.reference.methods.back_propagation import BackPropagation
from reference.drawn_graphs import Builder, drawn_graph, images, many_readers
from reference.test_graph_passes import extreme
from tests.oracle import PlainBackPropagation
from tests.oracle.work import work_of


@st.composite
def bp_settings(draw: st.DrawFn) -> GraphSettings:
    train = draw(st.sampled_from(["all", "all", "all", "last", "bias", "pointwise"]))
    return GraphSettings(
        method="bp",
        train=train,
        blocks=draw(st.sampled_from([15, 15, 15, 6, 9])),
        train_bias=1 if train == "bias" else draw(st.integers(0, 1)),
        qas=draw(st.integers(0, 1)),
        momentum=draw(st.sampled_from([0.0, 0.0, 0.5, 0.9, 1e-60])),
        fused=draw(st.integers(0, 1)),
        eta=draw(st.sampled_from([2.0**-140, 0.003, 0.1, 0.3, 1.0, 3.0, 300.0, 2.0**20])),
    )


def check(graph: Graph, chosen: GraphSettings, rng: np.random.Generator, samples: int) -> None:
    fast, slow = BackPropagation(graph, chosen), PlainBackPropagation(graph, chosen)
    for _ in range(3):
        pictures, labels = images(graph, samples, rng)
        outcome = fast.step(pictures, labels)
        total = slow.step(pictures, labels.tolist())
        assert np.float32(outcome.loss_plus).tobytes() == np.float32(total).tobytes()
        assert (outcome.loss_minus, outcome.sign) == (0.0, 0)
        work = work_of(fast, outcome.step, samples)
        assert (work.macs, work.layer_runs) == (slow.macs, slow.runs)
        for layer in fast.trained:
            own = slow.own[layer.index]
            assert own is not None
            assert layer.weights.ravel().tolist() == own.weights, layer.layer.name
            assert layer.bias.tolist() == own.bias, layer.layer.name


@settings(max_examples=150, deadline=None)
@given(chosen=bp_settings(), seed=st.integers(0, 2**32), samples=st.integers(1, 5), wild=st.booleans())
def test_drawn_graphs(chosen: GraphSettings, seed: int, samples: int, wild: bool) -> None:
    """Also with multipliers, shifts and biases from all over their ranges."""
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng, middle=6, apart=True, more=(Op.MEAN, Op.MEAN))
    if wild:
        graph = extreme(graph, rng)
    if chosen.trained(graph):
        check(graph, chosen, rng, samples)


def small_readers(seed: int) -> Graph:
    """Return a graph with many readers that the loops are through with soon."""
    return many_readers(Builder(np.random.default_rng(seed), (4, 4, 2), "double", 3), 4, 3)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_many_readers(seed: int, momentum: float) -> None:
    graph = small_readers(seed)
    assert graph.layers[6].reads == (6, 6)
    for train in ("all", "bias"):
        chosen = GraphSettings(method="bp", train=train, eta=0.1, momentum=momentum)
        check(graph, chosen, np.random.default_rng(seed), 4)


def test_a_layer_that_nothing_reads_stays_as_it_is() -> None:
    """And one whose output only such a layer reads, and a value's factor is that of the readers that an error reaches."""
    builder = Builder(np.random.default_rng(1), (3, 3, 2), "double", 3, 6)  # no weight beyond its limit
    for _ in range(3):
        builder.append(Op.POINTWISE, (3, 3, 2), (1, 1), 1)
    builder.append(Op.FULLY_CONNECTED, (1, 1, 3))
    layers = builder.graph.layers
    graph = replace(builder.graph, layers=(*layers[:3], replace(layers[3], reads=(1,))))
    chosen = GraphSettings(method="bp", eta=300.0, qas=0, momentum=0.5, train_bias=0)
    check(graph, chosen, np.random.default_rng(1), 2)
    method = training_loop("bp")(graph, chosen)
    before = [tensor.copy() for tensor in method.weights]
    method.step(*images(graph, 2, np.random.default_rng(1)))
    same = [np.array_equal(a, b) for a, b in zip(before, method.weights, strict=True)]
    assert same == [False, True, True, False]


def test_samples_in_many_groups_give_the_step_of_one_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples are aligned in their order, however many are computed at once."""
    graph, chosen = small_readers(3), GraphSettings(method="bp", eta=0.1)
    pictures, labels = images(graph, 40, np.random.default_rng(5))
    found = []
    for at_once in (1, 7, 40):
        monkeypatch.setattr(BackPropagation, "_group_size", lambda self, size=at_once: size)
        method = BackPropagation(graph, chosen)
        outcome = method.step(pictures, labels)
        found.append((outcome.loss_plus, outcome.digests))
    assert found[0] == found[1] == found[2]
