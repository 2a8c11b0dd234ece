"""The memory plan of graphs, computed by the host and by the engine from docs/memory.md: the same bytes at the same offsets."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.drawn_graphs import drawn_graph
from reference.test_graph_methods_against_oracle import poor_mans_settings

from engine.drawn_bp import bp_settings, rewired, takes_layers
from engine.graph_engine import GraphEngine
from engine.host_engine import EngineRefused
from hil.errors import RigError
from hil.training.graph.file import encode
from hil.training.graph.graph import Graph
from hil.training.graph.plan import Plan
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.methods import training_loop
from tests.methods import on_graph
from tests.oracle.work import work_of


@pytest.mark.parametrize("flash", [False, True])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_host_and_engine_place_every_buffer_alike(library: ctypes.CDLL, flash: bool, data: st.DataObject) -> None:
    graph, chosen = _drawn(data)
    if not chosen.trained(graph):
        return
    slots = data.draw(st.integers(1, chosen.batch))
    blob = encode(graph)
    engine = GraphEngine(library, blob, flash=flash)
    try:
        _check_alike(engine, graph, chosen, slots, on_graph(graph, chosen, flash).plan.memory(slots))
    finally:
        engine.close()


def _check_alike(engine: GraphEngine, graph: Graph, chosen: GraphSettings, slots: int, ours: Plan) -> None:
    """Compare the sum, what always lives, and then start by start, as a sample goes through them."""
    planned = engine.configure(chosen, slots)
    assert ours.total == planned
    for number, (start, buffers) in enumerate(ours.starts):
        if number == 0:
            engine.begin()
        else:
            engine.enter(start.first)
        theirs = engine.plan(planned, len(graph.layers))
        placed = {f"{line}[{index}]": place for (line, index), place in theirs.buffers.items()}
        assert {b.name: (b.size, b.offset) for b in buffers} == placed
    standing = {buffer.name: buffer.offset for buffer in ours.standing if "[" in buffer.name}
    by_name = {"theta": theirs.theta, "beta": theirs.beta, "grad": theirs.grad, "velocity": theirs.velocity}
    assert standing == {f"{name}[{layer}]": at for name, places in by_name.items() for layer, at in places.items()}


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_two_buffers_that_live_together_share_memory(data: st.DataObject) -> None:
    graph, chosen = _drawn(data)
    if chosen.trained(graph):
        plan = on_graph(graph, chosen, data.draw(st.booleans())).plan.memory(1)
        _check_apart(plan)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_work_of_a_step_is_what_the_reference_counts(data: st.DataObject) -> None:
    graph, chosen = _drawn(data)
    if not chosen.trained(graph):
        return
    reference = training_loop(chosen.method)(graph, chosen)
    work = work_of(reference, 0, chosen.batch)
    planned = on_graph(graph, chosen).figures.step_work()
    assert (planned.macs, planned.layer_runs) == (work.macs, work.layer_runs)


@pytest.mark.parametrize("flash", [False, True])
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_host_and_engine_place_the_buffers_of_back_propagation_alike(
    library: ctypes.CDLL, flash: bool, data: st.DataObject
) -> None:
    graph, chosen = _drawn_apart(data), data.draw(bp_settings())
    if not chosen.trained(graph):
        return
    blob, slots = encode(graph), data.draw(st.integers(1, chosen.batch))
    engine = GraphEngine(library, blob, flash=flash)
    try:
        if takes_layers(graph, chosen):
            plan = on_graph(graph, chosen, flash).plan.memory(slots)
            _check_alike(engine, graph, chosen, slots, plan)
            _check_apart(plan)
            return
        with pytest.raises(RigError, match="back-propagation does not take"):
            on_graph(graph, chosen, flash).plan.memory(slots)
        with pytest.raises(EngineRefused) as refused:
            engine.configure(chosen, slots)
        assert refused.value.a == 0  # the method
    finally:
        engine.close()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_work_of_a_step_of_back_propagation_is_what_the_reference_counts(data: st.DataObject) -> None:
    graph, chosen = _drawn_apart(data), data.draw(bp_settings())
    if not chosen.trained(graph) or not takes_layers(graph, chosen):
        return
    reference = training_loop("bp")(graph, chosen)
    work = work_of(reference, 0, chosen.batch)
    planned = on_graph(graph, chosen).figures.step_work()
    assert (planned.macs, planned.layer_runs) == (work.macs, work.layer_runs)


def _drawn_apart(data: st.DataObject) -> Graph:
    """Draw a graph, mostly with pools that errors pass."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    graph = drawn_graph(rng, middle=7, apart=data.draw(st.integers(0, 3)) > 0)
    return rewired(graph, rng) if data.draw(st.booleans()) else graph


def _drawn(data: st.DataObject) -> tuple[Graph, GraphSettings]:
    graph = drawn_graph(np.random.default_rng(data.draw(st.integers(0, 2**32))))
    chosen = data.draw(poor_mans_settings())
    flags = {name: data.draw(st.integers(0, 1)) for name in ("consumed", "fused")}
    return graph, replace(chosen, batch=data.draw(st.integers(1, 3)), **flags)


def _check_apart(plan: Plan) -> None:
    for _, passing in plan.starts:
        buffers = (*plan.standing, *passing)
        for index, one in enumerate(buffers):
            for other in buffers[:index]:
                together = one.first <= other.last and other.first <= one.last
                apart = one.offset + one.size <= other.offset or other.offset + other.size <= one.offset
                always = {one, other} & set(plan.standing)
                assert apart or not (together or always) or 0 in (one.size, other.size), (one, other)
