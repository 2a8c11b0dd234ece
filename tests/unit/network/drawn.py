"""Small networks of every kind for hypothesis: odd sizes, odd kernels, extreme weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from hil.training.graph.chain import bfp8_node, chain
from hil.training.graph.formats import OPS, Format, Op, Shape, named
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node

WEIGHTS = ("uniform", "extreme", "sparse", "small", "zero")


@st.composite
def networks(draw: st.DrawFn, largest: int = 7, exponents: tuple[int, int] = (-12, 0)) -> Graph:
    """Draw a chain of up to 8 layers that ends in a fully connected one.

    Args:
        draw: hypothesis's.
        largest: height and width of the input, at most.
        exponents: range of the weights' exponents.
    """
    shape: Shape = (draw(st.integers(1, largest)), draw(st.integers(1, largest)), draw(st.integers(1, 3)))
    classes = draw(st.integers(2, 5))
    ops: list[Op] = []
    layers: list[Node] = []
    depth = draw(st.integers(0, 7))
    for op in draw(st.lists(st.sampled_from(OPS[Format.BFP8]), min_size=depth, max_size=depth)):
        if op is Op.RELU and (not ops or ops[-1] is Op.RELU):
            continue  # a relu works in the buffer of the layer before it
        layers.append(_layer(draw, op, shape, draw(st.integers(1, 6)), exponents))
        ops.append(op)
        shape = layers[-1].out_shape
    layers.append(_layer(draw, Op.FULLY_CONNECTED, shape, classes, exponents))
    ops.append(Op.FULLY_CONNECTED)
    layers = [replace(layer, name=name) for layer, name in zip(layers, named(ops), strict=True)]
    return chain(tuple(layers), classes, input_exp=draw(st.sampled_from([-7, -7, -20, 3])))


def _layer(draw: st.DrawFn, op: Op, shape: Shape, outputs: int, exponents: tuple[int, int]) -> Node:
    height, width, channels = shape
    if op is Op.RELU:
        return bfp8_node("", op, shape, shape)
    if op is Op.MAX_POOL:
        k = draw(st.integers(1, min(3, height, width)))
        return bfp8_node("", op, shape, (height // k, width // k, channels), kernel=(k, k), stride=(k, k))
    exponent = draw(st.integers(*exponents))
    if op is Op.FULLY_CONNECTED:
        weights = drawn_weights(draw, (outputs, height * width * channels))
        return bfp8_node("", op, shape, (1, 1, outputs), weights=weights, weight_exp=exponent)
    kernel = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    least = max(0, -(-(kernel[0] - height) // 2), -(-(kernel[1] - width) // 2))
    if least >= min(kernel):
        kernel, least = (1, 1), 0
    pad = draw(st.integers(least, min(kernel) - 1))
    outputs = min(outputs, 3)
    out = height + 2 * pad - kernel[0] + 1, width + 2 * pad - kernel[1] + 1, outputs
    weights = drawn_weights(draw, (outputs, *kernel, channels))
    return bfp8_node(
        "", op, shape, out, kernel=kernel, stride=(1, 1), pad=(pad, pad), weights=weights, weight_exp=exponent
    )


def drawn_weights(draw: st.DrawFn, shape: tuple[int, ...]) -> np.ndarray:
    """Draw int8 weights in -127..127 of one of the kinds of `WEIGHTS`."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(WEIGHTS))
    uniform = rng.integers(-127, 128, shape)
    weights = {
        "uniform": uniform,
        "extreme": rng.choice([-127, 127], shape),
        "sparse": uniform * (rng.random(shape) < 0.2),
        "small": rng.integers(-3, 4, shape),
        "zero": np.zeros(shape),
    }[kind]
    return weights.astype(np.int8)
