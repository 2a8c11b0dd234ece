"""Conversion to `affine8`: from float graphs with the ranges of their values, and from `tflite8`.

docs/arithmetic-affine8.md, section 9. What is a rule of section 2 there is in binary32, all else in binary64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hil.errors import RigError
from hil.training.graph.affine8 import params, rounded, with_scales
from hil.training.graph.file import checked
from hil.training.graph.formats import LARGEST_FLOAT, POOLS, Op, named
from hil.training.graph.graph import Graph
from hil.training.graph.node import Affine8Node, Affine8Parameters, Float32Node, Node, Tflite8Node
from hil.training.networks.float32 import float_node, in_real
from hil.training.networks.floating import LIMITS, FloatGraph, FloatLayer

F = np.float32
FURTHEST = F(512)  # of a real number from 0, in steps
SMALLEST_RANGE = 2.0**-20
STEPS, FRACTION_OF_ADD = 255, 2.0**-14
Ranges = Sequence[tuple[float, float]]  # of the output of each layer


def from_floats(graph: FloatGraph, ranges: Ranges, head: int | None = None, rounding: str = "nearest") -> Graph:
    """Convert a float graph.

    Args:
        graph: what is converted.
        ranges: the least and the largest value of the output of each layer over the images of a calibration
            (`hil.training.networks.quantize.ranges`).
        head: the first layer that stays in floats, behind a cast of the value before it; None: none does.
        rounding: `nearest` or `floor`.

    Raises:
        RigError: a layer whose weights are all 0 or too large for its limits, or a head that reads a value from before
            the cast.
        NetworkFileError: a layer that the format does not allow.
    """
    scale, zero = graph.of_input
    before = Graph(graph.name, (), graph.in_shape, graph.classes, scale, zero)
    return from_parts(before, graph, ranges, 0, head, rounding)


def from_tflite8(shape: FloatGraph, graph: Graph, first: int, head: int | None = None) -> Graph:
    """Convert the layers of a graph in `tflite8` from `first` on; the layers before it stay as they are.

    Args:
        shape: the same layers in floats, whose activations are taken.
        graph: in `tflite8`.
        first: the first layer that is converted.
        head: the first layer in floats, behind a cast; None: there is none.

    Raises:
        RigError, NetworkFileError: as of `from_floats`.
    """
    ranges = [(node.scale * (-128 - node.zero), node.scale * (127 - node.zero)) for node in graph.nodes(Tflite8Node)]
    layers = [in_real(graph, *pair) for pair in zip(shape.layers, graph.nodes(Tflite8Node), strict=True)]
    return from_parts(graph, replace(shape, layers=tuple(layers)), ranges, first, head)


def from_parts(
    graph: Graph, floats: FloatGraph, ranges: Ranges, first: int, head: int | None = None, rounding: str = "nearest"
) -> Graph:
    """Return the layers before `first` of a graph in `tflite8`, and those from there on of a float graph in `affine8`.

    Args:
        graph: in `tflite8`; only its layers before `first` are read.
        floats: all layers in floats; only those from `first` on are read.
        ranges: of the outputs of the layers of `floats`; only those from `first` on are read.
        first: the first layer in `affine8`.
        head: the first layer in floats, behind a cast; None: there is none.
        rounding: of `affine8`, `nearest` or `floor`.

    Raises:
        RigError, NetworkFileError: as of `from_floats`.
    """
    end = len(floats.layers) if head is None else head
    scales = [graph.scale_of(value) for value in range(first + 1)]
    nodes = [*graph.layers[:first], *_affine8_nodes(floats, ranges, first, end, scales, rounding)]
    if head is not None:
        nodes += _float_head(floats, head)
    kinds = named([node.op for node in nodes])
    layers = tuple(replace(node, name=name) for node, name in zip(nodes, kinds, strict=True))
    found = replace(graph, name=floats.name, layers=layers, classes=floats.classes)
    return checked(with_scales(found))


def quantized_weights(name: str, weights: np.ndarray) -> tuple[np.ndarray, float, int]:
    """Return int8 weights, their scale (a binary32 number) and their zero point.

    Raises:
        RigError: all weights are 0.
    """
    low, high = F(min(0.0, float(weights.min()))), F(max(0.0, float(weights.max())))
    if float(high) - float(low) < SMALLEST_RANGE:
        raise RigError(f"all weights of {name} are 0, so they have no scale: give other weights.")
    s, j, z = params(low, high)
    steps = rounded(np.clip(weights.astype(F) * j, -FURTHEST, FURTHEST))
    return np.clip(z + steps, -128, 127).astype(np.int8), float(s), int(z)


def output_range(name: str, low: float, high: float, limits: tuple[float, float], least: float) -> tuple[float, float]:
    """Return the range of an output, binary32 numbers.

    Args:
        name: of the layer, for messages.
        low, high: the least and the largest value of the calibration.
        limits: act_min and act_max.
        least: the smallest width that the layer allows.

    Raises:
        RigError: that width leaves the limits, so no file may have it (check 13 of docs/arithmetic-affine8.md).
    """
    low, high = (min(max(end, limits[0]), limits[1]) for end in (min(0.0, low), max(0.0, high)))
    width = max(SMALLEST_RANGE, least)
    if high - low < width:
        high = low + width
    if high > limits[1]:
        raise RigError(
            f"a step of the sums of {name} times 255 is {width:.3g}, more than its limit of {limits[1]:.3g}: its "
            "weights are too large for one scale, keep the layer in another format."
        )
    return float(F(low)), float(F(high))


def _affine8_nodes(
    graph: FloatGraph, ranges: Ranges, first: int, end: int, scales: list[float], rounding: str
) -> list[Node]:
    """Return the layers first..end - 1; `scales` has those of the values 0..first, and gets those of the others."""
    shapes = graph.shapes()
    nodes: list[Node] = []
    for index in range(first, end):
        layer = graph.layers[index]
        of_reads, own, name = [scales[value] for value in layer.reads], None, f"layer {index} of {graph.name}"
        lowest, highest = LIMITS["none" if layer.op in POOLS else layer.activation]
        limits = max(lowest, -LARGEST_FLOAT), min(highest, LARGEST_FLOAT)
        if layer.own is not None:
            weights, scale, zero = quantized_weights(name, layer.own.weights)
            own = Affine8Parameters(weights, layer.own.bias.astype(F), scale, zero)
        low, high = 0.0, 0.0
        if layer.op not in POOLS:
            least = STEPS * _least_step(layer, of_reads, own)
            low, high = output_range(name, *ranges[index], limits, least)
        scales.append(of_reads[0] if layer.op in POOLS else float(params(low, high)[0]))
        nodes.append(
            Affine8Node(
                "", layer.op, layer.reads, shapes[layer.reads[0]], shapes[index + 1], *layer.window, layer.block,
                *limits, own=own, low=low, high=high, rounding=rounding,
            )
        )  # fmt: skip
    return nodes


def _least_step(layer: FloatLayer, scales: list[float], own: Affine8Parameters | None) -> float:
    """Return the smallest scale that an output may have (docs/arithmetic-fqt.md, section 7: W / 255)."""
    if own is not None:
        return scales[0] * own.scale
    if layer.op is Op.MULTIPLY:
        return scales[0] * scales[1]
    return max(scales) * FRACTION_OF_ADD if layer.op is Op.ADD else 0.0


def _float_head(graph: FloatGraph, head: int) -> list[Node]:
    """Return a cast of the value before layer `head`, and the layers from there on in `float32`."""
    shapes = graph.shapes()
    shape, limit = shapes[head], LARGEST_FLOAT
    nodes: list[Node] = [Float32Node("", Op.CAST, (head,), shape, shape, act_min=-limit, act_max=limit)]
    for index in range(head, len(graph.layers)):
        layer = graph.layers[index]
        if min(layer.reads) < head:
            raise RigError(
                f"layer {index} of {graph.name} reads a value from before the cast: let the head begin later."
            )
        behind = replace(layer, reads=tuple(value + 1 for value in layer.reads))
        nodes.append(float_node("", behind, shapes[layer.reads[0]], shapes[index + 1]))
    return nodes
