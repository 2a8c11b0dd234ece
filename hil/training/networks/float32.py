"""Float graphs as networks in `float32`, with initial weights by Xavier (docs/arithmetic-float32.md, section 9)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hil.training.graph.factors import act_limits
from hil.training.graph.formats import LARGEST_FLOAT, POOLS, Op, Shape, named
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Node, Float32Parameters, Tflite8Node
from hil.training.networks.floating import LIMITS, FloatGraph, FloatLayer
from hil.training.networks.lenet5 import xavier_uniform


def drawn(graph: FloatGraph, seed: int) -> Graph:
    """Return a float graph as a network with weights drawn from `seed`, tensor after tensor, and biases 0."""
    rng = np.random.Generator(np.random.PCG64(seed))
    layers = []
    for layer in graph.layers:
        if layer.own is not None:
            area, shape = layer.kernel[0] * layer.kernel[1] or 1, layer.own.weights.shape
            channels = shape[-1] if layer.op is Op.DEPTHWISE else shape[0]
            fan_in = area if layer.op is Op.DEPTHWISE else math.prod(shape[1:])
            fan_out = area if layer.op is Op.DEPTHWISE else area * channels
            weights, _ = xavier_uniform(shape, fan_in, fan_out, rng)
            own = Float32Parameters(weights.astype(np.float32), np.zeros(channels, np.float32))
            layer = replace(layer, own=own)
        layers.append(layer)
    return in_float32(replace(graph, layers=tuple(layers)))


def in_float32(graph: FloatGraph) -> Graph:
    """Return a float graph with its weights as a network in `float32`."""
    shapes, names = graph.shapes(), named([layer.op for layer in graph.layers])
    layers = (
        float_node(name, layer, shapes[layer.reads[0]], out)
        for name, layer, out in zip(names, graph.layers, shapes[1:], strict=True)
    )
    return Graph(graph.name, tuple(layers), graph.in_shape, graph.classes, *graph.of_input)


def in_floats(shape: FloatGraph, graph: Graph) -> Graph:
    """Return a network in `tflite8` as one in `float32`: its weights and biases are the real numbers they stand for.

    Args:
        shape: the same layers in floats, whose activations are taken.
        graph: in `tflite8`.
    """
    layers = [in_real(graph, *pair) for pair in zip(shape.layers, graph.nodes(Tflite8Node), strict=True)]
    return in_float32(replace(shape, layers=tuple(layers)))


def floats_of(graph: Graph) -> FloatGraph:
    """Return a network in `tflite8` in floats, with the real numbers that its weights and biases stand for.

    An activation is what the limits of a layer say: those of ReLU6, else those of ReLU, else none.
    """
    layers = tuple(in_real(graph, _without_weights(node), node) for node in graph.nodes(Tflite8Node))
    return FloatGraph(graph.name, layers, graph.in_shape, graph.classes, graph.zero + 128, 1 / graph.scale)


def _without_weights(node: Tflite8Node) -> FloatLayer:
    limits = node.act_min, node.act_max
    known = () if node.op in POOLS else ("relu6", "relu")
    activation = next((one for one in known if limits == act_limits(one, node.scale, node.zero)), "none")
    return FloatLayer(
        node.op, node.reads, kernel=node.kernel, stride=node.stride[0], pad=node.pad[0], activation=activation,
        block=node.block,
    )  # fmt: skip


def in_real(graph: Graph, layer: FloatLayer, node: Tflite8Node) -> FloatLayer:
    """Return a layer in floats with the real numbers that weights and biases of a node in `tflite8` stand for."""
    if node.own is None:
        return layer
    scale = node.own.scale.astype(np.float64)
    outputs = node.own.weights.ndim - 1 if node.op is Op.DEPTHWISE else 0  # axis of the output channels
    by_channel = np.moveaxis(node.own.weights.astype(np.float64), outputs, -1) * scale
    own = Float32Parameters(
        np.ascontiguousarray(np.moveaxis(by_channel, -1, outputs)).astype(np.float32),
        (node.own.bias * graph.scale_of(node.reads[0]) * scale).astype(np.float32),
    )
    return replace(layer, own=own)


def float_node(name: str, layer: FloatLayer, in_shape: Shape, out_shape: Shape) -> Float32Node:
    """Return a layer in `float32`."""
    low, high = LIMITS["none" if layer.op in POOLS else layer.activation]
    limits = max(low, -LARGEST_FLOAT), min(high, LARGEST_FLOAT)
    return Float32Node(name, layer.op, layer.reads, in_shape, out_shape, *layer.window, layer.block, *limits, layer.own)
