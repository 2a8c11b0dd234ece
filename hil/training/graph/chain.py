"""Networks that are chains: each layer reads the output of the one before it (docs/network.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hil.training.graph.formats import CHAINS, Op, Shape
from hil.training.graph.graph import Graph
from hil.training.graph.node import ChainNode, ChainParameters


def bfp8_node(
    name: str,
    op: Op,
    in_shape: Shape,
    out_shape: Shape,
    kernel: tuple[int, int] = (0, 0),
    stride: tuple[int, int] = (0, 0),
    pad: tuple[int, int] = (0, 0),
    weights: np.ndarray | None = None,
    weight_exp: int = 0,
) -> ChainNode:
    """Return a node in `bfp8`; `chain` says what it reads."""
    own = None if weights is None else ChainParameters(weights, weight_exp)
    block = 0 if own is None else 1
    return ChainNode(name, op, (0,), in_shape, out_shape, kernel, stride, pad, block, own)


def chain(layers: Sequence[ChainNode], classes: int, input_exp: int | None = None, name: str = "network") -> Graph:
    """Return a network whose nodes each read the output of the one before; the input's exponent is the format's."""
    if input_exp is None:
        input_exp = CHAINS[layers[0].format].input_exponent
    reading = tuple(replace(layer, reads=(index,)) for index, layer in enumerate(layers))
    return Graph(name, reading, reading[0].in_shape, classes, 2.0**input_exp, 0)
