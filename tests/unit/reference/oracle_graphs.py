"""Graphs for the oracles of `float32`, `w16a8` and QZO-FF: those of the texts' test vectors, and small random ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from network.in_format import in_format

from hil.training.graph.formats import KIND, POOLS, Op, Shape
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Node, Float32Parameters, Node, Tflite8Node
from reference.drawn_graphs import drawn_graph
from tests.oracle import w16a8

H = 2.0**40
NONE, RELU, RELU6 = (-H, H), (0.0, H), (0.0, 6.0)


@dataclass
class FloatBuilder:
    """A graph in `float32` that grows layer by layer; weights are those of docs/arithmetic-float32.md, section 13."""

    in_shape: Shape
    scale: float
    zero: int
    layers: list[Node] = field(default_factory=list)

    @property
    def graph(self) -> Graph:
        """The graph so far."""
        return Graph("text", tuple(self.layers), self.in_shape, self.layers[-1].out_shape[2], self.scale, self.zero)

    def append(
        self,
        op: Op,
        out_shape: Shape,
        limits: tuple[float, float] = NONE,
        window: tuple[int, int, int] = (0, 0, 0),
        reads: tuple[int, ...] | None = None,
    ) -> FloatBuilder:
        """Append a layer; `window` is the side of the kernel, stride and padding."""
        reads = (len(self.layers),) if reads is None else reads
        in_shape = self.in_shape if reads[0] == 0 else self.layers[reads[0] - 1].out_shape
        kernel, own = (window[0], window[0]), None
        if op not in (*POOLS, Op.ADD):
            shape = weights_shape(op, in_shape, out_shape, kernel)
            tensor = 2 * sum(layer.own is not None for layer in self.layers)
            own = Float32Parameters(given(tensor, int(np.prod(shape))).reshape(shape), given(tensor + 1, out_shape[2]))
        name = f"{KIND[op]}{1 + sum(layer.op is op for layer in self.layers)}"
        block = 0 if own is None else 1
        self.layers.append(
            Float32Node(name, op, reads, in_shape, out_shape, kernel, (window[1],) * 2, (window[2],) * 2, block, *limits, own=own)
        )  # fmt: skip
        return self


def weights_shape(op: Op, in_shape: Shape, out_shape: Shape, kernel: tuple[int, int]) -> tuple[int, ...]:
    """Return the shape of a layer's weights."""
    if op is Op.FULLY_CONNECTED:
        return out_shape[2], int(np.prod(in_shape))
    return (*kernel, out_shape[2]) if op is Op.DEPTHWISE else (out_shape[2], *kernel, in_shape[2])


def given(tensor: int, count: int) -> np.ndarray:
    """Return the elements of a trained tensor of the text's networks."""
    return np.array([((5 * i + 3 * tensor + 2) % 11 - 5) / 8 for i in range(count)], np.float32)


def network_a() -> Graph:
    """Return network A of docs/arithmetic-float32.md, section 13."""
    builder = FloatBuilder((6, 6, 1), float(np.float32(1 / 255)), -128)
    builder.append(Op.CONV2D, (6, 6, 2), RELU, (3, 1, 1)).append(Op.MAX_POOL, (3, 3, 2), window=(2, 2, 0))
    return builder.append(Op.FULLY_CONNECTED, (1, 1, 3)).graph


def network_b() -> Graph:
    """Return network B of docs/arithmetic-float32.md, section 13."""
    builder = FloatBuilder((4, 4, 2), 2.0**-7, 0)
    builder.append(Op.POINTWISE, (4, 4, 4), RELU6, (1, 1, 0))
    builder.append(Op.DEPTHWISE, (4, 4, 4), RELU, (3, 1, 1))
    builder.append(Op.POINTWISE, (4, 4, 4), window=(1, 1, 0))
    builder.append(Op.ADD, (4, 4, 4), reads=(3, 1))
    builder.append(Op.CONV2D, (2, 2, 3), RELU, (3, 2, 1)).append(Op.AVERAGE_POOL, (1, 1, 3), window=(2, 2, 0))
    return builder.append(Op.FULLY_CONNECTED, (1, 1, 3)).graph


def text_samples(graph: Graph) -> tuple[np.ndarray, list[int]]:
    """Return the two samples of docs/arithmetic-float32.md, section 13."""
    count = int(np.prod(graph.in_shape))
    images = [[(31 * i + 17 * b + 5) % 256 for i in range(count)] for b in (0, 1)]
    return np.array(images, np.uint8).reshape(2, *graph.in_shape), [0, 1]


def drawn_float32(rng: np.random.Generator, apart: bool = True) -> Graph:
    """Return a small random graph in `float32` with the layers of `drawn_graph`."""
    graph = drawn_graph(rng, apart=apart)
    layers = tuple(_in_float32(layer, rng) for layer in graph.layers)
    return replace(graph, layers=layers, scale=float(np.float32(rng.uniform(0.001, 0.02))))


def _in_float32(layer: Node, rng: np.random.Generator) -> Node:
    low, high = NONE
    if layer.op not in POOLS and layer.act_min != -128:
        low, high = 0.0, H if layer.act_max == 127 else float(np.float32(rng.uniform(0.5, 6)))
    own = None
    if layer.own is not None:
        size = float(rng.choice([0.1, 0.5, 2]))
        parts: Sequence[np.ndarray] = (layer.own.weights, layer.own.bias)
        own = Float32Parameters(*(rng.normal(0, size, part.shape).astype(np.float32) for part in parts))
    return in_format(Float32Node, layer, act_min=low, act_max=high, own=own)


def two_layers() -> Graph:
    """Return the network of docs/arithmetic-w16a8.md, section 7, without its weights."""
    first = Tflite8Node("fc1", Op.FULLY_CONNECTED, (0,), (2, 2, 1), (1, 1, 3), scale=2.0**-7, zero=-128)
    last = Tflite8Node("fc2", Op.FULLY_CONNECTED, (1,), (1, 1, 3), (1, 1, 2), scale=2.0**-5, zero=3)
    return Graph("text", (first, last), (2, 2, 1), 2)


def own_of_text() -> list[w16a8.Own | None]:
    """Return the weights of that network."""
    first = [9000, -12000, 30000, 500, -20000, 15000, 8000, -7000, 4000, 22000, -32256, 11000]
    last = [30000, -9000, 12000, -25000, 18000, -6000]
    return [
        w16a8.Own(first, [100000, -50000, 0], np.float32(2.0**-15), 1077952640, -15),
        w16a8.Own(last, [0, 30000], np.float32(2.0**-14), 2**30, -15),
    ]
