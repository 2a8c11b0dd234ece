"""Whole steps of the methods on graphs in C against the NumPy reference, bit for bit: every method and form, on drawn graphs."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.drawn_graphs import drawn_graph, images
from reference.test_graph_methods_against_oracle import poor_mans_settings
from reference.test_graph_passes import extreme

from engine.drawn_bp import bp_settings, rewired, takes_layers
from engine.graph_engine import GraphEngine
from hil.training.graph.file import encode
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.networks import build
from hil.training.reference.methods import training_loop
from tests.oracle.work import work_of

ETAS = st.sampled_from([2.0**-20, 1e-4, 0.01, 1.0, 2.0**20])


def same_float(a: float, b: float) -> bool:
    return struct.pack("<f", a) == struct.pack("<f", b)


def check_steps(library: ctypes.CDLL, graph: Graph, chosen: GraphSettings, slots: int, flash: bool, seed: int) -> None:
    """Train three steps of `chosen.batch` samples on both and compare all they report, all tensors and the work."""
    rng = np.random.default_rng(seed)
    reference = training_loop(chosen.method)(graph, chosen)
    reference.configure(chosen, 3)
    engine = GraphEngine(library, encode(graph), flash=flash)
    try:
        engine.configure(chosen, slots, 3)
        for step in (3, 4, 5):
            pictures, labels = images(graph, chosen.batch, rng)
            expected = reference.step(pictures, labels)
            for first in range(0, chosen.batch if slots < chosen.batch else 0, slots):
                part = slice(first, first + slots)
                engine.samples(pictures[part], labels[part])
                engine.part(step, 0, first, len(labels[part]))
            if slots == chosen.batch:
                engine.samples(pictures, labels)
            done = engine.step(step, chosen.batch)
            assert (done.step, done.sign) == (step, 0)
            assert same_float(done.loss_plus, expected.loss_plus) and same_float(done.loss_minus, expected.loss_minus)
            for tensor, values in enumerate(reference.weights):
                assert engine.tensor(tensor, values.nbytes) == values.tobytes(), (step, tensor)
            assert done.digests == expected.digests
            work = work_of(reference, expected.step, len(pictures))
            assert engine.work() == (work.macs, work.layer_runs)
    finally:
        engine.close()


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_poor_mans_training_is_that_of_the_reference(library: ctypes.CDLL, data: st.DataObject) -> None:
    chosen, seed = data.draw(poor_mans_settings()), data.draw(st.integers(0, 2**32))
    batch = data.draw(st.integers(1, 3))
    graph = drawn_graph(np.random.default_rng(seed))
    chosen = GraphSettings(**{**chosen.__dict__, "batch": batch, "consumed": data.draw(st.integers(0, 1))})
    slots = data.draw(st.integers(1, batch))
    if chosen.trained(graph):
        check_steps(library, graph, chosen, slots, data.draw(st.booleans()), seed)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_deepzero_is_that_of_the_reference(library: ctypes.CDLL, data: st.DataObject) -> None:
    seed, batch = data.draw(st.integers(0, 2**32)), data.draw(st.integers(1, 2))
    graph = drawn_graph(np.random.default_rng(seed))
    train = data.draw(st.sampled_from(["all", "last", "bias", "pointwise", "pointwise-last"]))
    chosen = GraphSettings(
        method="deepzero", train=train, train_bias=data.draw(st.integers(train == "bias", 1)), sparsity=data.draw(st.integers(0, 255)),
        qas=data.draw(st.integers(0, 1)), fused=data.draw(st.integers(0, 1)), eta=data.draw(ETAS), batch=batch, seed=seed % 2**32,
    )  # fmt: skip
    if chosen.trained(graph):
        check_steps(library, graph, chosen, data.draw(st.integers(1, batch)), data.draw(st.booleans()), seed)


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_back_propagation_is_that_of_the_reference(library: ctypes.CDLL, data: st.DataObject) -> None:
    chosen, seed = data.draw(bp_settings()), data.draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng, middle=7, apart=True)
    if data.draw(st.booleans()):
        graph = extreme(graph, rng)
    if data.draw(st.booleans()):
        graph = rewired(graph, rng)
    if chosen.trained(graph) and takes_layers(graph, chosen):
        check_steps(library, graph, chosen, data.draw(st.integers(1, chosen.batch)), data.draw(st.booleans()), seed)


def test_momentum_goes_on_with_the_schedule_and_begins_anew_with_other_settings(library: ctypes.CDLL) -> None:
    """A rate that changes keeps it; another seed, as of a board that came back, does not."""
    rng = np.random.default_rng(8)
    graph = drawn_graph(rng, middle=5, apart=True)
    chosen = GraphSettings(method="bp", momentum=0.9, eta=0.01)
    later = {"follows": replace(chosen, eta=0.02), "anew": replace(chosen, eta=0.02, seed=2)}
    references = {name: training_loop("bp")(graph, chosen) for name in later}
    engines = {name: GraphEngine(library, encode(graph)) for name in later}
    for engine in engines.values():
        engine.configure(chosen, 1)
    for step in range(4):
        pictures, labels = images(graph, 1, rng)
        digests = {}
        for name, engine in engines.items():
            if step == 2:
                engine.configure(later[name], 1, step)
                change = (
                    references[name].follow
                    if name == "follows"
                    else partial(references[name].configure, first_step=step)
                )
                change(later[name])
            engine.samples(pictures, labels)
            digests[name] = engine.step(step, 1).digests
            assert digests[name] == references[name].step(pictures, labels).digests
        assert (digests["follows"] == digests["anew"]) == (step < 2)
    for engine in engines.values():
        engine.close()


@pytest.mark.parametrize(
    ("network", "train", "momentum"),
    [("lenet5-tflite", "all", 0.0), ("resnet-tiny", "all", 0.9), ("mcunet-48", "bias", 0.0)],
)
def test_a_whole_network_is_trained_by_back_propagation_as_the_reference_does(
    library: ctypes.CDLL, network: str, train: str, momentum: float
) -> None:
    """Tensors large enough that every rounding shows: values with several readers, pools, and forty layers on the way back."""
    graph = build(network, 1)
    chosen = GraphSettings(method="bp", train=train, eta=0.003, momentum=momentum, batch=2)
    check_steps(library, graph, chosen, 1, True, 3)


@pytest.mark.parametrize("rounding", ["double", "single"])
def test_something_is_learned_in_the_drawn_steps(library: ctypes.CDLL, rounding: str) -> None:
    """The comparison above is of weights that move: with a large rate most tensors differ from the file's after a step."""
    rng = np.random.default_rng(5)
    graph = drawn_graph(rng)
    while len(graph.layers) < 3:
        graph = drawn_graph(rng)
    graph = replace(graph, layers=tuple(replace(layer, rounding=rounding) for layer in graph.layers))
    chosen = GraphSettings(eta=2.0**20, perturb="weight", qas=0)
    engine = GraphEngine(library, encode(graph))
    engine.configure(chosen, 1)
    before = engine.digests()
    pictures, labels = images(graph, 1, rng)
    engine.samples(pictures, labels)
    after = engine.step(0, 1).digests
    engine.close()
    assert sum(a != b for a, b in zip(before, after, strict=True)) * 2 > len(before)
