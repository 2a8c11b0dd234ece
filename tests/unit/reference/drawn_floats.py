"""Layers and values in `float32` for hypothesis: shapes that fill no vector, magnitudes from subnormal to the largest."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from network.drawn_float32 import LIMITS

from hil.training.graph.formats import LARGEST_FLOAT, POOLS, Op
from hil.training.graph.node import Float32Node, Float32Parameters, Node

LARGEST_TRAINED = 2.0**56  # magnitude of a weight
KINDS = ("uniform", "subnormal", "largest", "far apart", "few", "positive", "zero")


@st.composite
def numbers(draw: st.DrawFn, shape: tuple[int, ...], largest: float = LARGEST_FLOAT) -> np.ndarray:
    """Draw values or errors, float32 without -0."""
    kind, seed = draw(st.sampled_from(KINDS)), draw(st.integers(0, 2**32))
    return drawn(shape, kind, seed, largest)


def drawn(shape: tuple[int, ...], kind: str, seed: int, largest: float = LARGEST_FLOAT) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = rng.uniform(-1, 1, shape)
    if kind == "subnormal":
        found *= 2.0**-130
    elif kind == "largest":
        found = np.sign(found) * largest
    elif kind == "far apart":
        found *= 2.0 ** rng.integers(-149, 40, shape)
    elif kind == "few":  # equal ones, of which a window has several
        found = np.rint(2 * found)
    elif kind == "positive":
        found = np.maximum(found, 0)
    elif kind == "zero":
        found *= 0
    return np.asarray(found.astype(np.float32) + np.float32(0))  # no -0


@st.composite
def trained(draw: st.DrawFn, shape: tuple[int, ...]) -> np.ndarray:
    """Draw weights, biases or sums of gradients, some of which are -0."""
    found = draw(numbers(shape, LARGEST_TRAINED))
    found[np.random.default_rng(draw(st.integers(0, 2**32))).random(shape) < 0.1] = -0.0
    return found


@st.composite
def _axes(draw: st.DrawFn, pointwise: bool, apart: bool) -> tuple[int, int, int, int, int]:
    """Draw kernel, stride, padding, input and output of an axis."""
    kernel, stride = (1, 1) if pointwise else (draw(st.integers(1, 5)), draw(st.integers(1, 3)))
    if apart:
        stride = max(kernel, stride)
    pad = 0 if apart or pointwise else draw(st.integers(0, kernel - 1))
    size = draw(st.integers(kernel if apart else 1, 11))
    inside, most = (size + 2 * pad - kernel) // stride + 1, (size + pad - 1) // stride + 1
    if pointwise or apart:
        return kernel, stride, pad, size, inside
    return kernel, stride, pad, size, draw(st.sampled_from([max(1, min(inside, most)), most]))


@st.composite
def layers(draw: st.DrawFn, op: Op, handed_through: bool = False) -> Node:
    """Draw a layer; the windows of a pool that errors are handed through lie apart and inside the image."""
    axes = [draw(_axes(op is Op.POINTWISE, op in POOLS and handed_through)) for _ in range(2)]
    kernel, stride, pad, (height, width), out = ((down, across) for down, across in zip(*axes, strict=True))
    shape = height, width, draw(st.integers(1, 20))
    outputs = draw(st.integers(1, 21)) if op in (Op.CONV2D, Op.POINTWISE, Op.FULLY_CONNECTED) else shape[2]
    if op in (Op.ADD, Op.FULLY_CONNECTED):
        kernel = stride = pad = (0, 0)
        out = shape[:2] if op is Op.ADD else (1, 1)
    of_weights = {
        Op.CONV2D: (outputs, *kernel, shape[2]),
        Op.POINTWISE: (outputs, 1, 1, shape[2]),
        Op.DEPTHWISE: (*kernel, outputs),
        Op.FULLY_CONNECTED: (outputs, height * width * shape[2]),
    }.get(op)
    own = None if of_weights is None else Float32Parameters(draw(trained(of_weights)), draw(trained((outputs,))))
    low, high = LIMITS[0] if op in POOLS else draw(st.sampled_from(LIMITS))
    reads = (0, 1) if op is Op.ADD else (0,)
    return Float32Node("layer", op, reads, shape, (*out, outputs), kernel, stride, pad, 0, low, high, own=own)
