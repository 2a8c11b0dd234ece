"""The NumPy form of docs/arithmetic-w16a8.md against its test vectors, and against a plain integer pass."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from network import integer_forward
from network.w16a8_graphs import LABELS, PIXELS, alone, fully_connected, parameters, text_network, w16a8_graphs

from hil.training.graph.factors import add_factors
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import AddFactors, Node, W16A8Node
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import trained_tensors
from hil.training.reference.formats.tflite8.loss import cross_entropy
from hil.training.reference.formats.w16a8.layers import W16A8Layer, rescale
from hil.training.reference.formats.w16a8.network import W16A8Network

SUMS = (3, 4, 5, -4, -5, 100000, -100000, 8388608, 2**31 - 1, -(2**31))
RESCALED = [
    (2**30, -2, (0, 1, 1, 0, -1, 12500, -12500, 1048576, 268435456, -268435456)),
    (2**30, -22, (0, 0, 0, 0, 0, 0, 0, 1, 256, -256)),
    (1518500250, -16, (0, 0, 0, 0, 0, 1, -1, 91, 23170, -23170)),
    (2**31 - 1, -2, (1, 1, 1, -1, -1, 25000, -25000, 2097152, 536870912, -536870912)),
]


def network_of(graph: Graph) -> W16A8Network:
    return W16A8Network(graph, trained_tensors(graph, QzoFfSettings()))


def output_of(node: Node, zero: int, values: object) -> np.ndarray:
    """Run one layer on its int8 input [H, W, C] alone."""
    layer = W16A8Layer(alone(node, zero), node)
    assert node.own is not None
    x = np.array(values, np.float32).reshape(1, 1, *node.in_shape) - np.float32(zero)
    own = layer.own(node.own.weights.reshape(-1), node.own.bias, np.float64)
    return (layer.run([x], own) + node.zero).astype(int)


@pytest.mark.parametrize(("multiplier", "shift", "expected"), RESCALED)
def test_rescale(multiplier: int, shift: int, expected: tuple[int, ...]) -> None:
    assert rescale(np.array(SUMS), multiplier, shift).tolist() == list(expected)


@given(st.integers(-(2**31), 2**31 - 1), st.integers(2**30, 2**31 - 1), st.integers(-31, 0))
def test_rescale_is_one_rounding_half_up(acc: int, multiplier: int, shift: int) -> None:
    expected = floor(Fraction(acc * multiplier) * Fraction(2) ** (shift - 31) + Fraction(1, 2))
    assert rescale(np.array([acc]), multiplier, shift).tolist() == [expected]


@pytest.mark.parametrize(
    ("inputs", "zero", "weights", "bias", "output", "factor", "expected"),
    [
        ([5, -128, 127], -3, [32767, -32767, 1200], -12345, -3, (1518500250, -16), 46),
        ([127] * 600, -128, [32767] * 600, 0, -128, (2**30, -22), 127),
        ([127] * 600, -128, [32767] * 300 + [-32767] * 300, 1000, 0, (2**30, -9), 1),
        ([127] * 257, -128, [32767] * 257, 0, -128, (2**30, -22), 127),
    ],
)
def test_fully_connected(
    inputs: list[int],
    zero: int,
    weights: list[int],
    bias: int,
    output: int,
    factor: tuple[int, int],
    expected: int,
) -> None:
    node = fully_connected([weights], [bias], own={"factor": factor}, zero=output)
    assert output_of(node, zero, inputs).ravel().tolist() == [expected]


def test_a_sum_saturates_once_at_its_end() -> None:
    """5,013,351,000 becomes 2^31 - 1, which the factor 2^-24 makes 128; the exact sum would give 299."""
    node = fully_connected([[32767] * 600], [0], own={"factor": (2**30, -23)}, zero=-128)
    layer = W16A8Layer(alone(node, -128), node)
    layer.low, layer.high = -(2**31), 2**31
    assert layer.scaled(np.array([5013351000.0])).tolist() == [128.0]


def test_conv2d() -> None:
    own = parameters(
        np.reshape([1000, -2000, 3000, -4000, 32767, 6000, 7000, -8000, -32767], (1, 3, 3, 1)),
        [500],
        factor=(1518500250, -16),
    )
    node = W16A8Node(
        "conv1", Op.CONV2D, (0,), (2, 2, 1), (2, 2, 1), (3, 3), (1, 1), (1, 1), 1, -20, 127, zero=-20, own=own
    )  # fmt: skip
    layer = W16A8Layer(alone(node, -128), node)
    x = np.array([10, -128, 127, 0], np.float32).reshape(1, 1, 2, 2, 1) + np.float32(128)
    sums = layer.sums(x, layer.own(own.weights.reshape(-1), own.bias, np.float64))
    assert sums.ravel().tolist() == [-1711830, 209500, 8848085, 3312676]
    assert output_of(node, -128, [10, -128, 127, 0]).ravel().tolist() == [-20, -18, 75, 16]


def test_add() -> None:
    a, b, y = (float(np.float32(scale)) for scale in (0.05, 0.03, 0.06))
    factors = add_factors(a, b, y)
    assert list(zip(factors.multipliers, factors.shifts, strict=True)) == [
        (1073741824, 0),
        (1288490141, -1),
        (1789569773, -19),
    ]
    assert added(factors, -5, 3, 100, -77) == (29884417, 38)
    assert added(factors, -128, -128, 127, 127) == (213909501, 127)


def added(factors: AddFactors, zero_a: int, zero_b: int, a: int, b: int) -> tuple[int, int]:
    """Return the sum and the output of an add whose output has the zero point -10."""
    (m_a, m_b, _), (s_a, s_b, _) = factors.multipliers, factors.shifts
    total = rescale(np.array([(a - zero_a) << 20]), m_a, s_a) + rescale(np.array([(b - zero_b) << 20]), m_b, s_b)
    read = replace(fully_connected([[1]], [0]), zero=zero_b)
    node = W16A8Node("add1", Op.ADD, (0, 1), (1, 1, 1), (1, 1, 1), zero=-10, factors=factors)
    graph = Graph("add", (read, node), (1, 1, 1), 2, 1.0, zero_a)
    values = [np.full((1, 1, 1, 1, 1), x, np.float32) for x in (a - zero_a, b - zero_b)]
    return int(total[0]), int(W16A8Layer(graph, node).run(values, None).item()) - 10


def test_loss() -> None:
    for logits, label, expected in (
        ((10, -3, 5), 0, "0x1.8dec94p-1"),
        ((10, -3, 5), 1, "0x1.96f64ap+0"),
        ((127, -128, 0, 126), 3, "0x1.733c52p-1"),
    ):
        found = cross_entropy(np.array([logits], np.float32), np.array([label]), 0.0625)
        assert float(found[0]) == float.fromhex(expected)


def test_digest() -> None:
    weights = np.array([1, -2, 32767, -32767, 300], "<i2")
    assert xxhash.xxh32_intdigest(weights.tobytes()) == 0x2A504049


def test_the_network_of_the_text() -> None:
    network = network_of(text_network())
    first, logits = network.outputs([tensor.values for tensor in network.tensors], PIXELS)
    assert first.reshape(2, 3).tolist() == [[-59, -128, -112], [-111, -65, -100]]
    assert logits.reshape(2, 2).tolist() == network.logits(PIXELS).tolist() == [[38, -24], [7, 12]]
    losses = network.losses(network.prefix(PIXELS), LABELS)
    assert float(losses[0] + losses[1]) == float.fromhex("0x1.815c4ep-1")


@settings(max_examples=80, deadline=None)
@given(w16a8_graphs(), st.integers(0, 2**32))
def test_every_value_is_that_of_a_plain_integer_pass(graph: Graph, seed: int) -> None:
    """The plain pass has no saturation: check 11 says that it would change nothing."""
    images = np.random.default_rng(seed).integers(0, 256, (3, *graph.in_shape), np.uint8)
    network = network_of(graph)
    found = network.outputs([tensor.values for tensor in network.tensors], images)
    for number, image in enumerate(images):
        for layer, out, plain in zip(graph.layers, found, integer_forward.values(graph, image)[1:], strict=True):
            assert out[number, 0].tolist() == plain.tolist(), layer.name


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_sums_split_at_any_place_are_the_sum(data: st.DataObject) -> None:
    """At most 256 products in int32, then 64 bits, as a core does it: with the same output as the reference."""
    count = data.draw(st.integers(1, 1500))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    zero = data.draw(st.integers(-128, 127))
    extreme = data.draw(st.booleans())
    weights = rng.choice([-32767, 32767], count) if extreme else rng.integers(-32767, 32768, count)
    values = rng.choice([-128, 127], count) if extreme else rng.integers(-128, 128, count)
    total = bias = int(rng.integers(-(2**30), 2**30 + 1))
    at = 0
    while at < count:
        taken = slice(at, at + data.draw(st.integers(1, 256)))
        part = sum(int(w) * (int(x) - zero) for w, x in zip(weights[taken], values[taken], strict=True))
        assert abs(part) < 2**31
        total, at = total + part, taken.stop
    shift = data.draw(st.integers(-22, -2))
    node = fully_connected([weights], [bias], own={"factor": (1518500250, shift)}, zero=7)
    saturated = min(max(total, -(2**31)), 2**31 - 1)
    expected = 7 + floor(Fraction(saturated * 1518500250) * Fraction(2) ** (shift - 31) + Fraction(1, 2))
    assert output_of(node, zero, values).item() == min(max(expected, -128), 127)
