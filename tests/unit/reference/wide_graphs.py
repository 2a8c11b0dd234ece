"""Small images with many channels, for the C of `tflite8`: its blocks of channels and positions, whole and in part."""

from __future__ import annotations

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph

from .drawn_graphs import Builder

CHANNELS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 23, 24, 25, 32, 40)
WITH_KERNEL = (Op.CONV2D, Op.DEPTHWISE, Op.MAX_POOL, Op.AVERAGE_POOL)
OPS = (*WITH_KERNEL, Op.POINTWISE, Op.FULLY_CONNECTED, Op.ADD)


def _one_more(builder: Builder, op: Op, rng: np.random.Generator) -> None:
    height, width, channels = builder.shape
    outputs = int(rng.choice(CHANNELS)) if op in (Op.CONV2D, Op.POINTWISE, Op.FULLY_CONNECTED) else channels
    if op is Op.ADD:
        builder.append(Op.POINTWISE, builder.shape, (1, 1), 1)
        builder.append_add(len(builder.layers) - 1)
    elif op is Op.POINTWISE:
        builder.append(op, (height, width, outputs), (1, 1), 1)
    elif op is Op.FULLY_CONNECTED:
        builder.append(op, (1, 1, outputs))
    else:
        sides = height, width
        kernel = int(rng.integers(1, min(5, height) + 1)), int(rng.integers(1, min(5, width) + 1))
        stride = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        pad = int(rng.integers(0, kernel[0])), int(rng.integers(0, kernel[1]))
        out = [int(rng.integers(1, (n + p - 1) // s + 2)) for n, p, s in zip(sides, pad, stride, strict=True)]
        builder.append_window(op, (out[0], out[1], outputs), kernel, stride, pad)


def wide_graph(rng: np.random.Generator, op: Op, others: int = 2) -> Graph:
    """Return a graph with a layer of this operation, up to so many others, and a last fully connected one.

    Each window has its own kernel, stride and padding by axis, each layer its own rounding.
    """
    shape = int(rng.integers(1, 10)), int(rng.integers(1, 10)), int(rng.choice(CHANNELS))
    builder = Builder(rng, shape, str(rng.choice(["double", "single"])), int(rng.integers(2, 20)))
    _one_more(builder, op, rng)
    for _ in range(int(rng.integers(0, others + 1))):
        builder.rounding = str(rng.choice(["double", "single"]))
        _one_more(builder, Op(int(rng.choice(OPS))), rng)
    builder.append(Op.FULLY_CONNECTED, (1, 1, builder.classes))
    return builder.graph
