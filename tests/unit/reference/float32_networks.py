"""The networks, samples and settings of docs/arithmetic-float32.md, section 13, built from its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from hil.training.graph.formats import LARGEST_FLOAT, Op, Shape, named
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Node, Float32Parameters, Node
from hil.training.methods.elasticzo_settings import Fp32Settings

LIMITS = {"none": (-LARGEST_FLOAT, LARGEST_FLOAT), "relu": (0.0, LARGEST_FLOAT), "relu6": (0.0, 6.0)}
CLASSES = 3


def drawn(tensor: int, shape: Sequence[int]) -> np.ndarray:
    """Return a trained tensor by its index."""
    i = np.arange(prod(shape))
    return ((((5 * i + 3 * tensor + 2) % 11) - 5) / 8).astype(np.float32).reshape(shape)


class Maker:
    """A graph under construction: tensors are numbered input to output."""

    def __init__(self, in_shape: Shape, scale: float, zero: int) -> None:
        self.nodes: list[Node] = []
        self._shapes, self._tensors = [in_shape], 0
        self._scale, self._zero = scale, zero

    def add(
        self,
        op: Op,
        out: Shape,
        kernel: int = 0,
        stride: int = 0,
        pad: int = 0,
        activation: str = "none",
        reads: tuple[int, ...] = (),
    ) -> None:
        """Append a layer, which reads the value before it if nothing else is said."""
        reads = reads or (len(self.nodes),)
        inside, own = self._shapes[reads[0]], None
        shape = {
            Op.CONV2D: (out[2], kernel, kernel, inside[2]),
            Op.POINTWISE: (out[2], 1, 1, inside[2]),
            Op.DEPTHWISE: (kernel, kernel, out[2]),
            Op.FULLY_CONNECTED: (out[2], prod(inside)),
        }.get(op)
        if shape is not None:
            own = Float32Parameters(drawn(self._tensors, shape), drawn(self._tensors + 1, out[2:]))
            self._tensors += 2
        self.nodes.append(
            Float32Node(
                "", op, reads, inside, out, (kernel, kernel), (stride, stride), (pad, pad), int(own is not None),
                *LIMITS[activation],
                own=own,
            )
        )  # fmt: skip
        self._shapes.append(out)

    def graph(self) -> Graph:
        """Return the graph."""
        names = named([node.op for node in self.nodes])
        nodes = tuple(replace(node, name=name) for node, name in zip(self.nodes, names, strict=True))
        return Graph("drawn", nodes, self._shapes[0], CLASSES, self._scale, self._zero)


def network_a() -> Graph:
    """Return network A."""
    net = Maker((6, 6, 1), float.fromhex("0x1.010102p-8"), -128)
    net.add(Op.CONV2D, (6, 6, 2), 3, 1, 1, "relu")
    net.add(Op.MAX_POOL, (3, 3, 2), 2, 2)
    net.add(Op.FULLY_CONNECTED, (1, 1, CLASSES))
    return net.graph()


def network_b() -> Graph:
    """Return network B."""
    net = Maker((4, 4, 2), 2.0**-7, 0)
    net.add(Op.POINTWISE, (4, 4, 4), 1, 1, 0, "relu6")
    net.add(Op.DEPTHWISE, (4, 4, 4), 3, 1, 1, "relu")
    net.add(Op.POINTWISE, (4, 4, 4), 1, 1, 0)
    net.add(Op.ADD, (4, 4, 4), reads=(3, 1))
    net.add(Op.CONV2D, (2, 2, 3), 3, 2, 1, "relu")
    net.add(Op.AVERAGE_POOL, (1, 1, 3), 2, 2)
    net.add(Op.FULLY_CONNECTED, (1, 1, CLASSES))
    return net.graph()


def samples(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return the two samples and their labels."""
    i, b = np.arange(prod(graph.in_shape)), np.arange(2)
    pixels = (31 * i + 17 * b[:, None] + 5) % 256
    return pixels.astype(np.uint8).reshape(2, *graph.in_shape), b.astype(np.uint8)


def settings(partition: int) -> Fp32Settings:
    """Return the settings of the steps."""
    return Fp32Settings(partition=partition, epsilon=0.001, eta=0.05, g_clip=2.0, batch=2, seed=1)
