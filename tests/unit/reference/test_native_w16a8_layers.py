"""Single layers of `w16a8` in C against NumPy's, bit for bit; input and loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network.w16a8_graphs import alone, fully_connected

from hil.training.graph.formats import OPS, Format, Op
from hil.training.graph.graph import Graph
from hil.training.reference.formats.int8_network import Int8Passes
from hil.training.reference.formats.tflite8.loss import cross_entropy
from hil.training.reference.formats.w16a8.layers import W16A8Layer
from hil.training.reference.native.w16a8.library import W16A8Library, layer_of

from .drawn_shorts import ZEROS, layers, values

OPERATIONS = OPS[Format.W16A8]
SAMPLES = st.integers(1, 70)
NEVER = -12345


def filled(native: W16A8Library, x: np.ndarray) -> np.ndarray:
    """Return [H, W, C, B] with the lanes that fill up vectors, which hold numbers, too."""
    more = native.lanes(x.shape[3]) - x.shape[3]
    return np.ascontiguousarray(np.pad(x, [(0, 0)] * 3 + [(0, more)], constant_values=7))


def run(native: W16A8Library, graph: Graph, reads: list[np.ndarray]) -> np.ndarray:
    """Return the output of the one layer, [H, W, C, B]."""
    (node,), samples = graph.layers, reads[0].shape[3]
    own = None if node.own is None else (node.own.weights, node.own.bias)
    got = np.full((*node.out_shape, native.lanes(samples)), NEVER, np.int16)
    native.forward(node.op, layer_of(graph, node), [filled(native, x) for x in reads], own, got)
    return got[..., :samples]


def expected_of(graph: Graph, reads: list[np.ndarray]) -> np.ndarray:
    (node,) = graph.layers
    layer = W16A8Layer(graph, node)
    own = None if node.own is None else layer.own(node.own.weights.reshape(-1), node.own.bias, np.float64)
    by_sample = [np.moveaxis(x, 3, 0)[:, None].astype(np.float32) for x in reads]
    found = layer.run(by_sample, own)[:, 0]
    return np.moveaxis(found, 0, 3).reshape(*node.out_shape, -1)


@pytest.mark.parametrize("op", OPERATIONS)
@settings(max_examples=100, deadline=None)
@given(data=st.data(), samples=SAMPLES)
def test_outputs(native_w16a8: W16A8Library, data: st.DataObject, op: Op, samples: int) -> None:
    graph = data.draw(layers(op))
    (node,) = graph.layers
    reads = [data.draw(values((*node.in_shape, samples), graph.zero)) for _ in node.reads]
    np.testing.assert_array_equal(run(native_w16a8, graph, reads), expected_of(graph, reads))


@pytest.mark.parametrize("inputs", [1, 255, 256, 257, 258, 512, 513, 3001])
@pytest.mark.parametrize("shift", [-22, -9])
@pytest.mark.parametrize("turn", [0, 1, 2])
def test_sums_that_leave_int32(native_w16a8: W16A8Library, inputs: int, shift: int, turn: int) -> None:
    """All products at their largest, all at their least, and first the ones, then the others."""
    signs = np.ones(inputs) if turn < 2 else np.where(np.arange(inputs) < inputs // 2, 1, -1)
    weights = 32767 * (1 - 2 * (turn == 1)) * signs
    node = fully_connected([weights, -weights], [1000, -1000], zero=-20, own={"factor": (2**30 + 12345, shift)})
    graph = alone(node, -128)
    reads = [np.full((1, 1, inputs, 3), 255, np.int16)]
    np.testing.assert_array_equal(run(native_w16a8, graph, reads), expected_of(graph, reads))


@settings(max_examples=40, deadline=None)
@given(
    samples=SAMPLES,
    shape=st.tuples(*[st.integers(1, 9)] * 3),
    zero=ZEROS,
    seed=st.integers(0, 2**32),
)
def test_input(native_w16a8: W16A8Library, samples: int, shape: tuple[int, int, int], zero: int, seed: int) -> None:
    images = np.random.default_rng(seed).integers(0, 256, (samples, *shape)).astype(np.uint8)
    graph = alone(fully_connected([[1] * int(np.prod(shape))], [0]), zero)
    graph = Graph("input", graph.layers, shape, 1, graph.scale, zero)
    got = np.full((*shape, native_w16a8.lanes(samples)), NEVER, np.int16)
    native_w16a8.input_value(graph, images, got)
    np.testing.assert_array_equal(np.moveaxis(got[..., :samples], 3, 0), Int8Passes(graph).input_values(images)[:, 0])
    assert not got[..., samples:].any()


@settings(max_examples=80, deadline=None)
@given(
    data=st.data(),
    classes=st.integers(2, 12),
    samples=SAMPLES,
    zero=ZEROS,
    scale=st.floats(2.0**-40, 2.0**40, width=32),
    seed=st.integers(0, 2**32),
)
def test_losses(
    native_w16a8: W16A8Library, data: st.DataObject, classes: int, samples: int, zero: int, scale: float, seed: int
) -> None:
    logits = data.draw(values((1, 1, classes, samples), zero))
    labels = np.random.default_rng(seed).integers(0, classes, samples)
    got = native_w16a8.losses(filled(native_w16a8, logits), labels, scale)
    expected = cross_entropy(logits[0, 0].T, labels, scale)
    assert got.dtype == expected.dtype == np.float32
    np.testing.assert_array_equal(got.view(np.int32), expected.view(np.int32))


def test_a_label_beyond_the_classes(native_w16a8: W16A8Library) -> None:
    with pytest.raises(IndexError, match="a label beyond the 2 classes"):
        native_w16a8.losses(np.zeros((1, 1, 2, native_w16a8.lanes(1)), np.int16), np.array([2]), 1.0)
