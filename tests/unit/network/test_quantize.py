"""Post-training quantization: bounds that hold for every layer by itself, and agreement of the whole with the float graph."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import RigError
from hil.training.graph.factors import act_limits, add_factors, multiplier_of
from hil.training.graph.file import decode, encode
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Parameters, Node
from hil.training.networks.floating import LIMITS, FloatGraph, FloatLayer
from hil.training.networks.quantize import LARGEST_BIAS, grid_of, quantize
from network import integer_forward

ACTIVATIONS = st.sampled_from(sorted(LIMITS))
POOLS = (Op.MAX_POOL, Op.AVERAGE_POOL)


@st.composite
def float_graphs(draw: st.DrawFn) -> FloatGraph:
    """A convolution, some layers of every kind behind it, a residual add where the shape allows one, and the logits."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size, channels = draw(st.integers(3, 7)), draw(st.integers(1, 3))
    graph = FloatGraph("drawn", (), (size, size, channels), draw(st.integers(2, 4)))
    kinds = [Op.CONV2D, Op.DEPTHWISE, Op.POINTWISE, *POOLS, Op.ADD]
    for op in [Op.CONV2D, *draw(st.lists(st.sampled_from(kinds), max_size=4)), Op.FULLY_CONNECTED]:
        layer = _float_layer(draw, rng, op, graph)
        if layer is not None:
            graph = replace(graph, layers=(*graph.layers, layer))
    return graph


def _float_layer(draw: st.DrawFn, rng: np.random.Generator, op: Op, graph: FloatGraph) -> FloatLayer | None:
    shapes = graph.shapes()
    height, width, channels = shapes[-1]
    value, out = len(graph.layers), draw(st.integers(1, 4))
    activation = draw(ACTIVATIONS)
    if op is Op.ADD:
        others = [other for other in range(value) if shapes[other] == shapes[-1]]
        return FloatLayer(op, (value, draw(st.sampled_from(others))), activation=activation) if others else None
    kernel = (
        (1, 1) if op is Op.POINTWISE else (draw(st.integers(1, min(3, height))), draw(st.integers(1, min(3, width))))
    )
    pad = 0 if op is Op.POINTWISE else draw(st.integers(0, min(kernel) - 1))
    stride = 1 if op is Op.POINTWISE else draw(st.integers(1, 2))
    if op in POOLS:
        return FloatLayer(op, (value,), kernel=kernel, stride=stride, pad=pad)
    spread = 2.0 ** draw(st.integers(-3, 1))
    if op is Op.FULLY_CONNECTED:
        weights = rng.normal(0, spread, (graph.classes, height * width * channels))
        return FloatLayer(
            op,
            (value,),
            Float32Parameters(weights.astype(np.float32), rng.normal(0, 1, graph.classes).astype(np.float32)),
            block=4,
        )
    shape = (*kernel, channels) if op is Op.DEPTHWISE else (out, *kernel, channels)
    bias = rng.normal(0, 1, channels if op is Op.DEPTHWISE else out).astype(np.float32)
    weights = rng.normal(0, spread, shape).astype(np.float32)
    return FloatLayer(
        op, (value,), Float32Parameters(weights, bias), kernel, stride, pad, activation, draw(st.integers(1, 4))
    )


def images_for(graph: FloatGraph, count: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, *graph.in_shape)).astype(np.uint8)


@settings(max_examples=80, deadline=None)
@given(floats=float_graphs(), rounding=st.sampled_from(["double", "single"]), seed=st.integers(0, 1000))
def test_every_layer_is_within_its_bound(floats: FloatGraph, rounding: str, seed: int) -> None:
    """The float layer on the dequantized input against the dequantized output: what the grid of output, weights and bias may cost."""
    images = images_for(floats, seed=seed)
    graph = quantize(floats, images, rounding)
    assert encode(decode(encode(graph))) == encode(graph)
    values = integer_forward.values(graph, images[0])
    for index, (layer, exact) in enumerate(zip(graph.layers, floats.layers, strict=True)):
        real = [_real(graph, value, values[value])[None].astype(np.float64) for value in layer.reads]
        wanted, cost = _one_layer(exact, layer, graph, real)
        low, high = (layer.scale * (limit - layer.zero) for limit in (layer.act_min, layer.act_max))
        got = _real(graph, index + 1, values[index + 1])
        assert np.all(np.abs(got - np.clip(wanted, low, high)) <= cost + 1e-5 * np.abs(wanted) + 1e-9), layer.name


def _real(graph: Graph, value: int, q: np.ndarray) -> np.ndarray:
    return graph.scale_of(value) * (q - graph.zero_of(value))


