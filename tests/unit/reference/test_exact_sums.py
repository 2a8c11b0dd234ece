"""Sums of products that outgrow the mantissa of float32, against Python integers: odd ones, so that a lost last bit shows."""

from __future__ import annotations

import numpy as np
import pytest

from hil.training.graph.chain import bfp8_node
from hil.training.graph.formats import Op
from hil.training.graph.node import Node
from hil.training.reference.formats.bfp8 import layers
from hil.training.reference.gradient import convolution_gradients
from tests.oracle import layers as plain
from tests.oracle.numbers import Tensor

MANTISSA = 2**24


def extreme(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return int8 values close to +127, so that sums grow and their low bits vary."""
    return rng.integers(121, 128, shape).astype(np.int8)


def fully_connected(rng: np.random.Generator, inputs: int, outputs: int) -> Node:
    weights = extreme(rng, outputs, inputs)
    return bfp8_node("fc1", Op.FULLY_CONNECTED, (1, 1, inputs), (1, 1, outputs), weights=weights, weight_exp=-9)


def conv2d(rng: np.random.Generator, side: int, channels: int, outputs: int) -> Node:
    weights, shape = extreme(rng, outputs, 3, 3, channels), (side, side, channels)
    return bfp8_node(
        "conv1", Op.CONV2D, shape, (side, side, outputs), (3, 3), (1, 1), (1, 1), weights=weights, weight_exp=-9
    )


def flat(array: np.ndarray) -> list[int]:
    return [int(value) for value in array.ravel()]


@pytest.mark.parametrize("inputs", [1000, 1201, 3001])
def test_forward_sums(monkeypatch: pytest.MonkeyPatch, inputs: int) -> None:
    rng = np.random.default_rng(inputs)
    layer, x = fully_connected(rng, inputs, 3), extreme(rng, 1, 1, inputs, 2)
    sums: list[np.ndarray] = []
    monkeypatch.setattr(layers, "requantize", lambda acc, exponents, together: (sums.append(acc), exponents))
    layers.forward(layer, layer.weights, x, np.array([-7, -7]), together=False)
    exact = [[sum(a * b for a, b in zip(flat(row), flat(w), strict=True)) for w in layer.weights] for row in x[0, 0].T]
    assert sums[0].reshape(3, 2).T.tolist() == exact
    assert inputs == 1000 or max(map(max, exact)) > MANTISSA


@pytest.mark.parametrize("kind", ["conv2d", "fully_connected"])
def test_sums_of_the_input_error(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    rng = np.random.default_rng(5)
    layer = conv2d(rng, 3, 2, 150) if kind == "conv2d" else fully_connected(rng, 3, 1301)
    error = extreme(rng, *layer.out_shape, 1)
    sums: list[np.ndarray] = []
    monkeypatch.setattr(layers, "requantize", lambda acc, exponents, together: (sums.append(acc), exponents))
    layers.input_error(layer, layer.weights, (error, np.array([-7])), error, error, together=False)
    exact, weights, errors = [0] * layer.in_size, flat(layer.weights), flat(error)
    for o, w, i in plain.taps(layer):
        exact[i] += weights[w] * errors[o]
    assert sums[0].ravel().tolist() == exact
    assert max(exact) > MANTISSA


def test_sums_of_the_weight_gradient() -> None:
    rng = np.random.default_rng(6)
    layer = conv2d(rng, 37, 1, 2)
    x, error = extreme(rng, *layer.in_shape, 2), extreme(rng, *layer.out_shape, 2)
    got = convolution_gradients(layer, error, x)
    for sample in range(2):
        source, back = Tensor(flat(x[..., sample]), 0), Tensor(flat(error[..., sample]), 0)
        exact = plain.weight_gradient(layer, source, back)
        assert got[sample].tolist() == exact.values
        assert max(exact.values) > MANTISSA
