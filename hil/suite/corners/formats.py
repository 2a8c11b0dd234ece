"""Drawn float graphs as networks in each format, whose values reach both ends of their ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hil.suite.corners.reweighed import tied, to_steps_of_two
from hil.suite.corners.samples import drawn_samples
from hil.training.graph.chain import bfp8_node, chain
from hil.training.graph.factors import mean_factor
from hil.training.graph.file import decode, encode
from hil.training.graph.formats import POOLS, Op, Shape, named
from hil.training.graph.graph import Graph
from hil.training.graph.node import ChainNode, ChainParameters, N, Table, Tflite8Node, Tflite8Parameters
from hil.training.methods import METHODS
from hil.training.networks import convert_affine8
from hil.training.networks.convert_w16a8 import from_tflite8
from hil.training.networks.float32 import in_float32
from hil.training.networks.floating import FloatGraph
from hil.training.networks.quantize import LARGEST_WEIGHT, grid_of, quantized_from, ranges
from hil.training.reference.methods import reference_of

CALIBRATION = 16  # samples
REACHED = 0.6  # share of the range of a value that its grid covers: what lies beyond saturates
BELOW_RELU = 0.4  # of the largest value: how far the grid of a rectified value reaches below 0
LARGEST = 127
BLOCK_AT = 2  # byte of a layer's record (docs/network.md)
WITH_WORK = (Op.CONV2D, Op.FULLY_CONNECTED, Op.POINTWISE)
POOL_LIMITS = (-101, 93)  # of a pool in `tflite8` and `w16a8`
SOFT = -6  # exponent of logits whose largest difference is some ten powers of two
STEPS = np.arange(-128, 128)
EXPONENTS = (-12, -9, -6, -4, -2)  # of the weights in `bfp8`: errors of the logits are a series or exponentials
Range = tuple[float, float]


def in_tflite8(
    floats: FloatGraph,
    seed: int,
    roundings: tuple[str, ...] = ("double", "single"),
    means: bool = True,
    halves: bool = False,
) -> Graph:
    """Return a float graph in `tflite8`; a hard_swish becomes a table.

    Args:
        floats: the graph.
        seed: of the samples that it is calibrated with.
        roundings: of the layers, in turn.
        means: whether an average over the whole image becomes a mean.
        halves: whether all scales are powers of two, so that sums lie half way between two outputs.
    """
    grids = [floats.of_input]
    for layer, (low, high) in zip(floats.layers, _reached(floats, seed), strict=True):
        if halves:
            low, high = to_steps_of_two(low, high)
        grids.append(grids[layer.reads[0]] if layer.op in POOLS else grid_of(low, high))
    layers = []
    for index, node in enumerate(quantized_from(floats, 0, grids)):
        scale, zero = grids[node.reads[0]]
        node = replace(node, rounding=roundings[index % len(roundings)])
        if node.op is Op.HARD_SWISH:
            node = replace(node, op=Op.TABLE, factors=Table.holding(_hard_swish(scale * (STEPS - zero), node)))
        elif means and node.op is Op.AVERAGE_POOL and node.kernel == node.in_shape[:2] and node.pad == (0, 0):
            positions = node.in_shape[0] * node.in_shape[1]
            node = replace(node, op=Op.MEAN, kernel=(0, 0), stride=(0, 0), factors=mean_factor(scale, scale, positions))
            node = replace(node, act_min=POOL_LIMITS[0])
        elif node.op in POOLS:
            node = replace(node, act_min=POOL_LIMITS[0], act_max=POOL_LIMITS[1])
        elif node.own is not None and not halves:
            node = replace(node, own=_to_the_ends(node.own))
        layers.append(node)
    graph = Graph(floats.name, _named(layers), floats.in_shape, floats.classes, *floats.of_input)
    return _checked(_begun_like_a_layer(graph, seed))


def in_w16a8(floats: FloatGraph, seed: int, largest: int, halves: bool = False) -> Graph:
    """Return a float graph in `w16a8`, with weights up to `largest`."""
    graph = from_tflite8(in_tflite8(floats, seed, ("single",), means=False, halves=halves), largest)
    return _checked(_begun_like_a_layer(graph, seed))


def in_affine8(
    floats: FloatGraph,
    seed: int,
    rounding: str,
    within: tuple[int, int | None] = (0, None),
    reached: float = REACHED,
    halves: bool = False,
) -> Graph:
    """Return a float graph in `affine8`; layers before those `within` are in `tflite8`, those behind in `float32`.

    `reached` is the share of the values' ranges that is covered; the format has a least one.
    """
    first, head = within
    covered = _reached(floats, seed, reached)
    if halves:
        covered = [
            to_steps_of_two(low if layer.activation == "none" else 0.0, high)
            for layer, (low, high) in zip(floats.layers, covered, strict=True)
        ]
    if first:
        return convert_affine8.from_parts(in_tflite8(floats, seed), floats, covered, first, head, rounding)
    return convert_affine8.from_floats(floats, covered, head, rounding)


def in_floats(floats: FloatGraph) -> Graph:
    """Return a float graph in `float32`, some of whose weights are -0 or subnormal, with equal logits in pairs."""
    layers = [
        layer if layer.own is None else replace(layer, own=replace(layer.own, weights=_rare(layer.own.weights)))
        for layer in floats.layers
    ]
    layers[-1] = tied(layers[-1])
    return _checked(in_float32(replace(floats, layers=tuple(layers))))


def in_bfp8(seed: int, in_shape: Shape, classes: int, plan: tuple[tuple[Op, int, int], ...], kind: str) -> Graph:
    """Return a chain in `bfp8` drawn from `seed`.

    Args:
        seed: of its weights, a part of which are -127 and 127.
        in_shape, classes: of the chain.
        plan: operation, kernel and outputs of the layers but the last. A conv2d has padding kernel // 2.
        kind: of its weights: `loud`, none is negative, so that sums are large; `soft`, logits are close to each other.
    """
    rng, exponent = np.random.Generator(np.random.PCG64(seed)), EXPONENTS[seed % len(EXPONENTS)]
    layers: list[ChainNode] = []
    shape = in_shape
    for op, kernel, outputs in (*plan, (Op.FULLY_CONNECTED, 0, classes)):
        layer = _chained(op, shape, kernel, outputs, exponent, rng)
        if kind == "loud" and layer.own is not None:
            layer = replace(layer, own=layer.own.with_weights(np.abs(layer.own.weights)))
        layers.append(layer)
        shape = layers[-1].out_shape
    graph = _checked(_begun_like_a_layer(chain(_named(layers), classes, name="corners"), seed))
    return _softened(graph, seed) if kind == "soft" else graph


def _begun_like_a_layer(graph: Graph, seed: int) -> Graph:
    """Return a graph whose first weights look like a layer with a work buffer, in a block that no other is in.

    The weights of the first layer may follow the record of the last one: who reads a record too many finds this layer.
    """
    first, *others = graph.layers
    if first.own is None:
        return graph
    weights = first.own.weights.copy()
    unused, at = {2, 3, 4} - {layer.block for layer in graph.layers}, BLOCK_AT // weights.itemsize
    weights.flat[0], weights.flat[at : at + 1] = WITH_WORK[seed % len(WITH_WORK)], min(unused, default=1)
    return replace(graph, layers=(first.with_own(first.own.with_weights(weights)), *others))


def _softened(graph: Graph, seed: int) -> Graph:
    """Return a chain in `bfp8` whose logits have SOFT as their usual exponent: they are few powers of two apart."""
    plain = reference_of(METHODS["elasticzo-int8"].on(graph, "full-zo"))
    _, exponents = plain.logits(drawn_samples(seed, graph.in_shape, CALIBRATION))
    at = len(graph.layers) - 1
    exponent = graph.own_of(ChainParameters)[at].exponent + SOFT - int(np.median(exponents))
    return _checked(graph.changed({at: {"exponent": exponent}}))


def _chained(op: Op, shape: Shape, kernel: int, outputs: int, exponent: int, rng: np.random.Generator) -> ChainNode:
    height, width, channels = shape
    window = kernel, kernel
    if op is Op.RELU:
        return bfp8_node("", op, shape, shape)
    if op is Op.MAX_POOL:
        return bfp8_node("", op, shape, (height // kernel, width // kernel, channels), window, window)
    if op is Op.FULLY_CONNECTED:
        weights = _drawn_weights((outputs, height * width * channels), rng)
        return bfp8_node("", op, shape, (1, 1, outputs), weights=weights, weight_exp=exponent)
    pad = kernel // 2
    out = height + 2 * pad - kernel + 1, width + 2 * pad - kernel + 1, outputs
    weights = _drawn_weights((outputs, *window, channels), rng)
    return bfp8_node("", op, shape, out, window, (1, 1), (pad, pad), weights, exponent)


def _drawn_weights(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return np.clip(np.rint(rng.normal(0, 70, shape)), -LARGEST, LARGEST).astype(np.int8)


def _reached(floats: FloatGraph, seed: int, share: float = REACHED) -> list[Range]:
    """Return a range of each layer's output that its values leave at both ends, where no activation limits them."""
    found = []
    for layer, (low, high) in zip(
        floats.layers, ranges(floats, drawn_samples(seed, floats.in_shape, CALIBRATION)), strict=True
    ):
        below = -BELOW_RELU * high if layer.activation != "none" else low
        found.append((share * below, share * high))
    return found


def _to_the_ends(own: Tflite8Parameters) -> Tflite8Parameters:
    """Return parameters whose largest weights are -127 and 127, where training cannot raise them."""
    at_end = np.abs(own.weights) == LARGEST_WEIGHT
    return replace(own, weights=np.where(at_end, LARGEST * np.sign(own.weights), own.weights).astype(np.int8))


def _hard_swish(x: np.ndarray, node: Tflite8Node) -> np.ndarray:
    real = x * np.clip(x + 3, 0, 6) / 6
    table: np.ndarray = np.clip(np.rint(real / node.scale) + node.zero, -128, 127)
    return table.astype(np.int8)


def _rare(weights: np.ndarray) -> np.ndarray:
    rare, flat = weights.copy(), np.arange(weights.size).reshape(weights.shape)
    rare[flat % 11 == 3] = -0.0
    rare[flat % 13 == 5] *= np.float32(2.0**-135)
    return rare


def _named(layers: Sequence[N]) -> tuple[N, ...]:
    names = named([layer.op for layer in layers])
    return tuple(replace(layer, name=name) for layer, name in zip(layers, names, strict=True))


def _checked(graph: Graph) -> Graph:
    """Return a graph that every reader of its file accepts."""
    return decode(encode(graph), graph.name)
