"""What ElasticZO computes in `float32`: passes through a graph, and the moves of its tensors.

The method decides what happens in which order. `hil.training.reference.native.float32` computes the same bits faster.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Node
from hil.training.reference.formats.float32.backward import add_gradients, errors_of, gated
from hil.training.reference.formats.float32.forward import Own, clamp, values_of
from hil.training.reference.formats.float32.loss import logits_error, losses
from hil.training.reference.formats.float32.normal import moved, normals

LARGEST_CHANGE = 2.0**20  # of a weight by back-propagation


class Float32Arithmetic:
    """The arithmetic in NumPy.

    Args:
        graph: the network; its weights are not used.
    """

    name = "NumPy"

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def logits(self, images: np.ndarray, own: Mapping[int, Own]) -> np.ndarray:
        """Return the logits of uint8 images, float32 [B, classes]; `own` has the layers with weights by index."""
        logits: np.ndarray = values_of(self.graph, images, own)[-1][0, 0].T
        return logits

    def value(self, images: np.ndarray, own: Mapping[int, Own], number: int) -> np.ndarray:
        """Return value `number` of uint8 images, float32 [B, elements]; `own` as of `logits`."""
        found = values_of(self.graph, images, own)[number]
        return np.ascontiguousarray(found.reshape(-1, len(images)).T)

    def losses(
        self, images: np.ndarray, labels: np.ndarray, own: Mapping[int, Own], sums: Mapping[int, Own]
    ) -> np.ndarray:
        """Return the loss of each sample, float32 [B], and add the gradients of the samples to their sums in order.

        Args:
            images: uint8 [B, H, W] or [B, H, W, C].
            labels: integers [B].
            own: weights and biases of the layers that have them, by index.
            sums: G of the layers that back-propagation trains, in the order of the graph; they are changed.
        """
        values, labels = values_of(self.graph, images, own), labels.astype(np.intp)
        logits = values[-1][0, 0]
        if sums:
            for index, whole in errors_of(self.graph, min(sums), values, own, logits_error(logits, labels)):
                layer = self.graph.node(index, Float32Node)
                if index in sums:
                    add_gradients(layer, gated(layer, whole, values[index + 1]), values[layer.reads[0]], sums[index])
        return losses(logits, labels)

    def normals(self, seed: int, step: int, tensor: int, count: int) -> np.ndarray:
        """Return Z of the elements of a trained tensor [count], of a type that `moved` takes."""
        return normals(seed, step, tensor, count)

    def moved(self, weights: np.ndarray, z: np.ndarray, c: np.float32) -> np.ndarray:
        """Return float32 weights moved by a binary32 number c along Z."""
        return moved(weights, z, c)

    def lowered(self, weights: np.ndarray, u: np.float32, gradient: np.ndarray) -> np.ndarray:
        """Return float32 weights less u * G, which is of the same shape."""
        found: np.ndarray = weights - clamp(u * gradient, -LARGEST_CHANGE, LARGEST_CHANGE)
        return found
