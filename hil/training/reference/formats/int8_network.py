"""A network of int8 values, with layers in `w16a8` and `tflite8`, as forward passes train it: passes and losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.graph.node import Quantized, W16A8Node, WithBias
from hil.training.reference.formats.tflite8.fast import FastLayer, OwnWeights
from hil.training.reference.formats.tflite8.loss import cross_entropy
from hil.training.reference.formats.tflite8.passes import Passes
from hil.training.reference.formats.w16a8.layers import W16A8Layer


class Int8Passes(Passes):
    """Passes through layers with int16 weights and with int8 weights."""

    def layer_of(self, layer: Quantized) -> FastLayer:
        """As `Passes`."""
        kind = W16A8Layer if isinstance(layer, W16A8Node) else FastLayer
        return kind(self.graph, layer)


class Int8Network:
    """A graph whose last layers are trained.

    Args:
        graph: with the first weights.
        parts: of each trained tensor its layer, and whether it has the biases of the layer; input to output.
        tensors: the trained tensors; `values` of each are those of the present pass.

    Attributes:
        tensors: the trained tensors.
        first: the first trained layer. What it reads, and the layers after it, is the same in all passes of a step.
        arithmetic: what computes the passes.
    """

    arithmetic = "NumPy"
    VALUE_TYPE = "int8"

    def __init__(self, graph: Graph, parts: Sequence[tuple[int, bool]], tensors: Sequence[Any]) -> None:
        self.graph, self.tensors, self._parts = graph, list(tensors), tuple(parts)
        self.first = min(layer for layer, _ in parts)
        self._own_of = graph.own_of(WithBias)
        self._passes = Int8Passes(graph)
        self._frozen = [self._own(index) for index in range(len(graph.layers))]

    def _own(self, index: int) -> OwnWeights | None:
        own = self._own_of.get(index)
        return None if own is None else self._multiplied(index, own.weights, own.bias)

    def _multiplied(self, index: int, weights: np.ndarray, bias: np.ndarray) -> OwnWeights:
        fast = self._passes.layers[index]
        return fast.own(weights.reshape(-1), bias, fast.float_type(weights, bias))

    def own_of(self, values: Sequence[np.ndarray]) -> list[OwnWeights | None]:
        """Return what all layers multiply by, with these values of the trained tensors."""
        found = list(self._frozen)
        given = dict(zip(self._parts, values, strict=True))
        for index in {layer for layer, _ in given}:
            bias = given.get((index, True), self._own_of[index].bias)
            found[index] = self._multiplied(index, given[index, False], bias)
        return found

    def at(self, values: Sequence[np.ndarray]) -> tuple[Passes, list[OwnWeights | None]]:
        """Return the passes, and what all layers multiply by in them, with these values of the trained tensors."""
        return self._passes, self.own_of(values)

    def _now(self) -> tuple[Passes, list[OwnWeights | None]]:
        return self.at([tensor.values for tensor in self.tensors])

    def chunks(self, images: np.ndarray) -> list[slice]:
        """Return the samples that run at once."""
        rows = self._passes.rows(0, 1)
        return [slice(at, min(at + rows, len(images))) for at in range(0, len(images), rows)]

    def prefix(self, images: np.ndarray) -> list[dict[int, np.ndarray]]:
        """Return for every chunk of uint8 images the values that the layers from the first trained one on read."""
        found = []
        for part in self.chunks(images):
            values = {0: self._passes.input_values(images[part])}
            for index in range(self.first):
                fast = self._passes.layers[index]
                values[index + 1] = fast.run([values[value] for value in fast.layer.reads], self._frozen[index])
                values = {value: held for value, held in values.items() if self.graph.last_use(value) > index}
            found.append(values)
        return found

    def losses(self, prefix: Sequence[dict[int, np.ndarray]], labels: np.ndarray) -> np.ndarray:
        """Return the loss of every sample with the weights as they are now, float32 [N]."""
        passes, own = self._now()
        logits = np.concatenate([passes.logits(self.first, values, own)[:, 0] for values in prefix])
        return cross_entropy(logits, labels.astype(np.intp), self.graph.scale_of(len(self.graph.layers)))

    def logits(self, images: np.ndarray) -> np.ndarray:
        """Return the logits of uint8 images with the weights as they are now, int8 [N, classes]."""
        passes, own = self._now()
        values = [{0: passes.input_values(images[part])} for part in self.chunks(images)]
        logits = np.concatenate([passes.logits(0, each, own)[:, 0] for each in values])
        return self._stored(logits, len(self.graph.layers))

    def outputs(self, values: Sequence[np.ndarray], images: np.ndarray) -> list[np.ndarray]:
        """Return the output of every layer for uint8 images with these trained tensors, int8 [N, 1, H, W, C]."""
        passes, own = self.at(values)
        found = passes.clean(images, own)
        return [self._stored(value, index) for index, value in enumerate(found) if index]

    def _stored(self, values: np.ndarray, value: int) -> np.ndarray:
        return (values + np.float32(self.graph.zero_of(value))).astype(np.int8)
