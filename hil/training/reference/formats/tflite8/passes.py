"""Passes through a graph from any layer on, many at a time.

Values as in `fast`: float32 [N, R, H, W, C] less their zero point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.graph.node import Node, Quantized
from hil.training.reference.formats.tflite8.fast import FastLayer, OwnWeights

PIXEL_OFFSET = 128  # a pixel p becomes p - 128
ROW_ELEMENTS = 2**19  # of the largest array of a pass; beyond it the processor's cache is left


class Passes:
    """A graph ready to run; the weights come with each pass."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.layers = [self.layer_of(layer) for layer in graph.nodes(Quantized)]
        self._last_use = [graph.last_use(value) for value in range(len(graph.layers) + 1)]

    def layer_of(self, layer: Quantized) -> FastLayer:
        """Return a layer of the graph, ready to run."""
        return FastLayer(self.graph, layer)

    def with_layers(self, layers: Mapping[int, FastLayer]) -> Passes:
        """Return the passes with other layers, by index; all else is shared."""
        other = copy(self)
        other.layers = [layers.get(index, layer) for index, layer in enumerate(self.layers)]
        return other

    def input_values(self, images: np.ndarray) -> np.ndarray:
        """Return uint8 images [N, H, W] or [N, H, W, C] as the value 0, [N, 1, H, W, C]."""
        offset = np.float32(PIXEL_OFFSET + self.graph.zero)
        return images.reshape(-1, 1, *self.graph.in_shape) - offset

    def clean(self, images: np.ndarray, own: Sequence[OwnWeights | None]) -> list[np.ndarray]:
        """Return all values, n + 1 of them, of uint8 images."""
        values = [self.input_values(images)]
        for layer, its in zip(self.layers, own, strict=True):
            values.append(layer.run([values[value] for value in layer.layer.reads], its))
        return values

    def logits(
        self,
        start: int,
        values: Mapping[int, np.ndarray],
        own: Sequence[OwnWeights | None],
        nodes: Mapping[int, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Run layers `start`, `start` + 1, ... to the end.

        Args:
            start: the first layer that is run.
            values: what these layers read that they do not make; with `start` past the end, the logits.
            own: weights and biases of each layer.
            nodes: for layers whose outputs are perturbed, int8 [N, Q, outputs].

        Returns:
            float32 [N, R, classes], less their zero point.
        """
        at = {value: held for value, held in values.items() if value <= start <= self._last_use[value]}
        for index in range(start, len(self.layers)):
            layer = self.layers[index]
            out = layer.run([at[value] for value in layer.layer.reads], own[index])
            if nodes and index in nodes:
                out = perturbed_nodes(layer, out, nodes[index])
            at[index + 1] = out
            at = {value: held for value, held in at.items() if self._last_use[value] > index}
        return at[len(self.layers)][:, :, 0, 0]

    def rows(self, start: int, drawn: int) -> int:
        """Return how many passes from a layer on, with `drawn` perturbations each, are made at once; at least one."""
        largest = max(_largest_array(layer) for layer in self.graph.layers[start:] or self.graph.layers[-1:])
        return max(1, ROW_ELEMENTS // max(largest, drawn))


def perturbed_nodes(layer: FastLayer, out: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return outputs [N, R, oh, ow, O] moved by noise int8 [N, Q, outputs] strictly between their limits."""
    inside = (out > layer.low) & (out < layer.high)
    moved: np.ndarray = out + noise.reshape(*noise.shape[:2], *layer.layer.out_shape) * inside
    return moved


def _largest_array(layer: Node) -> int:
    """Return the elements of the largest array that one pass through a layer has: input, output or patches."""
    patches = layer.kernel[0] * layer.kernel[1] * layer.in_shape[2] * layer.out_shape[0] * layer.out_shape[1]
    window = layer.own is not None and layer.own.weights.ndim == 4
    return max(layer.in_size, layer.out_size, patches if window else 0)
