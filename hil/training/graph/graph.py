"""A network as a graph of nodes, whatever the format of its numbers (docs/network.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hil.training.graph.formats import Format, Shape, weight_type
from hil.training.graph.node import Affine8Node, N, Node, P, Parameters, Scaled


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in the order in which they run.

    Attributes:
        name: of the network.
        layers: 1..64 nodes; the last is fully_connected and gives the logits.
        in_shape: of the network's input.
        classes: 2..1024.
        scale, zero: of the input; the scale is a binary32 number (`bfp8`: 2 to the power of its exponent).
    """

    name: str
    layers: tuple[Node, ...]
    in_shape: Shape
    classes: int
    scale: float = float(np.float32(1 / 255))
    zero: int = -128

    def nodes(self, kind: type[N]) -> tuple[N, ...]:
        """Return the nodes of a graph all of whose nodes are of one kind.

        Raises:
            TypeError: one is of another.
        """
        return tuple(self.node(index, kind) for index in range(len(self.layers)))

    def node(self, index: int, kind: type[N]) -> N:
        """Return a node of a kind.

        Raises:
            TypeError: it is of another.
        """
        found = self.layers[index]
        if not isinstance(found, kind):
            raise TypeError(f"{found.name} is a {type(found).__name__}, not a {kind.__name__}")
        return found

    @cached_property
    def own(self) -> Mapping[int, Parameters]:
        """The parameters of the nodes with weights, by index."""
        return {index: layer.own for index, layer in enumerate(self.layers) if layer.own is not None}

    def own_of(self, kind: type[P]) -> dict[int, P]:
        """Return the parameters of the nodes with weights whose parameters are of a kind, by index."""
        return {index: own for index, own in self.own.items() if isinstance(own, kind)}

    @property
    def affine_rounding(self) -> str:
        """The rounding that all nodes in `affine8` have; `nearest` where there is none."""
        return next((layer.rounding for layer in self.layers if isinstance(layer, Affine8Node)), "nearest")

    @property
    def formats(self) -> tuple[Format, ...]:
        """The formats of the nodes, each once, in the order of the first node of each."""
        return tuple(dict.fromkeys(layer.format for layer in self.layers))

    def format_of(self, value: int) -> Format:
        """Return the format of a value; the input has that of the first node."""
        return self.layers[max(value - 1, 0)].format

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one forward pass."""
        return sum(layer.macs for layer in self.layers)

    @property
    def input_exp(self) -> int:
        """The exponent of the input (`bfp8`)."""
        return math.frexp(self.scale)[1] - 1

    @property
    def trained(self) -> tuple[Node, ...]:
        """The nodes with weights, input to output."""
        return tuple(self.layers[index] for index in self.own)

    def first_bp(self, partition: int) -> int:
        """Return the first node that back-propagation trains after `partition` tensors; for none, the node count."""
        with_weights = list(self.own)
        return with_weights[partition] if partition < len(with_weights) else len(self.layers)

    def scale_of(self, value: int) -> float:
        """Return the scale of a value; 1.0 in a format without scales."""
        return self._grid_of(value)[0]

    def zero_of(self, value: int) -> int:
        """Return the zero point of a value; 0 in a format without scales."""
        return self._grid_of(value)[1]

    def _grid_of(self, value: int) -> tuple[float, int]:
        maker = self.layers[value - 1] if value else self
        return (maker.scale, maker.zero) if isinstance(maker, Graph | Scaled) else (1.0, 0)

    def last_use(self, value: int) -> int:
        """Return the last node that reads a value; the number of nodes for the logits."""
        return self._last_readers.get(value, len(self.layers))

    @cached_property
    def _last_readers(self) -> dict[int, int]:
        return {value: index for index, layer in enumerate(self.layers) for value in layer.reads}

    def with_weights(self, weights: Sequence[np.ndarray]) -> Graph:
        """Return the same graph with other weights, one array for each node that has weights."""
        given = {
            index: np.asarray(new, weight_type(self.layers[index].format)).reshape(own.weights.shape)
            for (index, own), new in zip(self.own.items(), weights, strict=True)
        }
        return self.changed({index: {"weights": new} for index, new in given.items()})

    def with_parameters(self, own: Mapping[int, tuple[np.ndarray, np.ndarray]]) -> Graph:
        """Return the same graph with other weights and biases, in their types and shapes, by index of the node."""
        return self.changed({index: {"weights": weights, "bias": bias} for index, (weights, bias) in own.items()})

    def changed(self, own: Mapping[int, Mapping[str, Any]]) -> Graph:
        """Return the same graph with other fields of parameters, by name, by index of the node."""
        layers = list(self.layers)
        for index, fields in own.items():
            layers[index] = layers[index].with_own(replace(self.own[index], **fields))
        return replace(self, layers=tuple(layers))


def value_sizes(graph: Graph) -> list[int]:
    """Return the bytes of every value, the input first."""
    height, width, channels = graph.in_shape
    return [height * width * channels, *(layer.out_size for layer in graph.layers)]


def inference_peak(graph: Graph) -> int:
    """Return the most bytes of values that live at once while the layers run one after the other."""
    sizes = value_sizes(graph)
    last = [graph.last_use(value) for value in range(len(sizes))]
    return max(
        sum(size for value, size in enumerate(sizes) if value - 1 <= slot <= last[value])
        for slot in range(len(graph.layers))
    )
