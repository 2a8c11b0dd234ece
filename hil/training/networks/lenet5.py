"""LeNet-5 as ElasticZO trains it (section 5.1).

It has 107,550 weights without biases, 693,000 multiply-accumulates a forward pass.
"""

from __future__ import annotations

import math

import numpy as np

from hil.training.graph.chain import bfp8_node, chain
from hil.training.graph.formats import Op, Shape, named
from hil.training.graph.graph import Graph
from hil.training.graph.node import ChainNode

INPUT: Shape = (28, 28, 1)
CLASSES = 10


def lenet5(seed: int) -> Graph:
    """Return LeNet-5, its weights drawn from `seed` by Xavier uniform (docs/arithmetic.md, section 12)."""
    rng = np.random.Generator(np.random.PCG64(seed))
    plan: list[tuple[Op, Shape]] = [
        (Op.CONV2D, (28, 28, 6)), (Op.RELU, (28, 28, 6)), (Op.MAX_POOL, (14, 14, 6)),
        (Op.CONV2D, (14, 14, 16)), (Op.RELU, (14, 14, 16)), (Op.MAX_POOL, (7, 7, 16)),
        (Op.FULLY_CONNECTED, (1, 1, 120)), (Op.RELU, (1, 1, 120)),
        (Op.FULLY_CONNECTED, (1, 1, 84)), (Op.RELU, (1, 1, 84)),
        (Op.FULLY_CONNECTED, (1, 1, CLASSES)),
    ]  # fmt: skip
    layers, shape = [], INPUT
    for name, (op, out) in zip(named([op for op, _ in plan]), plan, strict=True):
        layers.append(_layer(name, op, shape, out, rng))
        shape = out
    return chain(tuple(layers), CLASSES)


def _layer(name: str, op: Op, shape: Shape, out: Shape, rng: np.random.Generator) -> ChainNode:
    if op is Op.CONV2D:
        weights, exponent = xavier((out[2], 5, 5, shape[2]), 25 * shape[2], 25 * out[2], rng)
        return bfp8_node(
            name, op, shape, out, kernel=(5, 5), stride=(1, 1), pad=(2, 2), weights=weights, weight_exp=exponent
        )
    if op is Op.FULLY_CONNECTED:
        inputs = shape[0] * shape[1] * shape[2]
        weights, exponent = xavier((out[2], inputs), inputs, out[2], rng)
        return bfp8_node(name, op, shape, out, weights=weights, weight_exp=exponent)
    if op is Op.MAX_POOL:
        return bfp8_node(name, op, shape, out, kernel=(2, 2), stride=(2, 2))
    return bfp8_node(name, op, shape, out)


def xavier(shape: tuple[int, ...], fan_in: int, fan_out: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Draw int8 weights and their exponent (docs/arithmetic.md, section 12)."""
    drawn, limit = xavier_uniform(shape, fan_in, fan_out, rng)
    return np.rint(drawn / np.abs(drawn).max() * 127).astype(np.int8), math.ceil(math.log2(limit)) - 7


def xavier_uniform(
    shape: tuple[int, ...], fan_in: int, fan_out: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Draw weights by Xavier uniform, float64; return their limit too."""
    limit = math.sqrt(6 / (fan_in + fan_out))
    return rng.uniform(-limit, limit, size=shape), limit
