"""Small images with many channels, for the C of `tflite8`: its blocks of channels and positions, whole and in part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hil.graph.graph import Graph, Op

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
        kernel = int(rng.integers(1, min(5, height) + 1)), int(rng.integers(1, min(5, width) + 1))
        stride, pad = int(rng.integers(1, 4)), int(rng.integers(0, min(kernel)))
        out = [
            min((n + pad - 1) // stride + 1, (n + 2 * pad - k + 1) // stride + 1)
            for n, k in zip((height, width), kernel, strict=True)
        ]
        builder.append(op, (out[0], out[1], outputs), kernel, stride, pad)


def wide_graph(rng: np.random.Generator, op: Op, others: int = 2) -> Graph:
    """Return a graph with a layer of this operation, up to so many others, and a last fully connected one."""
    shape = int(rng.integers(1, 10)), int(rng.integers(1, 10)), int(rng.choice(CHANNELS))
    builder = Builder(rng, shape, str(rng.choice(["double", "single"])), int(rng.integers(2, 20)))
    _one_more(builder, op, rng)
    for _ in range(int(rng.integers(0, others + 1))):
        _one_more(builder, Op(int(rng.choice(OPS))), rng)
    builder.append(Op.FULLY_CONNECTED, (1, 1, builder.classes))
    return builder.graph


def by_axes(op: Op, rng: np.random.Generator) -> tuple[Graph, tuple[int, int]]:
    """Return a graph whose first layer has a stride of 1 and as much padding as its kernel allows, and that kernel."""
    height, width = (int(n) for n in rng.integers(2, 9, 2))
    builder = Builder(rng, (height, width, int(rng.choice(CHANNELS))), str(rng.choice(["double", "single"])), 3)
    kernel = int(rng.integers(1, min(5, height) + 1)), int(rng.integers(1, min(5, width) + 1))
    pad = min(kernel) - 1
    outputs = int(rng.choice(CHANNELS)) if op is Op.CONV2D else builder.shape[2]
    out = height + 2 * pad - kernel[0] + 1, width + 2 * pad - kernel[1] + 1
    builder.append(op, (*out, outputs), kernel, 1, pad)
    builder.append(Op.FULLY_CONNECTED, (1, 1, builder.classes))
    return builder.graph, kernel


def with_rounding(graph: Graph, rounding: str) -> Graph:
    """Return the graph with another rounding."""
    return replace(graph, rounding=rounding)
