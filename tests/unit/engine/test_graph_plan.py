"""The memory plan of the second family, computed by the host and by the engine from docs/memory-graph.md: the same bytes at the same offsets."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.drawn_graphs import drawn_graph, images
from reference.test_graph_methods_against_plain import poor_mans_settings

from engine.graph_engine import LINES, GraphEngine
from hil.network.tflite.analytic import step_work
from hil.network.tflite.file import encode
from hil.network.tflite.layers import Graph
from hil.network.tflite.plan import GraphPlan, plan_graph
from hil.network.tflite.settings import GraphSettings
from hil.reference.methods import graph_method


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
        planned = engine.configure(chosen, slots)
        theirs = engine.plan(planned, len(graph.layers))
    finally:
        engine.close()
    ours = plan_graph(graph, chosen, slots, len(blob), flash)
    assert ours.total == planned
    placed = {f"{line}[{index}]": place for (line, index), place in theirs.buffers.items()}
    assert {b.name: (b.size, b.offset) for b in ours.buffers if b.name.split("[")[0] in LINES and b.size} == placed
    for name, by_layer in (("theta", theirs.theta), ("beta", theirs.beta), ("grad", theirs.grad)):
        if flash or name == "grad":
            assert {layer: ours.offset(f"{name}[{layer}]") for layer in by_layer} == by_layer


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_two_buffers_that_live_together_share_memory(data: st.DataObject) -> None:
    graph, chosen = _drawn(data)
    if chosen.trained(graph):
        plan = plan_graph(graph, chosen, 1, len(encode(graph)), data.draw(st.booleans()))
        _check_apart(plan)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_work_of_a_step_is_what_the_reference_counts(data: st.DataObject) -> None:
    graph, chosen = _drawn(data)
    if not chosen.trained(graph):
        return
    reference = graph_method(chosen.method)(graph, chosen)
    reference.configure(chosen, 0)
    reference.step(*images(graph, chosen.batch, np.random.default_rng(1)))
    planned = step_work(graph, chosen)
    assert (planned.macs, planned.layer_runs) == (reference.work.macs, reference.work.layer_runs)


def _drawn(data: st.DataObject) -> tuple[Graph, GraphSettings]:
    graph = drawn_graph(np.random.default_rng(data.draw(st.integers(0, 2**32))))
    chosen = data.draw(poor_mans_settings())
    flags = {name: data.draw(st.integers(0, 1)) for name in ("consumed", "fused")}
    return graph, replace(chosen, batch=data.draw(st.integers(1, 3)), **flags)


def _check_apart(plan: GraphPlan) -> None:
    for index, one in enumerate(plan.buffers):
        for other in plan.buffers[:index]:
            together = any(
                start in other.spans and span[0] <= other.spans[start][1] and other.spans[start][0] <= span[1]
                for start, span in one.spans.items()
            )
            apart = one.offset + one.size <= other.offset or other.offset + other.size <= one.offset
            assert apart or not together or 0 in (one.size, other.size), (one, other)
