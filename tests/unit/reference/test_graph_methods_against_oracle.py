"""The methods on graphs in their fast form against the loop form, bit for bit: weights, biases, losses, work."""

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
from hil.training.reference.methods.deepzero import DeepZeroReference
from hil.training.reference.methods.poor_mans import PoorMans
from hil.training.reference.methods.zeroth_order import ZerothOrder
from reference.drawn_graphs import Builder, drawn_graph, images
from tests.oracle import PlainGraphMethod
from tests.oracle.work import work_of


@st.composite
def poor_mans_settings(draw: st.DrawFn) -> GraphSettings:
    train = draw(st.sampled_from(["all", "all", "last", "bias", "pointwise", "pointwise-last"]))
    difference = draw(st.sampled_from(["forward", "central"]))
    return GraphSettings(
        train=train,
        blocks=draw(st.sampled_from([15, 15, 6, 9])),
        train_bias=1 if train == "bias" else draw(st.integers(0, 1)),
        perturb="weight" if difference == "central" else draw(st.sampled_from(["weight", "node", "adaptive"])),
        wise=draw(st.sampled_from(["layer", "model"])),
        difference=difference,
        direction=draw(st.sampled_from(["sample", "batch"])),
        gns=draw(st.integers(0, 1)),
        qas=draw(st.integers(0, 1)),
        fused=draw(st.integers(0, 1)),
        queries=draw(st.sampled_from([1, 2, 5])),
        eta=draw(st.sampled_from([2.0**-20, 1e-4, 0.01, 0.3, 1.0, 1000.0, 2.0**20])),
        seed=draw(st.integers(0, 2**32 - 1)),
    )


def check(
    method: type[ZerothOrder], graph: Graph, chosen: GraphSettings, rng: np.random.Generator, samples: int
) -> None:
    fast, slow = method(graph, chosen), PlainGraphMethod(graph, chosen)
    fast.configure(chosen, 5)
    for step in (5, 6):
        pictures, labels = images(graph, samples, rng)
        outcome = fast.step(pictures, labels)
        plus, minus = slow.step(step, pictures, labels.tolist())
        assert np.float32(outcome.loss_plus).tobytes() == np.float32(plus).tobytes()
        assert np.float32(outcome.loss_minus).tobytes() == np.float32(minus).tobytes()
        work = work_of(fast, step, samples)
        assert (work.macs, work.layer_runs) == (slow.macs, slow.runs)
        for layer in fast.trained:
            own = slow.own[layer.index]
            assert own is not None
            assert layer.weights.ravel().tolist() == own.weights, layer.layer.name
            assert layer.bias.tolist() == own.bias, layer.layer.name


@settings(max_examples=150, deadline=None)
@given(chosen=poor_mans_settings(), seed=st.integers(0, 2**32), samples=st.integers(1, 3))
def test_poor_mans(chosen: GraphSettings, seed: int, samples: int) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng, more=(Op.MEAN, Op.TABLE))
    if chosen.trained(graph):
        check(PoorMans, graph, chosen, rng, samples)


@st.composite
def deepzero_settings(draw: st.DrawFn) -> GraphSettings:
    train = draw(st.sampled_from(["all", "last", "bias", "pointwise", "pointwise-last"]))
    return GraphSettings(
        method="deepzero",
        train=train,
        train_bias=1 if train == "bias" else draw(st.integers(0, 1)),
        gns=draw(st.integers(0, 1)),
        qas=draw(st.integers(0, 1)),
        fused=draw(st.integers(0, 1)),
        sparsity=draw(st.sampled_from([0, 128, 230, 255])),
        eta=draw(st.sampled_from([1e-4, 0.01, 1.0, 100.0])),
        seed=draw(st.integers(0, 2**32 - 1)),
    )


@settings(max_examples=40, deadline=None)
@given(chosen=deepzero_settings(), seed=st.integers(0, 2**32), samples=st.integers(1, 2))
def test_deepzero(chosen: GraphSettings, seed: int, samples: int) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng, largest=3, middle=3, more=(Op.MEAN, Op.TABLE))
    if chosen.trained(graph):
        check(DeepZeroReference, graph, chosen, rng, samples)


@pytest.mark.parametrize(
    "chosen",
    [
        GraphSettings(queries=3),
        GraphSettings(perturb="weight", queries=3, wise="model"),
        GraphSettings(method="deepzero"),
    ],
)
def test_a_layer_that_nothing_reads(chosen: GraphSettings) -> None:
    """Its passes all have the clean loss, and it stays as it is."""
    rng = np.random.default_rng(1)
    builder = Builder(rng, (3, 3, 2), "double", 3)
    builder.append(Op.POINTWISE, (3, 3, 2), (1, 1), 1)
    builder.append(Op.FULLY_CONNECTED, (1, 1, 3))
    first, last = builder.graph.layers
    graph = replace(builder.graph, layers=(first, replace(last, reads=(0,))))
    check(training_loop(chosen.method), graph, chosen, rng, 2)
