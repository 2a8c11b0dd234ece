"""A network in `w16a8` whose last layers are trained, with its passes in C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.training.graph.formats import Shape
from hil.training.graph.graph import Graph
from hil.training.graph.node import W16A8Node
from hil.training.methods.qzo_ff_tensors import QzoFfTensor
from hil.training.reference.formats.w16a8.network import W16A8Network
from hil.training.reference.native.w16a8.library import Own, W16A8Library, layer_of

EVALUATED = 128  # samples that are evaluated at a time: their values stay in the cache


class NativeW16A8Network(W16A8Network):
    """As `W16A8Network`, to the bit.

    Its arrays are kept for the next pass: new memory would cost as much time as some layers. So the values that
    `prefix` returns are overwritten by the next pass of as many samples from the input on.
    """

    def __init__(self, graph: Graph, trained: Sequence[QzoFfTensor], native: W16A8Library) -> None:
        super().__init__(graph, trained)
        self._native, self.arithmetic = native, native.name
        self._layers = [layer_of(graph, node) for node in graph.nodes(W16A8Node)]
        self._first_own: list[Own | None] = [
            None if own is None else (_shorts(own.weights), np.ascontiguousarray(own.bias, np.int32))
            for own in (node.own for node in graph.nodes(W16A8Node))
        ]
        self._kept: dict[tuple[int, int], np.ndarray] = {}

    def prefix(self, images: np.ndarray) -> list[dict[int, np.ndarray]]:
        """As `W16A8Network`; one chunk, int16 [H, W, C, lanes], with all values up to the first trained layer."""
        return [dict(enumerate(self._continued([self._input(images)], self._first_own, self.first)))]

    def losses(self, prefix: Sequence[dict[int, np.ndarray]], labels: np.ndarray) -> np.ndarray:
        """As `W16A8Network`."""
        (values,) = prefix
        logits = self._continued(list(values.values()), self._own_now(), len(self._layers))[-1]
        return self._native.losses(logits, labels, self.graph.scale_of(len(self.graph.layers)))

    def logits(self, images: np.ndarray) -> np.ndarray:
        """As `W16A8Network`."""
        own, found = self._own_now(), []
        for first in range(0, len(images), EVALUATED):
            part = images[first : first + EVALUATED]
            last = self._continued([self._input(part)], own, len(self._layers))[-1]
            found.append(last[0, 0, :, : len(part)].T.copy())  # the next part overwrites the values
        return self._stored(np.concatenate(found), len(self._layers))

    def _own_now(self) -> list[Own | None]:
        """Return weights and biases of all layers as they are now."""
        found = list(self._first_own)
        for tensor in self.tensors:
            given = found[tensor.known.layer]
            assert given is not None
            weights, bias = given
            changed = (weights, tensor.values) if tensor.known.is_bias else (_shorts(tensor.values), bias)
            found[tensor.known.layer] = changed
        return found

    def _input(self, images: np.ndarray) -> np.ndarray:
        """Return uint8 images as value 0."""
        value = self._array(0, self.graph.in_shape, self._native.lanes(len(images)))
        self._native.input_value(self.graph, images.reshape(-1, *self.graph.in_shape), value)
        return value

    def _continued(self, values: Sequence[np.ndarray], own: Sequence[Own | None], end: int) -> list[np.ndarray]:
        """Return the values 0..end, of which the first are given."""
        found = list(values)
        for index in range(len(values) - 1, end):
            node = self.graph.layers[index]
            found.append(self._array(index + 1, node.out_shape, values[0].shape[3]))
            reads = [found[value] for value in node.reads]
            self._native.forward(node.op, self._layers[index], reads, own[index], found[-1])
        return found

    def _array(self, value: int, shape: Shape, lanes: int) -> np.ndarray:
        if (value, lanes) not in self._kept:
            self._kept[value, lanes] = np.empty((*shape, lanes), np.int16)
        return self._kept[value, lanes]


def _shorts(weights: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(weights, np.int16)
