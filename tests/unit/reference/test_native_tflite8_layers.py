"""Layers of `tflite8` in C against NumPy's, bit for bit: every value of a clean pass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.graph.graph import Graph, Op
from hil.methods.graph_settings import GraphSettings
from hil.networks import build
from hil.reference.formats.tflite8.passes import Passes
from hil.reference.methods.poor_mans import PoorMans
from hil.reference.native.build import OWN
from hil.reference.native.tflite8.library import Native, NativeNetwork

from .drawn_graphs import drawn_graph, images
from .test_graph_passes import extreme
from .wide_graphs import OPS, wide_graph

SEEDS = st.integers(0, 2**32)


def numpy_values(graph: Graph, pictures: np.ndarray) -> list[np.ndarray]:
    own = PoorMans(graph, GraphSettings()).own_now()
    return [value.reshape(len(pictures), -1) for value in Passes(graph).clean(pictures, own)]


def check(native: Native, graph: Graph, pictures: np.ndarray) -> None:
    network = NativeNetwork(graph)
    for value, expected in enumerate(numpy_values(graph, pictures)):
        got = native.outputs(network, pictures, value)
        assert got.dtype == np.int16
        name = graph.layers[value - 1].name if value else "input"
        np.testing.assert_array_equal(got, expected, err_msg=name)


@pytest.mark.parametrize("op", OPS)
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, wild=st.booleans(), count=st.integers(1, 3))
def test_every_operation(native_tflite8: Native, op: Op, seed: int, wild: bool, count: int) -> None:
    rng = np.random.default_rng(seed)
    graph = wide_graph(rng, op)
    graph = extreme(graph, rng) if wild else graph
    check(native_tflite8, graph, images(graph, count, rng)[0])


@settings(max_examples=150, deadline=None)
@given(seed=SEEDS, wild=st.booleans())
def test_small_graphs(native_tflite8: Native, seed: int, wild: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng, largest=6, middle=6)
    graph = extreme(graph, rng) if wild else graph
    check(native_tflite8, graph, images(graph, 2, rng)[0])


@pytest.mark.parametrize("built", [OWN], indirect=True)
@pytest.mark.parametrize("network", ["resnet-tiny", "lenet5-tflite", "mcunet-48"])
def test_named_networks(native_tflite8: Native, network: str) -> None:
    graph = build(network, 1)
    check(native_tflite8, graph, images(graph, 2, np.random.default_rng(1))[0])
