"""Does the integer backward pass point down the slope? Numeric differentiation of the same network in double precision says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from hil.training.graph.chain import bfp8_node, chain
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.reference.methods.elasticzo_int8 import ElasticZoInt8Reference

LARGEST = 64  # weights stay clear of 127, so that no update is clipped
BITS = 6
CLASSES = 5


def network(rng: np.random.Generator) -> Graph:
    """conv2d, relu, max_pool, fully connected; exponents as Xavier's initial weights have them."""

    def drawn(*shape: int, fan: int) -> tuple[np.ndarray, int]:
        return rng.integers(-LARGEST, LARGEST + 1, shape).astype(np.int8), math.ceil(math.log2(math.sqrt(6 / fan))) - 6

    conv, conv_exp = drawn(3, 3, 3, 2, fan=45)
    fc, fc_exp = drawn(CLASSES, 48, fan=53)
    return chain(
        (
            bfp8_node("conv1", Op.CONV2D, (8, 8, 2), (8, 8, 3), (3, 3), (1, 1), (1, 1), conv, conv_exp),
            bfp8_node("relu1", Op.RELU, (8, 8, 3), (8, 8, 3)),
            bfp8_node("pool1", Op.MAX_POOL, (8, 8, 3), (4, 4, 3), (2, 2), (2, 2)),
            bfp8_node("fc1", Op.FULLY_CONNECTED, (4, 4, 3), (1, 1, CLASSES), weights=fc, weight_exp=fc_exp),
        ),
        CLASSES,
    )


def loss(conv: np.ndarray, fc: np.ndarray, x: np.ndarray, label: int) -> float:
    """The float analogue: real weights, real activations, nothing rounded."""
    padded = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    windows = sliding_window_view(padded, (3, 3), axis=(0, 1))  # height, width, channel, kernel
    y = np.maximum(np.einsum("hwcij,oijc->hwo", windows, conv), 0)
    pooled = y.reshape(4, 2, 4, 2, 3).max(axis=(1, 3))
    logits = fc @ pooled.ravel()
    return float(np.log(np.exp(logits - logits.max()).sum()) + logits.max() - logits[label])


def numeric_gradient(conv: np.ndarray, fc: np.ndarray, x: np.ndarray, label: int, of: np.ndarray) -> np.ndarray:
    """Central differences in the entries of `of`, which is `conv` or `fc` itself."""
    gradient, h = np.zeros(of.size), 1e-5
    flat = of.reshape(-1)
    for i in range(of.size):
        kept = flat[i]
        flat[i] = kept + h
        up = loss(conv, fc, x, label)
        flat[i] = kept - h
        gradient[i] = (up - loss(conv, fc, x, label)) / (2 * h)
        flat[i] = kept
    return gradient


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("seed", range(8))
def test_updates_go_down_the_slope(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = network(rng)
    image = rng.integers(0, 256, (1, 8, 8, 2)).astype(np.uint8)
    conv, fc = (layer.weights * 2.0**layer.weight_exp for layer in graph.trained)
    x = (image[0] >> 1) * 2.0**-7
    label = int(np.argmax([loss(conv, fc, x, y) for y in range(CLASSES)]))  # the least likely: the slope is steep
    method = ElasticZoInt8Reference(graph, ElasticZoSettings(partition=0, b_bp=BITS, batch=1))
    method.step(image, np.array([label]))
    for layer, after, of in zip(graph.trained, method.weights, (conv, fc), strict=True):
        update = layer.weights.astype(float).ravel() - after.astype(float).ravel()
        assert 0 < np.abs(update).max() < 2**BITS
        assert cosine(update, numeric_gradient(conv, fc, x, label, of)) > 0.9, layer.name
