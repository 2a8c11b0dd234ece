"""Steps of FQT in C against the NumPy reference, bit for bit, on drawn graphs in affine8, float32 and both."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from network.drawn_affine8 import affine8_graphs
from network.drawn_float32 import float32_graphs
from reference.test_fqt_properties import CHOSEN

from engine.fqt_pair import Pair
from hil.errors import RigError
from hil.training.graph.formats import LARGEST_FLOAT
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Parameters
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.reference.methods import StepFailed
from hil.training.reference.methods.fqt import FqtReference


def check_steps(library: ctypes.CDLL, graph: Graph, chosen: FqtSettings, seed: int) -> int:
    """Train three steps and trace a sample after each; return how many steps did not fail."""
    rng = np.random.default_rng(seed)
    pair = Pair(library, graph, chosen)
    try:
        for step in range(3):
            images = rng.integers(0, 256, (chosen.batch, *graph.in_shape)).astype(np.uint8)
            pair.put(images, rng.integers(0, graph.classes, chosen.batch).tolist())
            try:
                pair.step()
            except StepFailed as failed:
                pair.refused(step, failed)
                return step
            pair.trace(0)
        return 3
    finally:
        pair.close()


@settings(max_examples=300, deadline=None)
@given(
    graph=st.one_of(affine8_graphs(), float32_graphs(largest=5, most=5)), chosen=CHOSEN, seed=st.integers(0, 2**32 - 1)
)
def test_steps_are_those_of_the_reference(
    library: ctypes.CDLL, graph: Graph, chosen: dict[str, Any], seed: int
) -> None:
    its = FqtSettings(**{**chosen, "batch": 2})
    try:
        FqtReference(graph, its)
    except RigError:  # nothing to train, or a pool that errors cannot go through
        assume(False)
    check_steps(library, graph, its, seed)


def lively(graph: Graph, rng: np.random.Generator) -> Graph:
    """Return a graph in float32 whose errors come through: with the weights of He, and without limits."""
    layers = []
    for node in graph.layers:
        if node.own is not None:
            weights = rng.standard_normal(node.own.weights.shape) * (2 / node.taps) ** 0.5
            biases = rng.uniform(0.0, 0.2, node.own.bias.shape)
            own = Float32Parameters(weights.astype(np.float32), biases.astype(np.float32))
            node = replace(node, own=own, act_min=-LARGEST_FLOAT, act_max=LARGEST_FLOAT)
        layers.append(node)
    return replace(graph, layers=tuple(layers), scale=2.0**-8, zero=-128)


@settings(max_examples=150, deadline=None)
@given(graph=float32_graphs(largest=6, most=6), share=st.sampled_from([0.0, 0.2, 0.5, 0.8]), seed=st.integers(0, 99))
def test_channels_that_are_left_out_in_float32(library: ctypes.CDLL, graph: Graph, share: float, seed: int) -> None:
    """The kernels take the list of kept channels; the reference multiplies the errors of the others, which are 0."""
    its = FqtSettings(batch=2, lambda_min=share, lambda_max=share, sparse_head=seed % 2, eta=0.01)
    try:
        FqtReference(graph, its)
    except RigError:
        assume(False)
    check_steps(library, lively(graph, np.random.default_rng(seed)), its, seed)
