"""TinyTrain in its fast form against the loop form, bit for bit: information, choice, weights, losses, work, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import RigError
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.methods.tinytrain import TinyTrainReference
from reference.drawn_graphs import Builder, drawn_graph, images, many_readers
from reference.test_graph_passes import extreme
from reference.test_tinytrain_properties import drawn_settings
from tests.oracle import PlainTinyTrain

STEPS_BEHIND = 2  # trained steps of a case


def check(graph: Graph, chosen: GraphSettings, rng: np.random.Generator) -> None:
    """Compare steps until some have trained, or both refusals."""
    try:
        slow = PlainTinyTrain(graph, chosen)
    except ValueError as refused:
        name = str(refused).partition(":")[0]
        with pytest.raises(RigError, match=f"setting {name} is"):
            TinyTrainReference(graph, chosen)
        return
    fast = TinyTrainReference(graph, chosen)
    for _ in range(chosen.ranking + STEPS_BEHIND):
        pictures, labels = images(graph, chosen.batch, rng)
        outcome, total = fast.step(pictures, labels), slow.step(pictures, labels.tolist())
        assert np.float32(outcome.loss_plus).tobytes() == np.float32(total).tobytes()
        work = fast.last_work()
        assert work is not None
        assert (work.macs, work.layer_runs) == (slow.macs, slow.runs)
        assert {index: its.tobytes() for index, its in fast.information.items()} == {
            index: np.array(its, np.float32).tobytes() for index, its in slow.fisher.items()
        }
        assert {index: its.tolist() for index, its in fast.chosen.items()} == (slow.kept or {})
        for layer in fast.trained:
            own = slow.own[layer.index]
            assert own is not None
            assert layer.weights.ravel().tolist() == own.weights, layer.layer.name
            assert layer.bias.tolist() == own.bias, layer.layer.name
    assert {index: one.tobytes() for index, one in fast.scores().items()} == {
        index: one.tobytes() for index, one in slow.scores.items()
    }


@settings(max_examples=150, deadline=None)
@given(chosen=drawn_settings(), seed=st.integers(0, 2**32), wild=st.booleans())
def test_drawn_graphs(chosen: GraphSettings, seed: int, wild: bool) -> None:
    """Also with multipliers, shifts and biases from all over their ranges."""
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng, middle=6, apart=True)
    if wild:
        graph = extreme(graph, rng)
    if chosen.trained(graph):
        check(graph, chosen, rng)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("work_budget", [64, 128, 200])
def test_many_readers(seed: int, work_budget: int) -> None:
    graph = many_readers(Builder(np.random.default_rng(seed), (4, 4, 2), "double", 3), 4, 3)
    for train in ("all", "bias"):
        chosen = GraphSettings(
            method="tinytrain", train=train, eta=0.1, momentum=0.5, batch=4, work_budget=work_budget, ranking=2
        )
        check(graph, chosen, np.random.default_rng(seed))
