"""Conversion to `w16a8`: the vectors of docs/arithmetic-w16a8.md, section 7, and what section 5 says of every weight."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import RigError
from hil.training.data import load
from hil.training.graph.file import NetworkFileError, decode, encode
from hil.training.graph.formats import POOLS, Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Tflite8Node, Tflite8Parameters
from hil.training.networks import build, names
from hil.training.networks.convert_w16a8 import W8, W16, from_floats, from_tflite8, parameters, with_prototypes
from hil.training.networks.drawing import calibration_images
from hil.training.networks.quantize import quantize
from hil.training.networks.shapes import lenet5 as float_lenet5
from hil.training.networks.shapes import resnet_tiny
from network import integer_forward
from network.w16a8_graphs import fully_connected

INPUT = float(np.float32(1 / 255))


def tflite_layer(weights: object, scales: object, bias: object, scale: float) -> Graph:
    own = Tflite8Parameters(
        np.array(weights, np.int8),
        np.array(bias, np.int32),
        np.full(len(weights), 2**30, np.int32),  # type: ignore[arg-type]
        np.full(len(weights), -9, np.int8),  # type: ignore[arg-type]
        np.array(scales, np.float32),
    )
    outputs, inputs = own.weights.shape
    node = Tflite8Node(
        "fc1", Op.FULLY_CONNECTED, (0,), (1, 1, inputs), (1, 1, outputs), block=1, scale=float(np.float32(scale)), own=own
    )  # fmt: skip
    return Graph("one", (node,), node.in_shape, outputs, INPUT, -128)


@pytest.mark.parametrize(
    ("largest", "scale", "weights"),
    [(W16, "0x1.4a47d8p-15", [[25398, -32256], [2540, 152]]), (W8, "0x1.4a47d8p-7", [[99, -126], [10, 1]])],
)
def test_the_vectors_of_the_text(largest: int, scale: str, weights: list[list[int]]) -> None:
    graph = from_tflite8(tflite_layer([[100, -127], [50, 3]], [0.01, 0.002], [1000, -20000], 0.05), largest)
    own = graph.layers[0].own
    assert own is not None and own.largest == largest
    assert own.scale == float.fromhex(scale)
    assert own.weights.tolist() == weights
    if largest == W16:
        assert own.bias.tolist() == [253984, -1015937]
        assert (own.multiplier, own.shift) == (1738412510, -18)
    assert {layer.rounding for layer in graph.layers} == {"single"} and graph.formats == (Format.W16A8,)


@pytest.mark.parametrize(("name", "largest"), [("lenet5-tflite", W16), ("lenet5-tflite", W8), ("resnet-tiny", W16)])
def test_weights_of_tflite8_stay_within_half_a_step(name: str, largest: int) -> None:
    old = build(name, 1)
    new = from_tflite8(old, largest, "new")
    assert new.name == "new" and decode(encode(new), "new").classes == old.classes
    for before, after in zip(old.layers, new.layers, strict=True):
        kept = ("op", "reads", "in_shape", "out_shape", "kernel", "act_min", "act_max", "scale", "zero", "factors")
        assert all(getattr(before, field) == getattr(after, field) for field in kept)
        if before.own is None or after.own is None:
            continue
        by_channel = (
            before.own.scale
            if before.op is Op.DEPTHWISE
            else before.own.scale.reshape(-1, *[1] * (before.own.weights.ndim - 1))
        )
        real, step = before.own.weights * by_channel.astype(float), after.own.scale
        assert np.abs(after.own.weights * step - real).max() <= step / 2 * (1 + 1e-6)
        assert np.abs(after.own.weights.astype(int)).max() == {W16: 32256, W8: 126}[largest]
        unit = step * old.scale_of(before.reads[0])
        bias = before.own.bias * old.scale_of(before.reads[0]) * before.own.scale.astype(float)
        assert np.abs(after.own.bias * unit - bias).max() <= unit / 2 * (1 + 1e-6)


def test_a_factor_of_a_quarter_is_refused() -> None:
    """With weights of 8 bits a layer of the residual network has one."""
    with pytest.raises(RigError, match="layer .* has a factor of .* calibrate with other images"):
        from_tflite8(build("resnet-tiny", 1), W8)


def test_committed_weights_recognize_clothes_as_before() -> None:
    """16w8a has the predictions of the int8 weights but for a few near ties; the plain integer pass is the judge."""
    data = load("fashion-mnist-1k")
    images, labels = data.test_images[::10], data.test_labels[::10]
    right = {}
    for name in ("lenet5-tflite", "lenet5-w16a8", "lenet5-8w8a"):
        graph = build(name, 1)
        found = np.array([integer_forward.values(graph, image[..., None])[-1].argmax() for image in images])
        right[name] = int((found == labels).sum())
    assert abs(right["lenet5-w16a8"] - right["lenet5-tflite"]) <= 2
    assert abs(right["lenet5-8w8a"] - right["lenet5-tflite"]) <= 5


@pytest.mark.parametrize("name", names(Format.W16A8))
def test_every_network_is_a_file_and_the_same_for_every_seed(name: str) -> None:
    graph = build(name, 3)
    assert encode(decode(encode(graph), name)) == encode(graph) == encode(build(name, 4))
    assert {layer.own.largest for layer in graph.trained if layer.own is not None} == {W8 if "8w8a" in name else W16}


@pytest.mark.parametrize("largest", [W16, W8])
def test_a_float_graph_has_the_values_of_its_int8_form(largest: int) -> None:
    """Scales, zero points and limits are those of `quantize`; only weights are finer."""
    drawn = resnet_tiny("drawn", 5, side=28, channels=1)
    images = calibration_images(drawn.in_shape, 5)
    int8, graph = quantize(drawn, images), from_floats(drawn, images, largest)
    for before, after in zip(int8.layers, graph.layers, strict=True):
        kept = ("name", "scale", "zero", "act_min", "act_max", "factors", "block")
        assert all(getattr(before, field) == getattr(after, field) for field in kept)
    if largest == W16:
        image = images[0]
        plain = [drawn.values(images[:1])[-1].ravel(), *(
            (integer_forward.values(one, image)[-1].ravel() - one.layers[-1].zero) * one.layers[-1].scale
            for one in (int8, graph)
        )]  # fmt: skip
        assert np.abs(plain[0] - plain[2]).max() <= np.abs(plain[0] - plain[1]).max() + graph.layers[-1].scale


def test_images_of_another_shape_are_refused() -> None:
    drawn = float_lenet5("drawn", 1)
    with pytest.raises(RigError, match="calibrate drawn"):
        from_floats(drawn, np.zeros((2, 28, 28, 3), np.uint8))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(1, 700),
    st.floats(-12, 6),
    st.floats(-12, 12),
    st.sampled_from([W16, W8]),
    st.integers(-128, 127),
)
def test_a_factor_is_that_of_the_scales(
    seed: int, inputs: int, size: float, output: float, largest: int, zero: int
) -> None:
    """M and shift are the factor to 31 bits; sums have a bound; what has none is refused with a cure."""
    rng = np.random.default_rng(seed)
    weights, bias = rng.normal(0, 2.0**size, (3, inputs)), rng.normal(0, 2.0**size, 3)
    node = replace(fully_connected(np.zeros((3, inputs)), [0] * 3), scale=float(np.float32(2.0**output)))
    try:
        own = parameters(node, (INPUT, zero), weights, bias, largest)
    except RigError as refused:
        assert "calibrate with other images" in str(refused)
        return
    scale = own.scale
    real = scale * INPUT / node.scale
    assert math.isclose(own.multiplier * 2.0 ** (own.shift - 31), real, rel_tol=2**-30)
    assert np.abs(own.weights * scale - weights).max() <= scale * 0.51
    graph = Graph("one", (replace(node, own=own),), node.in_shape, 3, INPUT, zero)
    assert encode(decode(encode(graph))) == encode(graph)


def test_a_head_from_prototypes_classifies_by_distance() -> None:
    graph = build("lenet5-w16a8", 1)
    last, value = graph.layers[-1], graph.layers[-1].reads[0]
    rng = np.random.default_rng(1)
    centres = rng.integers(graph.zero_of(value), 128, (5, last.in_size))
    features = np.clip(centres.repeat(5, 0) + rng.integers(-9, 10, (25, last.in_size)), graph.zero_of(value), 127)
    labels = np.arange(5).repeat(5)
    real = (features - graph.zero_of(value)) * graph.scale_of(value)
    headed = with_prototypes(graph, real, labels)
    assert headed.classes == 5 and headed.layers[:-1] == graph.layers[:-1]
    decode(encode(headed))
    found = [int(integer_forward.run(headed, headed.layers[-1], [one.reshape(1, 1, -1)]).argmax()) for one in features]
    assert found == labels.tolist()


def test_a_layer_without_a_bound_is_refused_with_figures() -> None:
    node = fully_connected([[1] * 300], [0], own={"factor": (2**30, -23)})
    graph = Graph("wide", (replace(node, out_shape=(1, 1, 1)),), node.in_shape, 2, INPUT, -128)
    wide = replace(graph, layers=(fully_connected([[1] * 300] * 2, [0, 0], own={"factor": (2**30, -23)}),))
    with pytest.raises(
        NetworkFileError, match="sums of fc1 .* 300 products of at most 8,355,585 with shift -23.* 128 "
    ):
        decode(encode(wide))


def test_pools_keep_the_scale_of_their_input() -> None:
    drawn = float_lenet5("drawn", 1)
    graph = from_floats(drawn, calibration_images(drawn.in_shape, 1))
    for layer in graph.layers:
        if layer.op in POOLS:
            assert (layer.scale, layer.zero) == (graph.scale_of(layer.reads[0]), graph.zero_of(layer.reads[0]))
