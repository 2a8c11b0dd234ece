"""Passes, moves and updates in `float32`, in C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hil.training.graph.formats import POOLS, Op, Shape
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Node
from hil.training.methods.prng import start_state
from hil.training.reference.formats.float32.arithmetic import Float32Arithmetic
from hil.training.reference.formats.float32.backward import walk_back
from hil.training.reference.formats.float32.forward import PIXEL_OFFSET, Own
from hil.training.reference.native.float32.library import Float32Library


class NativeFloat32(Float32Arithmetic):
    """As `Float32Arithmetic`, to the bit.

    Its arrays are kept for the next pass: new memory would cost as much time as some layers.
    """

    def __init__(self, graph: Graph, native: Float32Library) -> None:
        super().__init__(graph)
        self._native, self.name = native, native.name
        self._kept: dict[tuple[str, int, int], np.ndarray] = {}

    def logits(self, images: np.ndarray, own: Mapping[int, Own]) -> np.ndarray:
        """As `Float32Arithmetic`."""
        return self.continued([self.input_value(images)], own, len(self.graph.layers))[-1][
            0, 0, :, : len(images)
        ].T.copy()

    def value(self, images: np.ndarray, own: Mapping[int, Own], number: int) -> np.ndarray:
        """As `Float32Arithmetic`."""
        found = self.continued([self.input_value(images)], own, number)[-1]
        return found.reshape(-1, found.shape[3])[:, : len(images)].T.copy()

    def losses(
        self, images: np.ndarray, labels: np.ndarray, own: Mapping[int, Own], sums: Mapping[int, Own]
    ) -> np.ndarray:
        """As `Float32Arithmetic`."""
        return self.losses_from([self.input_value(images)], labels, own, sums)

    def input_value(self, images: np.ndarray) -> np.ndarray:
        """Return uint8 images as value 0, [H, W, C, lanes]."""
        graph, lanes = self.graph, self._native.lanes(len(images))
        value = self._array("value", 0, graph.in_shape, lanes)
        self._native.input_value(images.reshape(-1, *graph.in_shape), graph.scale, PIXEL_OFFSET + graph.zero, value)
        return value

    def continued(self, values: Sequence[np.ndarray], own: Mapping[int, Own], end: int) -> list[np.ndarray]:
        """Return the values 0..end, of which the first are given; the next pass of as many samples overwrites them."""
        found = list(values)
        for index in range(len(values) - 1, end):
            node = self.graph.node(index, Float32Node)
            found.append(self._array("value", index + 1, node.out_shape, values[0].shape[3]))
            self._native.forward(node, [found[value] for value in node.reads], own.get(index, ()), found[-1])
        return found

    def losses_from(
        self, first: Sequence[np.ndarray], labels: np.ndarray, own: Mapping[int, Own], sums: Mapping[int, Own]
    ) -> np.ndarray:
        """As `losses`, from the first values of the samples."""
        values, last = self.continued(first, own, len(self.graph.layers)), self.graph.layers[-1]
        error = self._array("error", len(self.graph.layers), last.out_shape, values[0].shape[3])
        losses = self._native.losses(values[-1], labels, error)
        if sums:
            self._add_gradients(values, len(labels), own, error, sums)
        return losses

    def normals(self, seed: int, step: int, tensor: int, count: int) -> np.ndarray:
        """As `Float32Arithmetic`."""
        return self._native.normals(start_state(seed, step, tensor + 1), count)

    def moved(self, weights: np.ndarray, z: np.ndarray, c: np.float32) -> np.ndarray:
        """As `Float32Arithmetic`."""
        return self._native.moved(weights, z, c)

    def lowered(self, weights: np.ndarray, u: np.float32, gradient: np.ndarray) -> np.ndarray:
        """As `Float32Arithmetic`."""
        return self._native.lowered(weights, u, gradient)

    def _array(self, what: str, index: int, shape: Shape, lanes: int) -> np.ndarray:
        """Return the array of a number of lanes for a value, or for an error by the layer that gives it."""
        key = what, index, lanes
        if key not in self._kept:
            self._kept[key] = np.empty((*shape, lanes), np.float32)
        return self._kept[key]

    def _add_gradients(
        self,
        values: list[np.ndarray],
        samples: int,
        own: Mapping[int, Own],
        error: np.ndarray,
        sums: Mapping[int, Own],
    ) -> None:
        native, nodes, lanes = self._native, self.graph.nodes(Float32Node), error.shape[3]
        gates: dict[int, np.ndarray] = {}  # a gradient and the error of an input need the same

        def gated(index: int, whole: np.ndarray) -> np.ndarray:
            if nodes[index].op in POOLS:
                return whole
            if index not in gates:
                gates[index] = self._array("gate", index, nodes[index].out_shape, lanes)
                native.gate(nodes[index], whole, values[index + 1], gates[index])
            return gates[index]

        def given(index: int, whole: np.ndarray) -> list[np.ndarray]:
            node, its = nodes[index], gated(index, whole)
            if node.op is Op.ADD:
                return [its, its]
            out, weights = self._array("error", index, node.in_shape, lanes), own[index][0] if index in own else None
            native.input_error(node, its, values[node.reads[0]], weights, out)
            return [out]

        def joined(one: np.ndarray, other: np.ndarray) -> np.ndarray:
            out = np.empty(one.shape, np.float32)  # either may be the error of another value, too
            native.join(one, other, out)
            return out

        for index, whole in walk_back(self.graph, min(sums), error, given, joined):
            if index in sums:
                x = values[nodes[index].reads[0]]
                native.add_gradients(nodes[index], gated(index, whole), x, samples, sums[index])
