"""A step's arithmetic in C where exponents are each sample's own; the rest of it is NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import ChainNode
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.reference.formats.bfp8.arithmetic import NumpyArithmetic, Pass, Tensors
from hil.training.reference.formats.bfp8.loss import ERROR_EXP
from hil.training.reference.native.bfp8.library import Bfp8Library, Group


class FusedLayers(NamedTuple):
    """Layers that run as one: a layer of weights with the relu and the pool that follow it, or any layer alone."""

    first: int
    weights: int | None  # index of the tensor
    relu: bool
    pool: int
    end: int  # index of the layer after it


class Kept(NamedTuple):
    """What a backward pass needs of a forward pass: the inputs of its stages by their first layer, and the logits."""

    inputs: dict[int, Group]
    kept_from: int


class NativeArithmetic(NumpyArithmetic):
    """As `NumpyArithmetic`, to the bit."""

    def __init__(self, network: Graph, native: Bfp8Library) -> None:
        super().__init__(network)
        self._native, self.name = native, native.name

    def forward(self, weights: Tensors, images: np.ndarray, together: bool, kept_from: int) -> Pass:
        """As `NumpyArithmetic`."""
        if together:
            return super().forward(weights, images, together, kept_from)
        x = np.ascontiguousarray(images.reshape(-1, *self.network.in_shape) >> 1).view(np.int8)
        group: Group = x, np.full(len(x), self.network.input_exp, np.int64)
        kept = {}
        for stage in stages(self.layers, kept_from):
            if stage.end > kept_from:
                kept[stage.first] = group
            group = self._run(stage, weights, group)
        logits, exponents = group
        kept[len(self.layers)] = group
        return Pass(logits.reshape(len(logits), -1), exponents, Kept(kept, kept_from))

    def gradients(self, weights: Tensors, passed: Pass, error: np.ndarray) -> dict[int, np.ndarray]:
        """As `NumpyArithmetic`."""
        if not isinstance(passed.kept, Kept):
            return super().gradients(weights, passed, error)
        layers, found = self.layers, {}
        inputs, kept_from = passed.kept
        handed: Group = error, np.full(len(error), ERROR_EXP, np.int64)
        for stage in reversed(stages(layers, kept_from)):
            if stage.end <= kept_from:
                break
            layer, x = layers[stage.first], inputs[stage.first]
            values = handed[0].reshape(-1, *layers[stage.end - 1].out_shape)
            if stage.relu or layer.op is Op.RELU:
                values = values * (inputs[stage.end][0] > 0)
            if layer.op is Op.MAX_POOL:
                values = self._native.unpooled(values, x[0], layer.stride[0])
            handed = values, handed[1]
            if stage.weights is not None:
                found[stage.weights] = self._gradient(layer, handed, x)
                if stage.first > kept_from:
                    handed = self._input_error(layer, weights[stage.weights], handed)
        return found

    def _gradient(self, layer: ChainNode, error: Group, x: Group) -> np.ndarray:
        exponents = error[1] + x[1]
        if layer.op is Op.CONV2D:
            return self._native.convolution_gradient(error[0], x[0], exponents, layer.kernel, layer.pad[0])
        return self._native.dense_gradient(error[0], x[0], exponents)

    def _input_error(self, layer: ChainNode, weights: np.ndarray, error: Group) -> Group:
        if layer.op is Op.FULLY_CONNECTED:
            return self._native.dense(error, weights.T, layer.weight_exp)
        turned = weights[:, ::-1, ::-1, :].transpose(3, 1, 2, 0)
        pads = layer.kernel[0] - 1 - layer.pad[0], layer.kernel[1] - 1 - layer.pad[1]
        return self._native.convolution(error, turned, layer.weight_exp, pads)

    def cross_entropy(self, passed: Pass, labels: np.ndarray) -> np.float32:
        """As `NumpyArithmetic`."""
        return self._native.cross_entropy(passed.logits, passed.exponents, labels)

    def noise(self, settings: ElasticZoSettings, step: int) -> list[np.ndarray]:
        """As `NumpyArithmetic`."""
        if settings.partition == 0:
            return []
        pool = self._native.signed_pool(settings.seed, step, settings.p_zero, settings.r_max)
        perturbed = list(self.network.own.values())[: settings.partition]
        return [
            self._native.perturbation(pool, settings.seed, step, index, own.weights.shape)
            for index, own in enumerate(perturbed)
        ]

    def moved(self, weights: np.ndarray, noise: np.ndarray, factor: int, limit: int) -> np.ndarray:
        """As `NumpyArithmetic`."""
        return self._native.moved(weights, noise, factor, limit)

    def zo_updated(self, weights: np.ndarray, noise: np.ndarray, sign: int, shift: int, limit: int) -> np.ndarray:
        """As `NumpyArithmetic`."""
        return self._native.zo_updated(weights, noise, sign, shift, limit)

    def bp_updated(self, weights: np.ndarray, gradient: np.ndarray, b_bp: int) -> np.ndarray:
        """As `NumpyArithmetic`."""
        return self._native.bp_updated(weights, gradient, b_bp)

    def _run(self, stage: FusedLayers, weights: Tensors, x: Group) -> Group:
        layer, native = self.layers[stage.first], self._native
        if layer.op is Op.RELU:
            return np.maximum(x[0], 0), x[1]
        if layer.op is Op.MAX_POOL:
            return native.pooled(x[0], layer.stride[0]), x[1]
        assert stage.weights is not None
        own = weights[stage.weights]
        if layer.op is Op.CONV2D:
            return native.convolution(x, own, layer.weight_exp, layer.pad, stage.relu, stage.pool)
        return native.dense(x, own, layer.weight_exp, stage.relu)


def stages(layers: Sequence[ChainNode], kept_from: int) -> list[FusedLayers]:
    """Return the stages of a forward pass through a chain; back-propagation trains layers from `kept_from` on.

    Rounding is monotonic, so that relu and pool may come before it; but the error of a pool's output needs its input.
    """
    found, index, tensor = [], 0, 0
    while index < len(layers):
        layer, end, relu, pool = layers[index], index + 1, False, 1
        if layer.own is not None:
            if end < len(layers) and layers[end].op is Op.RELU:
                relu, end = True, end + 1
            if layer.op is Op.CONV2D and end < min(kept_from, len(layers)) and layers[end].op is Op.MAX_POOL:
                pool, end = layers[end].stride[0], end + 1
        found.append(FusedLayers(index, None if layer.own is None else tensor, relu, pool, end))
        tensor += layer.own is not None
        index = end
    return found
