"""The networks and samples of the test vectors in docs/arithmetic-tinytrain.md, section 10."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np

from hil.training.graph.formats import KIND, POOLS, Op, Shape
from hil.training.graph.graph import Graph
from hil.training.graph.node import AddFactors, Node, Parameters, Tflite8Node, Tflite8Parameters
from reference.oracle_graphs import weights_shape

WHOLE = (-128, 127)


@dataclass
class Builder:
    """A graph that grows layer by layer. Scales of values are powers of two, so multipliers are exact.

    Attributes:
        in_shape: of the input.
        power: the scale of the input is 2 to this power.
        zero: of the input.
    """

    in_shape: Shape
    power: int
    zero: int
    layers: list[Node] = field(default_factory=list)
    powers: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.powers.append(self.power)

    @property
    def graph(self) -> Graph:
        """The graph so far."""
        last = self.layers[-1].out_shape[2]
        return Graph("text", tuple(self.layers), self.in_shape, last, 2.0**self.power, self.zero)

    def append(
        self,
        op: Op,
        out_shape: Shape,
        power: int = 0,
        zero: int = 0,
        limits: tuple[int, int] = WHOLE,
        window: tuple[int, int, int] = (0, 0, 0),
        reads: tuple[int, ...] | None = None,
        q: int = 0,
        block: int = 0,
    ) -> Builder:
        """Append a layer; `power` is that of the output's scale, `window` side of the kernel, stride and padding.

        The scales of the weights are (4, 5, 6, 4, ...) * 2^-q.
        """
        index, read = len(self.layers), (len(self.layers),) if reads is None else reads
        in_shape = self.in_shape if read[0] == 0 else self.layers[read[0] - 1].out_shape
        kernel, own, factors = (window[0], window[0]), None, None
        if op in POOLS:
            power, zero = self.powers[read[0]], self.layers[read[0] - 1].zero
        elif op is Op.ADD:
            factors = self._add_factors(read, power)
        else:
            own = self._parameters(index, weights_shape(op, in_shape, out_shape, kernel), read[0], power, q)
        name = f"{KIND[op]}{1 + sum(layer.op is op for layer in self.layers)}"
        self.layers.append(
            Tflite8Node(name, op, read, in_shape, out_shape, kernel, (window[1],) * 2, (window[2],) * 2, block, *limits, 2.0**power, zero, own, factors)
        )  # fmt: skip
        self.powers.append(power)
        return self

    def _parameters(self, index: int, shape: tuple[int, ...], read: int, power: int, q: int) -> Parameters:
        outputs = shape[-1] if len(shape) == 3 else shape[0]
        steps = 4 + np.arange(outputs) % 3
        weights = (37 * np.arange(prod(shape)) + 11 * index + 5) % 253 - 126
        bias = ((3 * np.arange(outputs) + 2 * index + 1) % 5 - 1) * 2**9
        shift = 3 + self.powers[read] - q - power
        return Tflite8Parameters(
            weights.reshape(shape).astype(np.int8),
            bias.astype(np.int32),
            (steps * 2**28).astype(np.int32),
            np.full(outputs, shift, np.int8),
            (steps * 2.0**-q).astype(np.float32),
        )

    def _add_factors(self, read: tuple[int, ...], power: int) -> AddFactors:
        """Return exact factors: of the inputs to twice the larger scale, and from there to the output."""
        largest = max(self.powers[value] for value in read) + 1
        shifts = [self.powers[value] - largest + 1 for value in read]
        return AddFactors((2**30,) * 3, (shifts[0], shifts[1], largest - 20 - power + 1))


def network_a() -> Graph:
    """Return network A."""
    builder = Builder((6, 6, 1), -8, -128)
    builder.append(Op.CONV2D, (6, 6, 4), -6, -128, window=(3, 1, 1), q=9, block=1)
    builder.append(Op.MAX_POOL, (3, 3, 4), window=(2, 2, 0))
    return builder.append(Op.FULLY_CONNECTED, (1, 1, 3), -5, 0, q=10, block=4).graph


def network_b() -> Graph:
    """Return network B."""
    builder = Builder((4, 4, 2), -6, 0)
    builder.append(Op.POINTWISE, (4, 4, 4), -5, -60, (-60, 127), (1, 1, 0), q=9, block=1)
    builder.append(Op.DEPTHWISE, (4, 4, 4), -5, -100, (-100, 60), (3, 1, 1), q=8, block=2)
    builder.append(Op.POINTWISE, (4, 4, 4), -5, 5, window=(1, 1, 0), q=9, block=2)
    builder.append(Op.ADD, (4, 4, 4), -4, -10, reads=(3, 1))
    builder.append(Op.CONV2D, (2, 2, 6), -4, -128, window=(3, 2, 1), q=9, block=3)
    builder.append(Op.AVERAGE_POOL, (1, 1, 6), window=(2, 2, 0))
    return builder.append(Op.FULLY_CONNECTED, (1, 1, 3), -4, 0, q=9, block=4).graph


def samples(graph: Graph, count: int = 3) -> tuple[np.ndarray, list[int]]:
    """Return the first samples: uint8 images and labels."""
    size = prod(graph.in_shape)
    images = [[(i * i * (b + 3) + 31 * i + 57 * b + 5) % 256 for i in range(size)] for b in range(count)]
    return np.array(images, np.uint8).reshape(count, *graph.in_shape), [2 * b % 3 for b in range(count)]
