"""Conversion to `affine8`: the vectors of docs/arithmetic-affine8.md, section 11, and what section 9 says of every layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.affine8_networks import network_a, network_b, network_c, samples
from xxhash import xxh32_intdigest

from hil.errors import RigError
from hil.training.data import load
from hil.training.graph.affine8 import params
from hil.training.graph.file import decode, encode
from hil.training.graph.formats import LARGEST_FLOAT, POOLS, Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Parameters
from hil.training.networks import build, find_network
from hil.training.networks.batch_norm import BatchNorm, folded, normalized
from hil.training.networks.convert_affine8 import from_floats, from_tflite8, output_range, quantized_weights
from hil.training.networks.drawing import calibration_images
from hil.training.networks.float32 import in_float32
from hil.training.networks.floating import FloatGraph, FloatLayer
from hil.training.networks.fqt_shapes import fqt_cnn, mbednet
from hil.training.networks.quantize import ranges
from network import affine8_forward, integer_forward

H = LARGEST_FLOAT


def small(seed: int = 1) -> FloatGraph:
    """A graph with every operation, for 12 x 12 x 1."""
    return mbednet("small", seed, (12, 12, 1), 4, (3, 2))


def test_the_vector_of_the_text() -> None:
    weights, scale, zero = quantized_weights("fc1", np.array([0.3, -0.1, 0.02, 0.25, -0.37], np.float32))
    assert weights.tolist() == [127, -25, 21, 108, -128]
    assert np.float32(scale).view(np.uint32) == 0x3B2C3150
    assert zero == 13


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (network_a(), "2DA2DF28 7A5C3A9E 2F8ADA15 9B63A73E"),
        (network_a(rounding="floor"), "2DA2DF28 FBA70127 61B343B3 FE996B73"),
        (network_c(), "2DA2DF28 7A5C3A9E 2F8ADA15"),
        (
            network_b(),
            "5C8FD90C B5F0CE7A D6A3988F 7D2D3258 A5C81F63 DB32A0A8 1075E2F8 418B61CD FAF7996B 0EBADE1A 7EE9746B CB6B7EC2"
            " D062903E",
        ),
    ],
)
def test_the_forward_pass_of_these_tests_is_that_of_the_text(graph: Graph, said: str) -> None:
    images, _ = samples(graph)
    found = [xxh32_intdigest(value[0].astype(np.int8).tobytes()) for value in affine8_forward.values(graph, images)]
    assert [f"{digest:08X}" for digest in found][: len(said.split())] == said.split()


@given(st.lists(st.floats(-8, 8, width=32), min_size=1, max_size=40))
@settings(max_examples=200, deadline=None)
def test_weights_are_within_half_a_step_and_0_stays_0(found: list[float]) -> None:
    weights = np.array([*found, 0.0, 0.5], np.float32)
    q, scale, zero = quantized_weights("fc1", weights)
    error = np.abs(scale * (q.astype(float) - zero) - weights)
    assert error.max() <= 0.5 * scale * (1 + 1e-5) + (scale if q.max() == 127 or q.min() == -128 else 0) * 0.5
    assert q[-2] == zero
    assert q.min() == -128 or q.max() == 127


def test_weights_of_one_sign_reach_from_0() -> None:
    q, scale, zero = quantized_weights("fc1", np.array([2.0, 0.5], np.float32))
    assert (q.tolist(), zero, scale) == ([127, -64], -128, float(np.float32(2 / 255)))


def test_weights_that_are_all_0_are_refused() -> None:
    with pytest.raises(RigError, match="all weights of fc1 are 0"):
        quantized_weights("fc1", np.full(4, 2.0**-21, np.float32))
    quantized_weights("fc1", np.full(4, 2.0**-20, np.float32))


@pytest.mark.parametrize(
    ("low", "high", "limits", "least", "expected"),
    [
        (-1.0, 2.0, (-H, H), 0.0, (-1.0, 2.0)),
        (0.5, 2.0, (-H, H), 0.0, (0.0, 2.0)),
        (-3.0, -1.0, (-H, H), 0.0, (-3.0, 0.0)),
        (-1.0, 9.0, (0.0, 6.0), 0.0, (0.0, 6.0)),
        (0.0, 0.0, (0.0, H), 0.0, (0.0, 2.0**-20)),
        (-0.25, 0.25, (-H, H), 1.5, (-0.25, 1.25)),
    ],
)
def test_the_range_of_an_output(
    low: float, high: float, limits: tuple[float, float], least: float, expected: tuple[float, float]
) -> None:
    assert output_range("fc1", low, high, limits, least) == expected


@pytest.mark.parametrize("rounding", ["nearest", "floor"])
def test_every_layer_has_the_range_of_its_values(rounding: str) -> None:
    floats = small()
    images = calibration_images(floats.in_shape, 1)
    found = ranges(floats, images)
    graph = from_floats(floats, found, rounding=rounding)
    assert encode(decode(encode(graph), graph.name)) == encode(graph)
    assert (graph.scale, graph.zero, graph.affine_rounding) == (float(np.float32(1 / 255)), -128, rounding)
    for layer, node, (low, high) in zip(floats.layers, graph.layers, found, strict=True):
        assert (node.op, node.reads, node.format) == (layer.op, layer.reads, Format.AFFINE8)
        if node.op in POOLS:
            assert (node.low, node.high) == (0.0, 0.0)
            assert (node.scale, node.zero) == (graph.scale_of(node.reads[0]), graph.zero_of(node.reads[0]))
            continue
        assert node.low == pytest.approx(min(low, 0.0)) and node.high >= np.float32(max(high, 0.0))
        scale, _, zero = params(node.low, node.high, rounding)
        assert (node.scale, node.zero) == (float(scale), int(zero))
    limits = {
        layer.activation: (node.act_min, node.act_max) for layer, node in zip(floats.layers, graph.layers, strict=True)
    }
    assert limits == {"none": (-H, H), "relu": (0.0, H), "hard_sigmoid": (0.0, 1.0)}


def test_a_range_beyond_the_limits_is_refused() -> None:
    with pytest.raises(RigError, match="the sums of dw1 times 255 is 7.5, more than its limit of 6: its weights"):
        output_range("dw1", 0.0, 1.0, (0.0, 6.0), 7.5)


def test_a_head_in_floats_is_behind_a_cast() -> None:
    floats = small()
    found = ranges(floats, calibration_images(floats.in_shape, 1))
    head = len(floats.layers) - 3
    graph, whole = from_floats(floats, found, head), from_floats(floats, found)
    assert graph.formats == (Format.AFFINE8, Format.FLOAT32)
    assert [node.name for node in graph.layers[head:]] == ["cast1", "fc1", "hswish7", "fc2"]
    assert [node.reads for node in graph.layers[head:]] == [(head,), (head + 1,), (head + 2,), (head + 3,)]
    images = calibration_images(floats.in_shape, 2)
    ours, all_in_8_bits = (affine8_forward.values(each, images) for each in (graph, whole))
    for mine, theirs in zip(ours[: head + 1], all_in_8_bits, strict=False):
        np.testing.assert_array_equal(mine, theirs)
    for node, layer in zip(graph.layers[head + 1 :], floats.layers[head:], strict=True):
        if node.own is not None:
            np.testing.assert_array_equal(node.own.weights, layer.own.weights)


def test_a_head_that_reads_from_before_the_cast_is_refused() -> None:
    floats = small()
    found = ranges(floats, calibration_images(floats.in_shape, 1))
    last_add = max(index for index, layer in enumerate(floats.layers) if layer.op is Op.ADD)
    with pytest.raises(RigError, match="reads a value from before the cast"):
        from_floats(floats, found, last_add)


def test_a_wide_weight_of_a_narrow_output_widens_the_range() -> None:
    """Check 9 of the file: a sum may not be worth more than its output."""
    own = Float32Parameters(np.array([[90.0, -90.0]], np.float32).repeat(2, 0), np.zeros(2, np.float32))
    one = FloatLayer(Op.FULLY_CONNECTED, (0,), own)
    floats = FloatGraph("narrow", (replace(one, block=1),), (1, 1, 2), 2)
    graph = from_floats(floats, [(0.0, 1e-3)])
    width = 255 * graph.scale * graph.layers[0].own.scale
    assert graph.layers[0].high == pytest.approx(width)
    assert width > 0.5


@pytest.mark.parametrize(
    ("name", "firsts"), [("lenet5-tflite", ((0, 0.9), (2, 0.9), (5, 0.9))), ("resnet-tiny", ((17, 0.9), (18, 0.9)))]
)
def test_from_tflite8_keeps_what_every_value_stands_for(name: str, firsts: tuple[tuple[int, float], ...]) -> None:
    graph, shape = build(name, 1), find_network(name).shape(name, 1)
    images = load("fashion-mnist-1k").test_images[::25][..., None]
    theirs = [integer_forward.values(graph, image) for image in images]
    for first, least in firsts:
        converted = from_tflite8(shape, graph, first)
        for old, new in zip(graph.layers[:first], converted.layers[:first], strict=True):
            assert (new.name, new.own, new.format) == (old.name, old.own, Format.TFLITE8)
        assert {node.format for node in converted.layers[first:]} == {Format.AFFINE8}
        for old, new in zip(graph.layers[first:], converted.layers[first:], strict=True):
            assert new.scale == pytest.approx(old.scale, rel=1e-6) and new.zero == old.zero
            if old.own is not None:
                real = new.own.scale * (new.own.weights.astype(float) - new.own.zero)
                was = old.own.weights * (
                    old.own.scale
                    if old.op is Op.DEPTHWISE
                    else old.own.scale.reshape(-1, *[1] * (old.own.weights.ndim - 1))
                )
                assert np.abs(real - was).max() <= 0.51 * new.own.scale
        starts = [np.stack([one[value] for one in theirs]) for value in range(first + 1)]
        logits = after(converted, first, starts)
        same = logits.argmax(1) == np.stack([one[-1].reshape(-1) for one in theirs]).argmax(1)
        assert same.mean() >= least


def after(graph: Graph, first: int, starts: list[np.ndarray]) -> np.ndarray:
    """Return the logits of a graph whose values up to `first` are given, as integers."""
    held = [value.astype(np.float64) for value in starts]
    for layer in graph.layers[first:]:
        out = affine8_forward._integer(graph, layer, [held[value] for value in layer.reads])
        held.append(out.reshape(len(held[0]), *layer.out_shape))
    return held[-1].reshape(len(held[0]), -1)


@pytest.mark.parametrize("op", [Op.CONV2D, Op.DEPTHWISE, Op.FULLY_CONNECTED])
def test_a_folded_normalisation_gives_the_normalised_output(op: Op) -> None:
    rng = np.random.Generator(np.random.PCG64(4))
    shape = {Op.CONV2D: (5, 3, 3, 4), Op.DEPTHWISE: (3, 3, 5), Op.FULLY_CONNECTED: (5, 36)}[op]
    x = rng.normal(size=(7, 3, 3, 4 if op is not Op.DEPTHWISE else 5))
    w, b = rng.normal(size=shape), rng.normal(size=5)
    gamma, beta, mean, variance = (rng.uniform(0.5, 2, 5) for _ in range(4))

    def out(w: np.ndarray, b: np.ndarray) -> np.ndarray:
        if op is Op.DEPTHWISE:
            return (x * w).sum((1, 2)) + b
        return x.reshape(7, -1) @ w.reshape(5, -1).T + b

    expected = (out(w, b) - mean) / np.sqrt(variance + 1e-3) * gamma + beta
    np.testing.assert_allclose(
        out(*folded(op, w, b, BatchNorm(gamma, beta, mean, variance, 1e-3))), expected, atol=1e-5
    )


def test_a_normalised_graph_has_outputs_of_mean_0_and_variance_1() -> None:
    images = load("fashion-mnist-1k").train_images[:64][..., None]
    graph = normalized(fqt_cnn("cnn", 1), images)
    linear = replace(graph, layers=tuple(replace(layer, activation="none") for layer in graph.layers[:1]))
    first = linear.values(images)[1].reshape(-1, 16)
    np.testing.assert_allclose(first.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(first.std(0), 1, atol=1e-2)
    np.testing.assert_array_equal(graph.layers[-1].own.weights, fqt_cnn("cnn", 1).layers[-1].own.weights)


def test_a_network_in_floats_reads_bytes_as_its_float_graph() -> None:
    floats = mbednet("series", 1, (128, 1, 6), 7, (5, 2), (128, 128))
    images = calibration_images(floats.in_shape, 1)
    for graph in (in_float32(floats), from_floats(floats, ranges(floats, images))):
        assert (graph.scale, graph.zero) == (2.0**-7, 0)
    np.testing.assert_allclose(
        affine8_forward.values(in_float32(floats), images)[-1], floats.values(images)[-1], atol=1e-5
    )
