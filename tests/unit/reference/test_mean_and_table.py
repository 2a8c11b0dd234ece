"""Mean and table: exact, in both roundings; what trains behind them, and what no error passes (docs/arithmetic-tflite.md)."""

from __future__ import annotations

from dataclasses import replace
from math import floor, frexp, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import RigError
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import MeanFactor, Table, Tflite8Node
from hil.training.methods.deepzero import DeepZero
from hil.training.methods.int8_bp import Int8Bp
from hil.training.methods.poor_mans_training import PoorMansTraining
from hil.training.methods.tinytrain import TinyTrain
from hil.training.reference.formats.tflite8.fast import FastLayer
from tests.oracle import graph_layers as loops

from .drawn_graphs import Builder


@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 3)),
    factor=st.tuples(st.sampled_from([2**29, 2**30, 2**31 - 1]) | st.integers(2**29, 2**31 - 1), st.integers(-31, 30)),
    zeros=st.tuples(st.integers(-128, 127), st.integers(-128, 127)),
    rounding=st.sampled_from(["double", "single"]),
    seed=st.integers(0, 2**32),
)
def test_a_mean_is_that_of_the_text(
    shape: tuple[int, int, int], factor: tuple[int, int], zeros: tuple[int, int], rounding: str, seed: int
) -> None:
    """Against sums of fractions, with every multiplier that a file may hold."""
    x = np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)
    node = Tflite8Node(
        "gap1", Op.MEAN, (0,), shape, (1, 1, shape[2]), act_min=-120, act_max=125, zero=zeros[1],
        factors=MeanFactor(*factor), rounding=rounding,
    )  # fmt: skip
    graph = Graph("mean", (node,), shape, 2, zero=zeros[0])
    got = FastLayer(graph, node).run([(x.astype(np.float32) - zeros[0])[None, None]], None) + zeros[1]
    assert got.ravel().tolist() == loops.run(graph, node, [x.ravel().tolist()], None)


@given(n=st.integers(1, 2**16), ratio=st.floats(2.0**-10, 2.0**10))
def test_the_multiplier_of_a_mean_is_in_its_range(n: int, ratio: float) -> None:
    """As TFLite makes it: from that of both scales, divided by the positions."""
    fraction, shift = frexp(ratio)
    multiplier = min(int(fraction * 2**31 + 0.5), 2**31 - 1)
    bits = floor(log2(n))
    assert 2**29 <= (multiplier << bits) // n <= 2**31 - 1
    assert (multiplier << bits) // n * 2.0 ** (shift - bits - 31) == pytest.approx(ratio / n, rel=2.0**-28)


def test_a_table_is_its_entries() -> None:
    entries = np.random.default_rng(1).integers(-128, 128, 256).astype(np.int8)
    node = Tflite8Node("table1", Op.TABLE, (0,), (16, 16, 1), (16, 16, 1), zero=7, factors=Table.holding(entries))
    graph = Graph("table", (node,), node.in_shape, 2, zero=-5)
    x = np.arange(-128, 128).reshape(1, 1, 16, 16, 1).astype(np.float32) + 5
    assert (FastLayer(graph, node).run([x], None).ravel() + 7).tolist() == entries.tolist()


def before_and_behind() -> Graph:
    """Return a convolution in block 1, a table, and a convolution and the last layer in block 2."""
    builder = Builder(np.random.default_rng(3), (5, 5, 2), "double", 3)
    builder.append(Op.CONV2D, (5, 5, 3), (3, 3), 1, 1)
    builder.append_table()
    builder.append(Op.CONV2D, (5, 5, 3), (3, 3), 1, 1)
    builder.append_mean()
    builder.append(Op.FULLY_CONNECTED, (1, 1, 3))
    graph = builder.graph
    blocks = (1, 0, 2, 0, 2)
    layers = zip(graph.layers, blocks, strict=True)
    return replace(graph, layers=tuple(replace(layer, block=block) for layer, block in layers))


@pytest.mark.parametrize("method", [Int8Bp, TinyTrain])
def test_no_error_passes_a_table(method: type) -> None:
    graph = before_and_behind()
    with pytest.raises(RigError, match=r"layer table1 is a table.*zeroth order"):
        method.on(graph, method.default_variant)
    found = method.on(graph, method.default_variant, blocks=2)
    assert found.plan.trained == (2, 4)
    assert found.plan.memory(1).total


@pytest.mark.parametrize("method", [PoorMansTraining, DeepZero])
def test_zeroth_order_trains_before_a_table(method: type) -> None:
    assert method.on(
        before_and_behind(), "all" if "all" in method.variants else method.default_variant, blocks=15
    ).plan.trained


def test_weights_of_127_are_said_to_be_clipped() -> None:
    graph = before_and_behind()
    first = graph.layers[0]
    assert first.own is not None
    weights = np.clip(first.own.weights, -126, 126)
    weights.ravel()[:3] = 127, -127, 126
    graph = graph.with_parameters({0: (weights, first.own.bias)})
    whole = PoorMansTraining.on(graph, PoorMansTraining.default_variant, blocks=15).figures.remarks()
    beyond = sum(int((np.abs(layer.own.weights) == 127).sum()) for layer in graph.trained if layer.own is not None)
    assert len(whole) == 1 and whole[0].startswith(f"{beyond} of ") and "clips them to +-126" in whole[0]
    assert beyond >= 2
    behind = sum(int((np.abs(layer.own.weights) == 127).sum()) for layer in graph.trained[1:] if layer.own is not None)
    remarks = PoorMansTraining.on(graph, PoorMansTraining.default_variant, blocks=2).figures.remarks()
    assert remarks == () if not behind else remarks[0].startswith(f"{behind} of ")


def test_an_error_spreads_over_a_mean_in_place() -> None:
    """The error of what a mean reads has no buffer of its own while the mean is the last reader."""
    found = Int8Bp.on(before_and_behind(), "plain", blocks=2)
    buffers = {buffer.name: buffer for _, placed in found.plan.memory(1).starts for buffer in placed}
    assert "error[3]" in buffers and "back[3]" not in buffers
    assert buffers["value[4]"].last == 2 * 5 - 3  # its gate looks at it
