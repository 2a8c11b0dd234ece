"""The oracle of `w16a8` against the test vectors of docs/arithmetic-w16a8.md, section 7."""

from __future__ import annotations

import numpy as np
import pytest
import xxhash

from hil.training.graph.formats import Op
from hil.training.graph.node import AddFactors, Tflite8Node
from reference.oracle_graphs import own_of_text, two_layers
from tests.oracle import w16a8
from tests.oracle.numbers import F32
from tests.oracle.w16a8 import Own

A = (3, 4, 5, -4, -5, 100000, -100000, 8388608, 2**31 - 1, -(2**31))


@pytest.mark.parametrize(
    ("multiplier", "shift", "said"),
    [
        (2**30, -2, "0 1 1 0 -1 12500 -12500 1048576 268435456 -268435456"),
        (2**30, -22, "0 0 0 0 0 0 0 1 256 -256"),
        (1518500250, -16, "0 0 0 0 0 1 -1 91 23170 -23170"),
        (2**31 - 1, -2, "1 1 1 -1 -1 25000 -25000 2097152 536870912 -536870912"),
    ],
)
def test_rescale(multiplier: int, shift: int, said: str) -> None:
    found = [w16a8.rescale(a, multiplier, shift) for a in A]
    assert found == [int(word) for word in said.split()]
    assert found == [(((a * multiplier) >> 32) + 2 ** (-shift - 2)) >> (-shift - 1) for a in A]


@pytest.mark.parametrize(
    ("x", "zero", "weights", "bias", "acc", "quantization", "out"),
    [
        ([5, -128, 127], -3, [32767, -32767, 1200], -12345, 4501666, (-3, 1518500250, -16), 46),
        ([127] * 600, -128, [32767] * 600, 0, 5013351000, (-128, 2**30, -22), 127),
        ([127] * 600, -128, [32767] * 300 + [-32767] * 300, 1000, 1000, (0, 2**30, -9), 1),
        ([127] * 257, -128, [32767] * 257, 0, 2147385345, (-128, 2**30, -22), 127),
    ],
)
def test_fully_connected(
    x: list[int], zero: int, weights: list[int], bias: int, acc: int, quantization: tuple[int, int, int], out: int
) -> None:
    zero_out, multiplier, shift = quantization
    layer = Tflite8Node("fc1", Op.FULLY_CONNECTED, (0,), (1, 1, len(x)), (1, 1, 1), zero=zero_out)
    own = Own(weights, [bias], F32(1), multiplier, shift)
    assert w16a8.accumulated(layer, own, x, zero) == [acc]
    assert w16a8.weighted(layer, own, x, zero) == [out]


def test_the_bound_of_the_sums() -> None:
    assert w16a8.sums_are_bounded(600, 32767, -128, -22)
    assert not w16a8.sums_are_bounded(600, 32767, -128, -23)
    assert [w16a8.sums_are_bounded(k, 32767, 0, -31) for k in (256, 257)] == [True, False]
    assert [w16a8.sums_are_bounded(k, 32767, 127, -31) for k in (128, 129)] == [True, False]
    saturated, exact = 2**31 - 1, 5013351000
    assert (w16a8.rescale(saturated, 2**30, -23) - 128, w16a8.rescale(exact, 2**30, -23) - 128) == (0, 171)


@pytest.mark.parametrize(
    ("zero", "largest", "products"),
    [
        (0, 32767, 512),
        (-1, 32767, 512),
        (-64, 32767, 343),
        (-128, 32767, 257),
        (127, 32767, 257),
        (0, 127, 132104),
        (-64, 127, 88530),
        (-128, 127, 66311),
    ],
)
def test_products_that_fit_int32(zero: int, largest: int, products: int) -> None:
    assert (2**31 - 1) // (largest * max(127 - zero, 128 + zero)) == products


def test_conv2d() -> None:
    layer = Tflite8Node("conv1", Op.CONV2D, (0,), (2, 2, 1), (2, 2, 1), (3, 3), (1, 1), (1, 1), act_min=-20, zero=-20)
    own = Own([1000, -2000, 3000, -4000, 32767, 6000, 7000, -8000, -32767], [500], F32(1), 1518500250, -16)
    x = [10, -128, 127, 0]
    assert w16a8.accumulated(layer, own, x, -128) == [-1711830, 209500, 8848085, 3312676]
    assert w16a8.weighted(layer, own, x, -128) == [-20, -18, 75, 16]


def test_add() -> None:
    s_a, s_b, s_y = (float(F32(s)) for s in (0.05, 0.03, 0.06))
    common = 2 * max(s_a, s_b)
    parts = [w16a8.factor_parts(f) for f in (s_a / common, s_b / common, common / (2**20 * s_y))]
    assert parts == [(1073741824, 0), (1288490141, -1), (1789569773, -19)]
    (m_a, k_a), (m_b, k_b), (m_y, k_y) = parts
    layer = Tflite8Node(
        "add1", Op.ADD, (0, 0), (1, 1, 1), (1, 1, 1), zero=-10, factors=AddFactors((m_a, m_b, m_y), (k_a, k_b, k_y))
    )
    for a, b, zeros, s, out in ((100, -77, (-5, 3), 29884417, 38), (127, 127, (-128, -128), 213909501, 127)):
        pair = ((a, zeros[0], m_a, k_a), (b, zeros[1], m_b, k_b))
        assert sum(w16a8.rescale((q - zero) * 2**20, m, k) for q, zero, m, k in pair) == s
        assert w16a8.added(layer, [a], [b], zeros) == [out]


@pytest.mark.parametrize(
    ("logits", "label", "said"),
    [
        ([10, -3, 5], 0, "0x1.8dec94p-1"),
        ([10, -3, 5], 1, "0x1.96f64ap+0"),
        ([127, -128, 0, 126], 3, "0x1.733c52p-1"),
    ],
)
def test_loss(logits: list[int], label: int, said: str) -> None:
    assert float(w16a8.loss(logits, label, F32(0.0625))) == float.fromhex(said)


def test_the_converter_from_tflite8() -> None:
    scales, bias = [float(F32(0.01)), float(F32(0.002))], [1000, -20000]
    s_x, s_y = float(F32(1 / 255)), float(F32(0.05))
    own = w16a8.from_tflite8([[100, -127], [50, 3]], scales, bias, s_x, -128, s_y, 32767)
    assert float(own.scale) == float.fromhex("0x1.4a47d8p-15")
    assert (own.weights, own.bias) == ([25398, -32256, 2540, 152], [253984, -1015937])
    assert (own.multiplier, own.shift) == (1738412510, -18)
    own = w16a8.from_tflite8([[100, -127], [50, 3]], scales, bias, s_x, -128, s_y, 127)
    assert (float(own.scale), own.weights) == (float.fromhex("0x1.4a47d8p-7"), [99, -126, 10, 1])


def test_a_digest() -> None:
    assert xxhash.xxh32_intdigest(np.array([1, -2, 32767, -32767, 300], "<i2").tobytes()) == 0x2A504049


def test_a_network() -> None:
    graph, own, total = two_layers(), own_of_text(), F32(0)
    for label, (pixels, hidden, logits) in enumerate((
        ([200, 17, 90, 255], [-59, -128, -112], [38, -24]),
        ([3, 240, 128, 60], [-111, -65, -100], [7, 12]),
    )):  # fmt: skip
        values = w16a8.forward(graph, own, np.array(pixels, np.uint8))
        assert values[1:] == [hidden, logits]
        total = total + w16a8.loss(logits, label, F32(graph.layers[-1].scale))
    assert float(total) == float.fromhex("0x1.815c4ep-1")
