"""A layer graph in TFLite's int8 convention (docs/network-tflite.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from math import prod

import numpy as np

Shape = tuple[int, int, int]  # height, width, channels


class GraphOp(IntEnum):
    """The operation of a layer, numbered as in the network file."""

    CONV2D = 1
    FULLY_CONNECTED = 2
    MAX_POOL = 4
    DEPTHWISE = 5
    POINTWISE = 6
    AVERAGE_POOL = 7
    ADD = 8


POOLS = (GraphOp.MAX_POOL, GraphOp.AVERAGE_POOL)

KIND = {
    GraphOp.CONV2D: "conv",
    GraphOp.FULLY_CONNECTED: "fc",
    GraphOp.MAX_POOL: "pool",
    GraphOp.DEPTHWISE: "dw",
    GraphOp.POINTWISE: "pw",
    GraphOp.AVERAGE_POOL: "mean",
    GraphOp.ADD: "add",
}


def named(ops: Sequence[GraphOp]) -> list[str]:
    """Return the names of layers in order, numbered by kind: conv1, dw1, pw1, add1, ..."""
    seen: dict[GraphOp, int] = {}
    names = []
    for op in ops:
        seen[op] = seen.get(op, 0) + 1
        names.append(f"{KIND[op]}{seen[op]}")
    return names


@dataclass(frozen=True, eq=False)
class Parameters:
    """What a layer with weights has, by output channel.

    Attributes:
        weights: int8, [out, kh, kw, in] (conv2d, pointwise), [kh, kw, c] (depthwise) or [out, in] (fully_connected).
        bias: int32 [out], scale `s_x * s_w`.
        multiplier: int32 [out], 2^30..2^31 - 1.
        shift: int8 [out], -31..30.
        scale: float32 [out], s_w.
    """

    weights: np.ndarray
    bias: np.ndarray
    multiplier: np.ndarray
    shift: np.ndarray
    scale: np.ndarray


@dataclass(frozen=True)
class AddFactors:
    """Multipliers and shifts of an add: of its first input, its second, its output (docs/arithmetic-zeroth-order.md, section 1)."""

    multipliers: tuple[int, int, int]
    shifts: tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class GraphLayer:
    """One layer; `reads` are the values it takes: one, or the two of an add.

    Attributes:
        name: `conv1`, `dw1`, `pw1`, `fc1`, `pool1`, `mean1`, `add1`, ... by kind.
        op: the operation.
        reads: 0 is the network's input, v the output of layer v - 1.
        in_shape, out_shape: height, width, channels.
        kernel, stride, pad: of the windows; (0, 0), 0 and 0 where there are none.
        block: of sparse training, 1..4; 0 without weights.
        act_min, act_max: limits of the output.
        scale, zero: of the output; the scale is a binary32 number.
        own: weights and what goes with them; None where there are none.
        factors: of an add, else None.
    """

    name: str
    op: GraphOp
    reads: tuple[int, ...]
    in_shape: Shape
    out_shape: Shape
    kernel: tuple[int, int] = (0, 0)
    stride: int = 0
    pad: int = 0
    block: int = 0
    act_min: int = -128
    act_max: int = 127
    scale: float = 1.0
    zero: int = 0
    own: Parameters | None = None
    factors: AddFactors | None = None

    @property
    def in_size(self) -> int:
        """Elements of the (first) input."""
        return prod(self.in_shape)

    @property
    def out_size(self) -> int:
        """Elements of the output."""
        return prod(self.out_shape)

    @property
    def channels(self) -> int:
        """Output channels of a layer with weights, else 0."""
        return 0 if self.own is None else self.out_shape[2]

    @property
    def weights(self) -> int:
        """How many weights it has."""
        return 0 if self.own is None else int(self.own.weights.size)

    @property
    def taps(self) -> int:
        """Products behind one output."""
        return self.weights // self.channels if self.channels else 0

    @property
    def macs(self) -> int:
        """Multiply-accumulates of a forward pass, padded taps counted."""
        return self.taps * self.out_size


@dataclass(frozen=True, eq=False)
class Graph:
    """Layers in the order in which they run.

    Attributes:
        name: of the network.
        layers: 1..64 of them; the last is fully_connected and gives the logits.
        in_shape: of the network's input.
        classes: 2..256.
        scale, zero: of the input; the scale is a binary32 number.
        rounding: `double` or `single`.
    """

    name: str
    layers: tuple[GraphLayer, ...]
    in_shape: Shape
    classes: int
    scale: float = float(np.float32(1 / 255))
    zero: int = -128
    rounding: str = "double"

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one forward pass."""
        return sum(layer.macs for layer in self.layers)

    def scale_of(self, value: int) -> float:
        """Return the scale of a value."""
        return self.scale if value == 0 else self.layers[value - 1].scale

    def zero_of(self, value: int) -> int:
        """Return the zero point of a value."""
        return self.zero if value == 0 else self.layers[value - 1].zero

    def last_use(self, value: int) -> int:
        """Return the last layer that reads a value; the number of layers for the logits."""
        return self._last_readers.get(value, len(self.layers))

    @cached_property
    def _last_readers(self) -> dict[int, int]:
        return {value: index for index, layer in enumerate(self.layers) for value in layer.reads}

    def with_parameters(self, own: Mapping[int, tuple[np.ndarray, np.ndarray]]) -> Graph:
        """Return the same graph with other weights and biases for some layers: index -> (int8, int32), in their shapes."""
        layers = list(self.layers)
        for index, (weights, bias) in own.items():
            old = layers[index].own
            assert old is not None
            layers[index] = replace(layers[index], own=replace(old, weights=weights, bias=bias))
        return replace(self, layers=tuple(layers))
