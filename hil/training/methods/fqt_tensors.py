"""What FQT trains: weights with their scale, biases, and ranges (docs/arithmetic-fqt.md, section 2).

The tensor of the weights of an `affine8` layer is bytes of the network file: the padded weights and the first 16 bytes
of the parameters, which have the scale and the zero point of the weights and the range of the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hil.training.graph.affine8 import with_scales
from hil.training.graph.affine8_parameters import Head
from hil.training.graph.formats import POOLS
from hil.training.graph.graph import Graph
from hil.training.graph.node import Affine8Node, Node, WithBias
from hil.training.graph.part import padded

WEIGHTS, BIAS, RANGE = "weights", "bias", "range"


@dataclass(frozen=True)
class FqtTensor:
    """One trained tensor: its name, its layer, and which part of the layer it is."""

    name: str
    layer: int
    part: str


def trained_tensors(graph: Graph, trained: Sequence[int], train_bias: bool) -> tuple[FqtTensor, ...]:
    """Return the trained tensors, input to output, for the indices of the trained layers."""
    found = []
    for index in range(min(trained), len(graph.layers)):
        layer = graph.layers[index]
        if index in trained:
            found.append(FqtTensor(layer.name, index, WEIGHTS))
            if train_bias:
                found.append(FqtTensor(f"{layer.name}.bias", index, BIAS))
        elif isinstance(layer, Affine8Node) and layer.op not in POOLS:
            found.append(FqtTensor(f"{layer.name}.range", index, RANGE))
    return tuple(found)


def array_of(layer: Node, part: str) -> np.ndarray:
    """Return a tensor of a layer: int8 bytes or float32 weights, float32 biases [O], or a float32 range [2].

    Raises:
        TypeError: the layer has no such part.
    """
    if isinstance(layer, Affine8Node) and part == RANGE:
        return np.array([layer.low, layer.high], np.float32)
    own = layer.own
    if isinstance(own, WithBias) and part == BIAS:
        return own.bias
    if isinstance(layer, Affine8Node) and layer.own is not None:
        head = Head(layer.own.scale, layer.own.zero, layer.low, layer.high)
        return np.frombuffer(padded(layer.own.weights.tobytes()) + head.pack(), np.int8)
    if own is None:
        raise TypeError(f"{layer.name} has no {part}")
    return own.weights


def with_arrays(graph: Graph, tensors: Sequence[FqtTensor], arrays: Sequence[np.ndarray]) -> Graph:
    """Return the graph with other trained tensors; its scales follow from the new ranges."""
    layers = list(graph.layers)
    for tensor, array in zip(tensors, arrays, strict=True):
        layers[tensor.layer] = _with_array(layers[tensor.layer], tensor.part, array)
    return with_scales(replace(graph, layers=tuple(layers)))


def _with_array(layer: Node, part: str, array: np.ndarray) -> Node:
    own = layer.own
    if isinstance(layer, Affine8Node):
        if part == RANGE:
            return replace(layer, low=float(array[0]), high=float(array[1]))
        if part == WEIGHTS and layer.own is not None:
            data, shape = array.astype(np.int8).tobytes(), layer.own.weights.shape
            head = Head.unpack(data, len(data) - Head.size())
            weights = np.frombuffer(data, np.int8, layer.own.weights.size).reshape(shape)
            its = replace(layer.own, weights=weights, scale=head.scale, zero=head.zero)
            return replace(layer, own=its, low=head.low, high=head.high)
    if not isinstance(own, WithBias):
        raise TypeError(f"{layer.name} has no {part}")
    values = array.astype(np.float32)
    if part == BIAS:
        return layer.with_own(replace(own, bias=values))
    return layer.with_own(own.with_weights(values.reshape(own.weights.shape)))
