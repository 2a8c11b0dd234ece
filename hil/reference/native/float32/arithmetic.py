"""Passes, moves and updates in `float32`, in C."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hil.graph.graph import POOLS, Graph, Op
from hil.reference.formats.float32.arithmetic import Float32Arithmetic
from hil.reference.formats.float32.backward import walk_back
from hil.reference.formats.float32.forward import PIXEL_OFFSET, Own
from hil.reference.native.float32.library import Native
from hil.reference.prng import start_state


class NativeFloat32(Float32Arithmetic):
    """As `Float32Arithmetic`, to the bit."""

    def __init__(self, graph: Graph, native: Native) -> None:
        super().__init__(graph)
        self._native, self.name = native, native.name

    def logits(self, images: np.ndarray, own: Mapping[int, Own]) -> np.ndarray:
        """As `Float32Arithmetic`."""
        return self._values(images, own)[-1][0, 0, :, : len(images)].T

    def losses(
        self, images: np.ndarray, labels: np.ndarray, own: Mapping[int, Own], sums: Mapping[int, Own]
    ) -> np.ndarray:
        """As `Float32Arithmetic`."""
        native, nodes, values = self._native, self.graph.layers, self._values(images, own)
        losses, error = native.losses(values[-1], labels, bool(sums))

        def gated(index: int, whole: np.ndarray) -> np.ndarray:
            return whole if nodes[index].op in POOLS else native.gated(nodes[index], whole, values[index + 1])

        def given(index: int, whole: np.ndarray) -> np.ndarray:
            node, its = nodes[index], gated(index, whole)
            if node.op is Op.ADD:
                return its
            weights = own[index][0] if index in own else None
            return native.input_error(node, its, values[node.reads[0]], weights)

        for index, whole in walk_back(self.graph, min(sums), error, given, native.joined) if sums else ():
            if index in sums:
                x = values[nodes[index].reads[0]]
                native.add_gradients(nodes[index], gated(index, whole), x, len(images), sums[index])
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

    def _values(self, images: np.ndarray, own: Mapping[int, Own]) -> list[np.ndarray]:
        """Return all values, n + 1 of them."""
        graph = self.graph
        values = [self._native.input_value(images.reshape(-1, *graph.in_shape), graph.scale, PIXEL_OFFSET + graph.zero)]
        for index, node in enumerate(graph.layers):
            values.append(self._native.forward(node, [values[value] for value in node.reads], own.get(index, ())))
        return values