def _one_layer(exact: FloatLayer, layer: Node, graph: Graph, real: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the float layer's output before its limits, and how far the integer one may be from it."""
    rounding = (
        1.001 * layer.scale
    )  # half a step to the grid, half a step because the first of two roundings came before
    if layer.op is Op.ADD:
        return real[0][0] + real[1][0], np.full(layer.out_shape, rounding)
    shape = tuple(real[0].shape[1:])
    alone = FloatGraph("alone", (replace(exact, reads=(0,), activation="none"),), shape, 2)
    wanted = alone.values(real[0] * 255)[1][0]
    if layer.own is None:
        return wanted, np.full(layer.out_shape, rounding)
    half = (layer.own.scale / 2)[:, None] if layer.op is Op.FULLY_CONNECTED else layer.own.scale / 2
    ones = np.ones_like(exact.own.weights)
    ones = ones * (half if layer.op in (Op.FULLY_CONNECTED, Op.DEPTHWISE) else half[:, None, None, None])
    unit = graph.scale_of(layer.reads[0]) * layer.own.scale / 2
    spread = FloatGraph(
        "cost", (replace(exact, reads=(0,), own=Float32Parameters(ones, unit), activation="none"),), shape, 2
    )
    return wanted, rounding + spread.values(np.abs(real[0]) * 255)[1][0]


@settings(max_examples=40, deadline=None)
@given(floats=float_graphs(), seed=st.integers(0, 1000))
def test_weights_use_their_grid_up_to_126(floats: FloatGraph, seed: int) -> None:
    graph = quantize(floats, images_for(floats, seed=seed))
    for layer, exact in zip(graph.layers, floats.layers, strict=True):
        if layer.own is None:
            continue
        weights = layer.own.weights.astype(np.float64)
        axes = (0, 1) if layer.op is Op.DEPTHWISE else tuple(range(1, weights.ndim))
        scale = layer.own.scale if layer.op is Op.DEPTHWISE else layer.own.scale.reshape(-1, *(1,) * (weights.ndim - 1))
        assert np.all(np.abs(weights).max(axes) == 126), "normal weights are neither all tiny nor beside a huge bias"
        assert np.all(np.abs(weights * scale - exact.own.weights) <= scale * 0.5001)
        s_x, s_w = graph.scale_of(layer.reads[0]), layer.own.scale.astype(np.float64)
        assert np.all(np.abs(layer.own.bias * s_x * s_w - exact.own.bias) <= s_x * s_w * 0.5001)
        wanted = s_x * s_w / layer.scale
        made = layer.own.multiplier * 2.0 ** (layer.own.shift.astype(float) - 31)
        assert np.all(np.abs(made / wanted - 1) <= 2.0**-31)


@given(low=st.floats(-1e6, 1e6), width=st.floats(0.001, 1e6))
def test_zero_is_exact_and_the_range_is_covered(low: float, width: float) -> None:
    high = low + width
    scale, zero = grid_of(low, high)
    assert -128 <= zero <= 127
    assert scale == float(np.float32(scale))
    for limit, q in ((min(low, 0.0), -128), (max(high, 0.0), 127)):
        assert abs(scale * (q - zero) - limit) <= 0.51 * scale


@given(factor=st.floats(2.0**-31, 2.0**29))
def test_a_factor_is_the_nearest_of_31_bits(factor: float) -> None:
    multiplier, shift = multiplier_of(factor)
    assert 2**30 <= multiplier < 2**31
    step = Fraction(2) ** (shift - 31)
    assert abs(multiplier * step - Fraction(factor)) <= step / 2


def test_a_dead_output_has_an_ordinary_grid() -> None:
    assert grid_of(0.0, 0.0) == (float(np.float32(1 / 255)), -128)


def test_factors_at_the_edges() -> None:
    assert multiplier_of(0.5) == (2**30, 0)
    assert multiplier_of(1 - 2.0**-40) == (2**30, 1), "rounds up to 2^31, which is the next power of two"
    assert multiplier_of(2.0**-32) == (2**30, -31)
    for factor in (2.0**-33, 2.0**30, 0.0):
        with pytest.raises(RigError, match="multiplier and shift"):
            multiplier_of(factor)


def test_the_factors_of_an_add_are_those_of_tflite() -> None:
    """Twice the larger scale is common to both inputs: 0.25 / 0.5, 0.1 / 0.5, 0.5 / (2^20 * 0.3)."""
    factors = add_factors(0.25, 0.1, 0.3)
    assert (factors.multipliers[0], factors.shifts[0]) == (2**30, 0)
    for index, wanted in enumerate((0.5, 0.2, 0.5 / (2**20 * 0.3))):
        assert factors.multipliers[index] * 2.0 ** (factors.shifts[index] - 31) == pytest.approx(wanted, rel=2**-30)
    with pytest.raises(RigError, match="an add of scales"):
        add_factors(1.0, 1.0, 2.0**-21)


def test_limits_carry_the_activation() -> None:
    assert act_limits("none", 0.1, 3) == (-128, 127)
    assert act_limits("relu", 0.1, -128) == (-128, 127)
    assert act_limits("relu6", 6 / 255, -128) == (-128, 127)
    assert act_limits("relu6", 0.05, -128) == (-128, -8)
    assert act_limits("relu6", 0.05, 50) == (50, 127)


def test_a_silent_channel_and_a_huge_bias_stay_in_range() -> None:
    weights = np.array([[[[1.0]]], [[[0.0]]], [[[1e-9]]], [[[1e-3]]]], np.float32)
    bias = np.array([0.5, 0.25, 3000.0, -1e6], np.float32)
    conv = FloatLayer(Op.POINTWISE, (0,), Float32Parameters(weights, bias), (1, 1), 1, 0, "none", 1)
    fc = FloatLayer(
        Op.FULLY_CONNECTED, (1,), Float32Parameters(np.ones((2, 16), np.float32), np.zeros(2, np.float32)), block=4
    )
    floats = FloatGraph("odd", (conv, fc), (2, 2, 1), 2)
    graph = quantize(floats, images_for(floats))
    own = graph.layers[0].own
    assert own is not None
    assert np.abs(own.bias.astype(int)).max() <= LARGEST_BIAS
    units = graph.scale * own.scale.astype(float)
    np.testing.assert_allclose(own.bias * units, bias, rtol=1e-6, atol=float(units[1]))
    assert encode(decode(encode(graph))) == encode(graph)


def test_the_whole_agrees_with_the_float_graph() -> None:
    """Errors of many small roundings: the logits keep within a few hundredths of their range."""
    rng = np.random.default_rng(5)

    def weights(*shape: int) -> np.ndarray:
        return (rng.normal(0, 1, shape) / math.sqrt(math.prod(shape[1:]))).astype(np.float32)

    def bias(n: int) -> np.ndarray:
        return rng.normal(0, 0.1, n).astype(np.float32)

    layers = (
        FloatLayer(Op.CONV2D, (0,), Float32Parameters(weights(8, 3, 3, 2), bias(8)), (3, 3), 2, 1, "relu6", 1),
        FloatLayer(Op.POINTWISE, (1,), Float32Parameters(2 * weights(16, 1, 1, 8), bias(16)), (1, 1), 1, 0, "relu6", 2),
        FloatLayer(Op.DEPTHWISE, (2,), Float32Parameters(weights(3, 3, 16) * 2, bias(16)), (3, 3), 1, 1, "relu6", 2),
        FloatLayer(Op.POINTWISE, (3,), Float32Parameters(2 * weights(8, 1, 1, 16), bias(8)), (1, 1), 1, 0, "none", 2),
        FloatLayer(Op.ADD, (4, 1)),
        FloatLayer(Op.AVERAGE_POOL, (5,), kernel=(2, 2), stride=2),
        FloatLayer(Op.FULLY_CONNECTED, (6,), Float32Parameters(weights(10, 128), bias(10)), block=4),
    )
    floats = FloatGraph("whole", layers, (16, 16, 2), 10)
    assert floats.shapes()[-2] == (4, 4, 8)
    images = images_for(floats, 12)
    graph = quantize(floats, images[:8])
    wanted = floats.values(images)[-1].reshape(12, 10)
    got = np.array([_real(graph, 7, integer_forward.values(graph, image)[-1]).ravel() for image in images])
    assert np.sqrt(np.mean((got - wanted) ** 2)) <= 0.03 * np.ptp(wanted)


def test_images_of_another_shape_are_refused() -> None:
    floats = FloatGraph("one", (FloatLayer(Op.FULLY_CONNECTED, (0,), Float32Parameters(np.ones((2, 4), np.float32), np.zeros(2, np.float32)), block=1),), (2, 2, 1), 2)  # fmt: skip
    with pytest.raises(RigError, match="give uint8"):
        quantize(floats, np.zeros((3, 2, 3, 1), np.uint8))
    with pytest.raises(RigError, match="give uint8"):
        quantize(floats, np.zeros((0, 2, 2, 1), np.uint8))
