"""The oracle of affine8 and FQT on a graph: conversion between `hil.training.graph.graph.Graph` and the oracle's network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hil.training.graph.formats import KIND, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Affine8Node, Affine8Parameters, Float32Node, Float32Parameters, Node, Parameters
from tests.oracle import affine8
from tests.oracle.affine8_backward import backward
from tests.oracle.affine8_network import POOLS, WEIGHTED, Layer, Network
from tests.oracle.affine8_numbers import Tensor
from tests.oracle.numbers import F32


def oracle_of(graph: Graph) -> Network:
    """Return the network of the oracle that a graph is; its layers in tflite8 are run on the graph itself."""
    layers = [_layer_of(node) for node in graph.layers]
    tflite = graph if any(layer.format == "tflite8" for layer in layers) else None
    return Network(layers, graph.in_shape, F32(graph.scale), graph.zero, graph.affine_rounding, tflite)


def _layer_of(node: Node) -> Layer:
    format, own = node.format.name.lower(), node.own
    op = node.op.name.lower()
    layer = Layer(op, node.reads, node.in_shape, node.out_shape, node.kernel, node.stride, node.pad, format)
    if format == "tflite8":
        return layer
    layer.act_min, layer.act_max = float(node.act_min), float(node.act_max)
    if format == "affine8":
        layer.low, layer.high = F32(node.low), F32(node.high)
    if own is not None:
        layer.bias = [F32(b) for b in own.bias.ravel()]
        if format == "affine8":
            layer.weights, layer.s_w, layer.z_w = own.weights.ravel().tolist(), F32(own.scale), own.zero
        else:
            layer.weights = [F32(w) for w in own.weights.ravel()]
    return layer


def graph_of(network: Network) -> Graph:
    """Return the graph that a network is."""
    nodes: list[Node] = []
    for index, layer in enumerate(network.layers):
        if layer.format == "tflite8":
            assert network.tflite is not None
            nodes.append(network.tflite.layers[index])
            continue
        op = Op[layer.op.upper()]
        name = f"{KIND[op]}{1 + sum(node.op is op for node in nodes)}"
        nodes.append(_node_of(network, index, name))
    classes = network.layers[-1].channels
    return Graph("drawn", tuple(nodes), network.in_shape, classes, float(network.s), network.z)


def stages_of(network: Network, image: np.ndarray, label: int, first: int) -> list[bytes]:
    """Return the stages of a traced sample (docs/arithmetic-affine8.md, section 8, Trace), all channels kept.

    Args:
        network: at its weights.
        image: uint8.
        label: of the image.
        first: the first trained layer.
    """
    values = affine8.forward(network, image)
    _, d = affine8.loss_and_error(network, values[-1], label)
    errors = backward(network, values, affine8.logits_error(network, d), first).errors
    stages = [_bytes(value) + b"\0\0" for value in values[1:]]
    for value in sorted(errors, reverse=True):
        e = errors[value]
        if isinstance(e, Tensor):
            stages.append(_bytes(e.q) + np.array([e.s], "<f4").tobytes() + np.array([e.z], "<i2").tobytes())
        else:
            stages.append(_bytes(e) + b"\0\0")
    return stages


def _bytes(values: list) -> bytes:
    return np.array(values, "<f4" if isinstance(values[0], np.float32) else np.int8).tobytes()


def _node_of(network: Network, index: int, name: str) -> Node:
    layer = network.layers[index]
    own = None
    if layer.op in WEIGHTED:
        own = _parameters_of(layer)
    kind = Affine8Node if layer.format == "affine8" else Float32Node
    node = kind(
        name, Op[layer.op.upper()], layer.reads, layer.in_shape, layer.out_shape, layer.kernel, layer.stride, layer.pad,
        0 if own is None else 1, layer.act_min, layer.act_max, own=own,
    )  # fmt: skip
    if layer.format != "affine8":
        return node
    scale, zero = network.scale(index + 1)
    low, high = (0.0, 0.0) if layer.op in POOLS else (float(layer.low), float(layer.high))
    return replace(node, scale=float(scale), zero=zero, low=low, high=high, rounding=network.rounding)


def _parameters_of(layer: Layer) -> Parameters:
    inputs = int(np.prod(layer.in_shape)) if layer.op == "fully_connected" else layer.in_shape[2]
    shape = {
        "fully_connected": (layer.channels, inputs),
        "depthwise": (*layer.kernel, layer.channels),
    }.get(layer.op, (layer.channels, *layer.kernel, inputs))
    bias = np.array(layer.bias, np.float32)
    if layer.format == "float32":
        return Float32Parameters(np.array(layer.weights, "<f4").reshape(shape), bias)
    weights = np.array(layer.weights, np.int8).reshape(shape)
    return Affine8Parameters(weights, bias, scale=float(layer.s_w), zero=layer.z_w)
