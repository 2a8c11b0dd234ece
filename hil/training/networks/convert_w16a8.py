"""Conversion to `w16a8`: from `tflite8`, from a float graph with images to calibrate with, and heads from prototypes.

docs/arithmetic-w16a8.md, section 5. All operations are in binary64.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hil.errors import RigError
from hil.training.graph.factors import act_limits, add_factors
from hil.training.graph.file import checked
from hil.training.graph.formats import POOLS, Op, named
from hil.training.graph.graph import Graph
from hil.training.graph.node import AddFactors, Tflite8Node, W16A8Node, W16A8Parameters
from hil.training.graph.w16a8_contents import SATURATES_FROM, SHIFTS, needs_saturating_shift
from hil.training.networks.floating import FloatGraph
from hil.training.networks.quantize import (
    INPUT_SCALE,
    INPUT_ZERO,
    LARGEST_BIAS,
    SMALLEST_RANGE,
    check_images,
    grid_of,
    ranges,
)

W16, W8 = 32767, 127  # w_max of 16w8a and of 8w8a
LARGEST_CONVERTED = {W16: 32256, W8: 126}  # Q: what is left is for the perturbation
SMALLEST_FACTOR = 2.0**-31


def from_tflite8(graph: Graph, largest: int = W16, name: str = "") -> Graph:
    """Convert a graph in `tflite8`; scales, zero points and limits of all values are kept.

    Args:
        graph: what is converted.
        largest: w_max of every layer, 32767 or 127.
        name: of the new graph; empty: that of the old one.

    Raises:
        RigError: a layer whose factor has no multiplier and shift.
        NetworkFileError: a layer whose sums have no bound.
    """
    layers = []
    for layer in graph.nodes(Tflite8Node):
        own, factors = None, layer.factors if isinstance(layer.factors, AddFactors) else None
        converted = W16A8Node(
            layer.name, layer.op, layer.reads, layer.in_shape, layer.out_shape, layer.kernel, layer.stride, layer.pad,
            layer.block, layer.act_min, layer.act_max, layer.scale, layer.zero, None, factors,
        )  # fmt: skip
        if layer.own is not None:
            old = layer.own
            reads = graph.scale_of(layer.reads[0]), graph.zero_of(layer.reads[0])
            scale = old.scale.astype(np.float64)
            by_channel = scale if layer.op is Op.DEPTHWISE else scale.reshape(-1, *[1] * (old.weights.ndim - 1))
            bias = old.bias * reads[0] * scale
            own = parameters(converted, reads, old.weights * by_channel, bias, largest)
        layers.append(replace(converted, own=own))
    return checked(replace(graph, name=name or graph.name, layers=tuple(layers)))


def from_floats(graph: FloatGraph, images: np.ndarray, largest: int = W16) -> Graph:
    """Convert a float graph; the values' scales and zero points come from the range of each value over the images.

    Args:
        graph: what is converted.
        images: uint8 [n, height, width, channels] to calibrate with.
        largest: w_max of every layer, 32767 or 127.

    Raises:
        RigError: images of another shape, or a layer whose factors are out of range.
        NetworkFileError: a layer whose sums have no bound.
    """
    check_images(graph, images)
    grids = [(INPUT_SCALE, INPUT_ZERO)]
    for layer, (low, high) in zip(graph.layers, ranges(graph, images), strict=True):
        grids.append(grids[layer.reads[0]] if layer.op in POOLS else grid_of(low, high))
    shapes, layers = graph.shapes(), []
    for index, (name, layer) in enumerate(zip(named([layer.op for layer in graph.layers]), graph.layers, strict=True)):
        scale, zero = grids[index + 1]
        first, *second = (grids[value] for value in layer.reads)
        factors = add_factors(first[0], second[0][0], scale) if layer.op is Op.ADD else None
        node = W16A8Node(
            name, layer.op, layer.reads, shapes[layer.reads[0]], shapes[index + 1], *layer.window, layer.block,
            *act_limits(layer.activation, scale, zero), scale, zero, None, factors,
        )  # fmt: skip
        if layer.own is not None:
            node = replace(node, own=parameters(node, first, layer.own.weights, layer.own.bias, largest))
        layers.append(node)
    return checked(Graph(graph.name, tuple(layers), graph.in_shape, graph.classes, INPUT_SCALE, INPUT_ZERO))


def with_prototypes(graph: Graph, features: np.ndarray, labels: np.ndarray) -> Graph:
    """Return the graph with a last layer whose logits are least squared distances to prototypes (ProtoNets).

    Args:
        graph: in `w16a8`; what its last layer reads are the features.
        features: real numbers [n, inputs of the last layer] of the support samples.
        labels: classes 0, 1, ... [n]; each has a sample.

    Raises:
        RigError: features whose factors are out of range.
        NetworkFileError: a layer whose sums have no bound.
    """
    real = np.asarray(features, np.float64)
    means = np.stack([real[labels == label].mean(axis=0) for label in range(int(labels.max()) + 1)])
    return with_head(graph, 2 * means, -(means**2).sum(axis=1), real)


def with_head(graph: Graph, weights: np.ndarray, bias: np.ndarray, features: np.ndarray, room: float = 1.0) -> Graph:
    """Return the graph with another last layer; its output's scale comes from the logits of some features.

    Args:
        graph: in `w16a8`; what its last layer reads are the features.
        weights, bias: real numbers [classes, features] and [classes].
        features: real numbers [n, features] to calibrate with.
        room: how far weights and logits may grow in training, as a multiple of the largest ones.

    Raises:
        RigError: features whose factors are out of range.
        NetworkFileError: a layer whose sums have no bound.
    """
    last, real = graph.node(-1, W16A8Node), np.asarray(features, np.float64)
    known = graph.own_of(W16A8Parameters)[len(graph.layers) - 1]
    logits = real @ weights.T + bias
    scale, zero = grid_of(room * float(logits.min()), room * float(logits.max()))
    act_min, act_max = act_limits("none", scale, zero)
    node = replace(
        last, out_shape=(1, 1, len(bias)), scale=scale, zero=zero, act_min=act_min, act_max=act_max, own=None
    )
    value = last.reads[0]
    reads = graph.scale_of(value), graph.zero_of(value)
    own = parameters(node, reads, weights, bias, known.largest, room)
    return checked(replace(graph, layers=(*graph.layers[:-1], replace(node, own=own)), classes=len(bias)))


def parameters(
    layer: W16A8Node, reads: tuple[float, int], weights: np.ndarray, bias: np.ndarray, largest: int, room: float = 1.0
) -> W16A8Parameters:
    """Return the parameters of a layer with the scale of its output.

    Args:
        layer: with its shapes and the scale of its output.
        reads: scale and zero point of what it reads.
        weights, bias: real numbers, in the order of the network file.
        largest: w_max, 32767 or 127.
        room: how far weights may grow in training, as a multiple of the largest one.

    Raises:
        RigError: its factor has no multiplier and shift.
    """
    input_scale, input_zero = reads
    weights, bias = weights.astype(np.float64), bias.astype(np.float64)
    q, ratio = LARGEST_CONVERTED[largest], layer.scale / input_scale
    reach = max(room * float(np.abs(weights).max()), SMALLEST_RANGE)
    least = [reach / q, float(np.abs(bias).max()) / (LARGEST_BIAS * input_scale), SMALLEST_FACTOR * ratio]
    if needs_saturating_shift(weights.size // len(bias), largest, input_zero):
        least.append(2.0**SATURATES_FROM * ratio)
    scale = np.float32(max(least))
    unit = input_scale * float(scale)
    multiplier, shift = _factor(layer.name, unit / layer.scale)
    return W16A8Parameters(
        np.clip(np.rint(weights / float(scale)), -q, q).astype("<i2"),
        np.clip(np.rint(bias / unit), -LARGEST_BIAS, LARGEST_BIAS).astype(np.int32),
        multiplier,
        shift,
        float(scale),
        largest,
    )


def _factor(name: str, factor: float) -> tuple[int, int]:
    part, shift = math.frexp(factor)
    multiplier = math.floor(part * 2**31 + 0.5)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    least, most = SHIFTS
    if not least <= shift <= most:
        raise RigError(
            f"layer {name} has a factor of {factor:.3g}, whose shift of {shift} is outside {least}..{most}: calibrate "
            "with other images."
        )
    return multiplier, shift
