"""The networks and samples of docs/arithmetic-affine8.md, section 11, built from its words."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from hil.training.graph.affine8 import with_scales
from hil.training.graph.formats import LARGEST_FLOAT, Format, Op, Shape, named
from hil.training.graph.graph import Graph
from hil.training.graph.node import Affine8Node, Affine8Parameters, Float32Node, Float32Parameters, Node, Parameters

H = LARGEST_FLOAT
LIMITS = {"none": (-H, H), "relu": (0.0, H), "relu6": (0.0, 6.0), "hard_sigmoid": (0.0, 1.0)}
CLASSES = 3
S_W = 2.0**-8
IMAGE = float(np.float32(1 / 255)), -128
A8, F32 = Format.AFFINE8, Format.FLOAT32


class Maker:
    """A graph under construction; layers with weights are numbered input to output."""

    def __init__(self, in_shape: Shape, scale: float, zero: int, format: Format = A8) -> None:
        self.nodes: list[Node] = []
        self._shapes, self._weighted = [in_shape], 0
        self._scale, self._zero, self._format = scale, zero, format

    def add(
        self,
        op: Op,
        out: Shape,
        kernel: int = 0,
        stride: int = 0,
        pad: int = 0,
        activation: str = "none",
        reads: tuple[int, ...] = (),
        range: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Append a layer, which reads the value before it if nothing else is said; a cast goes on in `float32`."""
        if op is Op.CAST:
            self._format = F32
        reads = reads or (len(self.nodes),)
        inside, own = self._shapes[reads[0]], None
        shape = {
            Op.CONV2D: (out[2], kernel, kernel, inside[2]),
            Op.POINTWISE: (out[2], 1, 1, inside[2]),
            Op.DEPTHWISE: (kernel, kernel, out[2]),
            Op.FULLY_CONNECTED: (out[2], prod(inside)),
        }.get(op)
        if shape is not None:
            own = drawn(self._weighted, shape, out[2], self._format)
            self._weighted += 1
        kind, more = (
            (Affine8Node, dict(zip(("low", "high"), range, strict=True))) if self._format is A8 else (Float32Node, {})
        )
        act_min, act_max = LIMITS[activation]
        self.nodes.append(
            kind(
                "", op, reads, inside, out, (kernel, kernel), (stride, stride), (pad, pad), int(own is not None),
                act_min, act_max, own=own, **more,
            )
        )  # fmt: skip
        self._shapes.append(out)

    def graph(self, rounding: str = "nearest") -> Graph:
        """Return the graph."""
        names = named([node.op for node in self.nodes])
        roundings = [{"rounding": rounding} if node.format is A8 else {} for node in self.nodes]
        nodes = tuple(
            replace(node, name=name, **its) for node, name, its in zip(self.nodes, names, roundings, strict=True)
        )
        graph = Graph("drawn", nodes, self._shapes[0], CLASSES, self._scale, self._zero)
        return with_scales(graph)


def drawn(number: int, shape: tuple[int, ...], channels: int, format: Format) -> Parameters:
    """Return weights and biases of the layer of this number among those with weights."""
    i, o = np.arange(prod(shape)), np.arange(channels)
    q = ((37 * i + 11 * number + 5) % 256 - 128).reshape(shape)
    zero = 29 * number % 64 - 32
    bias = (((3 * o + 2 * number + 1) % 5 - 1) / 8).astype(np.float32)
    if format is F32:
        return Float32Parameters(((q - zero) / 256).astype(np.float32), bias)
    return Affine8Parameters(q.astype(np.int8), bias, scale=S_W, zero=zero)


def network_a(format: Format = A8, rounding: str = "nearest", cast: bool = False) -> Graph:
    """Return network A; with a cast network C."""
    net = Maker((6, 6, 1), *IMAGE, format)
    net.add(Op.CONV2D, (6, 6, 2), 3, 1, 1, "relu", range=(0.0, 1.3125))
    net.add(Op.MAX_POOL, (3, 3, 2), 2, 2)
    if cast:
        net.add(Op.CAST, (3, 3, 2))
    net.add(Op.FULLY_CONNECTED, (1, 1, CLASSES), range=(-0.0625, 0.9375))
    return net.graph(rounding)


def network_c() -> Graph:
    """Return network C."""
    return network_a(cast=True)


def network_b(format: Format = A8, rounding: str = "nearest") -> Graph:
    """Return network B."""
    net = Maker((4, 4, 2), 2.0**-5, 0, format)
    net.add(Op.POINTWISE, (4, 4, 4), 1, 1, range=(-1.8125, 3.0))
    net.add(Op.HARD_SWISH, (4, 4, 4), range=(-0.375, 2.9375))
    net.add(Op.DEPTHWISE, (4, 4, 4), 3, 1, 1, "relu6", range=(0.0, 1.6875))
    net.add(Op.AVERAGE_POOL, (1, 1, 4), 4, 4)
    net.add(Op.POINTWISE, (1, 1, 2), 1, 1, 0, "relu", range=(0.0, 0.375))
    net.add(Op.POINTWISE, (1, 1, 4), 1, 1, 0, "hard_sigmoid", range=(0.0, 0.4375))
    net.add(Op.MULTIPLY, (4, 4, 4), reads=(3, 6), range=(0.0, 0.4375))
    net.add(Op.POINTWISE, (4, 4, 4), 1, 1, range=(-0.1875, 0.375))
    net.add(Op.ADD, (4, 4, 4), reads=(8, 2), range=(-0.5, 3.1875))
    net.add(Op.CONV2D, (2, 2, 3), 3, 2, 1, "relu", range=(0.0, 2.25))
    net.add(Op.AVERAGE_POOL, (1, 1, 3), 2, 2)
    net.add(Op.FULLY_CONNECTED, (1, 1, CLASSES), range=(-0.375, 0.4375))
    return net.graph(rounding)


def samples(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return the two samples and their labels."""
    i, b = np.arange(prod(graph.in_shape)), np.arange(2)
    pixels = (31 * i + 17 * b[:, None] + 5) % 256
    return pixels.astype(np.uint8).reshape(2, *graph.in_shape), b.astype(np.uint8)
