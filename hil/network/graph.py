"""A quantized layer graph: a chain of layers, some of them with int8 weights and a fixed exponent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

Shape = tuple[int, int, int]  # height, width, channels


class Op(IntEnum):
    """The operation of a layer, numbered as in the network file (docs/network.md)."""

    CONV2D = 1
    FULLY_CONNECTED = 2
    RELU = 3
    MAX_POOL = 4


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer.

    Attributes:
        name: `conv1`, `fc1`, `relu1`, `pool1`, ... by kind.
        op: the operation.
        kernel: height and width (conv2d, max_pool; else 0, 0).
        stride: 1 for conv2d, the kernel's for max_pool, else 0.
        pad: zero padding on every side (conv2d).
        in_shape, out_shape: height, width, channels.
        weights: int8, [out, kh, kw, in] or [out, in]; None where the layer has none.
        weight_exp: exponent of the weights.
        weight_offset: offset of the weights in the network file.
    """

    name: str
    op: Op
    in_shape: Shape
    out_shape: Shape
    kernel: tuple[int, int] = (0, 0)
    stride: int = 0
    pad: int = 0
    weights: np.ndarray | None = None
    weight_exp: int = 0
    weight_offset: int = 0

    @property
    def in_size(self) -> int:
        """Elements of the input."""
        return self.in_shape[0] * self.in_shape[1] * self.in_shape[2]

    @property
    def out_size(self) -> int:
        """Elements of the output."""
        return self.out_shape[0] * self.out_shape[1] * self.out_shape[2]

    @property
    def macs(self) -> int:
        """Multiply-accumulates of a forward pass, padded taps counted."""
        if self.weights is None:
            return 0
        return int(self.weights.size) * self.out_shape[0] * self.out_shape[1]


@dataclass(frozen=True, eq=False)
class Network:
    """A chain of layers; each takes the output of the one before."""

    layers: tuple[Layer, ...]
    classes: int
    input_exp: int = -7

    @property
    def in_shape(self) -> Shape:
        """Height, width and channels of the input."""
        return self.layers[0].in_shape

    @property
    def trained(self) -> tuple[Layer, ...]:
        """The layers with weights, input to output: the trained tensors."""
        return tuple(layer for layer in self.layers if layer.weights is not None)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one forward pass."""
        return sum(layer.macs for layer in self.layers)

    def first_bp(self, partition: int) -> int:
        """Return the index of the first layer that back-propagation trains; the number of layers if there is none."""
        with_weights = [index for index, layer in enumerate(self.layers) if layer.weights is not None]
        return with_weights[partition] if partition < len(with_weights) else len(self.layers)

    def with_weights(self, weights: Sequence[np.ndarray]) -> Network:
        """Return the same graph with other weights (int8, one array a trained tensor)."""
        left = iter(weights)
        layers = tuple(
            layer
            if layer.weights is None
            else replace(layer, weights=np.asarray(next(left), np.int8).reshape(layer.weights.shape))
            for layer in self.layers
        )
        return replace(self, layers=layers)


KIND = {Op.CONV2D: "conv", Op.FULLY_CONNECTED: "fc", Op.RELU: "relu", Op.MAX_POOL: "pool"}


def named(ops: Sequence[Op]) -> list[str]:
    """Return the names of layers in order, numbered by kind: conv1, relu1, pool1, conv2, ..."""
    seen: dict[Op, int] = {}
    names = []
    for op in ops:
        seen[op] = seen.get(op, 0) + 1
        names.append(f"{KIND[op]}{seen[op]}")
    return names
