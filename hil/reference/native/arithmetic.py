"""A step's arithmetic in C where exponents are each sample's own; the rest of it is NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hil.network.graph import Layer, Network, Op
from hil.reference.arithmetic import NumpyArithmetic, Pass, Tensors
from hil.reference.native.library import Group, Native


class Stage(NamedTuple):
    """Layers that run as one: a layer of weights with the relu and the pool that follow it, or any layer alone."""

    first: int
    weights: int | None  # index of the tensor
    relu: bool
    pool: int
    end: int  # index of the layer after it


class NativeArithmetic(NumpyArithmetic):
    """As `NumpyArithmetic`, to the bit.

    Args:
        network: the graph; its weights are not used.
        native: the library.
    """

    def __init__(self, network: Network, native: Native) -> None:
        super().__init__(network)
        self._native, self.name = native, native.name

    def forward(self, weights: Tensors, images: np.ndarray, together: bool, kept_from: int) -> Pass:
        """As `Arithmetic` says."""
        if together or kept_from < len(self.network.layers):
            return super().forward(weights, images, together, kept_from)
        x = np.ascontiguousarray(images.reshape(-1, *self.network.in_shape) >> 1).view(np.int8)
        group: Group = x, np.full(len(x), self.network.input_exp, np.int64)
        for stage in stages(self.network.layers, kept_from):
            group = self._run(stage, weights, group)
        logits, exponents = group
        return Pass(logits.reshape(len(logits), -1), exponents, None)

    def _run(self, stage: Stage, weights: Tensors, x: Group) -> Group:
        layer, native = self.network.layers[stage.first], self._native
        if layer.op is Op.RELU:
            return np.maximum(x[0], 0), x[1]
        if layer.op is Op.MAX_POOL:
            return native.pooled(x[0], layer.stride), x[1]
        assert stage.weights is not None
        own = weights[stage.weights]
        if layer.op is Op.CONV2D:
            return native.convolution(x, own, layer.weight_exp, (layer.pad, layer.pad), stage.relu, stage.pool)
        return native.dense(x, own, layer.weight_exp, stage.relu)


def stages(layers: Sequence[Layer], kept_from: int) -> list[Stage]:
    """Return the stages of a forward pass.

    Rounding is monotonic, so that relu and pool may come before it; but the error of a pool's output needs its input.

    Args:
        layers: the chain.
        kept_from: index of the first layer that is trained by back-propagation.
    """
    found, index, tensor = [], 0, 0
    while index < len(layers):
        layer, end, relu, pool = layers[index], index + 1, False, 1
        if layer.weights is not None:
            if end < len(layers) and layers[end].op is Op.RELU:
                relu, end = True, end + 1
            if layer.op is Op.CONV2D and end < min(kept_from, len(layers)) and layers[end].op is Op.MAX_POOL:
                pool, end = layers[end].stride, end + 1
        found.append(Stage(index, None if layer.weights is None else tensor, relu, pool, end))
        tensor += layer.weights is not None
        index = end
    return found
