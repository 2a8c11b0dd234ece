"""Post-training quantization: a float graph and images to calibrate with become a graph in TFLite's int8 convention.

Jacob et al. (2018), section 3, and the TensorFlow Lite 8-bit quantization specification; the factors are made as
TFLite's `QuantizeMultiplier` makes them. Weights keep to -126..126 (docs/arithmetic-zeroth-order.md, section 2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.errors import RigError
from hil.training.graph.factors import act_limits, add_factors, multiplier_of, nearest
from hil.training.graph.formats import POOLS, Op, named
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Parameters, Tflite8Node, Tflite8Parameters
from hil.training.networks.floating import FloatGraph

INPUT_SCALE, INPUT_ZERO = float(np.float32(1 / 255)), -128
LARGEST_WEIGHT, LARGEST_BIAS = 126, 2**30 - 2**20
FAINTEST = 2.0**-16  # a silent channel gets the scale of weights of this part of the layer's largest
SMALLEST_FACTOR = 2.0**-31  # twice the least that multiplier and shift can say
SMALLEST_RANGE = 2.0**-20
IMAGES_AT_A_TIME = 16


def quantize(graph: FloatGraph, images: np.ndarray, rounding: str = "double") -> Graph:
    """Quantize a float graph.

    Activations are asymmetric by tensor, from the least to the largest value seen (0 included, so that it is exact);
    weights symmetric by output channel, the largest magnitude becoming 126. A pool keeps scale and zero point of its
    input.

    Args:
        graph: what is quantized.
        images: uint8 [n, height, width, channels] to calibrate with.
        rounding: `double` or `single`, of every layer (docs/arithmetic-tflite.md, section 3).

    Raises:
        RigError: images of another shape, or a layer whose factors are out of range.
    """
    check_images(graph, images)
    grids = [(INPUT_SCALE, INPUT_ZERO)]
    for layer, (low, high) in zip(graph.layers, ranges(graph, images), strict=True):
        grids.append(grids[layer.reads[0]] if layer.op in POOLS else grid_of(low, high))
    layers = quantized_from(graph, 0, grids, rounding)
    return Graph(graph.name, tuple(layers), graph.in_shape, graph.classes, INPUT_SCALE, INPUT_ZERO)


def quantized_from(
    graph: FloatGraph, first: int, grids: Sequence[tuple[float, int]], rounding: str = "double"
) -> list[Tflite8Node]:
    """Return the layers of a float graph from `first` on, with scale and zero point of every value.

    Raises:
        RigError: a layer whose factors are out of range.
    """
    names = named([layer.op for layer in graph.layers])
    shapes = graph.shapes()
    layers = []
    for index, layer in enumerate(graph.layers[first:], start=first):
        scale, zero = grids[index + 1]
        act_min, act_max = act_limits(layer.activation, scale, zero)
        inputs = [grids[value][0] for value in layer.reads]
        own = None if layer.own is None else _parameters(layer.op, layer.own, inputs[0], scale)
        factors = add_factors(inputs[0], inputs[1], scale) if layer.op is Op.ADD else None
        layers.append(
            Tflite8Node(
                names[index], layer.op, layer.reads, shapes[layer.reads[0]], shapes[index + 1], *layer.window,
                layer.block, act_min, act_max, scale, zero, own, factors, rounding=rounding,
            )
        )  # fmt: skip
    return layers


def check_images(graph: FloatGraph, images: np.ndarray) -> None:
    """Raise RigError for images that a graph cannot be calibrated with."""
    if images.dtype != np.uint8 or images.shape[1:] != graph.in_shape or not len(images):
        raise RigError(
            f"the images to calibrate {graph.name} with are {images.dtype} {images.shape}: give uint8 [n, "
            f"{', '.join(map(str, graph.in_shape))}]."
        )


def ranges(graph: FloatGraph, images: np.ndarray) -> list[tuple[float, float]]:
    """Return the least and the largest value of every layer's output over the images, as binary32 numbers."""
    low, high = np.full(len(graph.layers), np.inf), np.full(len(graph.layers), -np.inf)
    for start in range(0, len(images), IMAGES_AT_A_TIME):
        values = graph.values(images[start : start + IMAGES_AT_A_TIME])[1:]
        low = np.minimum(low, [value.min() for value in values])
        high = np.maximum(high, [value.max() for value in values])
    return [(float(np.float32(a)), float(np.float32(b))) for a, b in zip(low, high, strict=True)]


def grid_of(low: float, high: float) -> tuple[float, int]:
    """Return scale (a binary32 number) and zero point that cover low..high and 0; those of 0..1 if it is always 0."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = float(np.float32((high - low if high - low > SMALLEST_RANGE else 1.0) / 255))
    return scale, int(np.clip(nearest(-128 - low / scale), -128, 127))


def _parameters(op: Op, own: Float32Parameters, scale_in: float, scale_out: float) -> Tflite8Parameters:
    by_channel = own.weights.astype(np.float64)
    if op is not Op.DEPTHWISE:
        by_channel = np.moveaxis(by_channel, 0, -1)  # the channel last
    bias = own.bias.astype(np.float64)
    largest = np.abs(by_channel).max(axis=tuple(range(by_channel.ndim - 1)))
    fits = np.maximum(np.abs(bias) / (LARGEST_BIAS * scale_in), SMALLEST_FACTOR * scale_out / scale_in)
    floor = max(float(largest.max()), SMALLEST_RANGE) * FAINTEST
    scale = np.maximum(np.maximum(largest, floor) / LARGEST_WEIGHT, fits).astype(np.float32)
    weights = np.clip(np.rint(by_channel / scale.astype(np.float64)), -LARGEST_WEIGHT, LARGEST_WEIGHT).astype(np.int8)
    if op is not Op.DEPTHWISE:
        weights = np.ascontiguousarray(np.moveaxis(weights, -1, 0))
    units = scale_in * scale.astype(np.float64)
    pairs = [multiplier_of(float(unit) / scale_out) for unit in units]
    return Tflite8Parameters(
        weights,
        np.clip(np.rint(bias / units), -LARGEST_BIAS, LARGEST_BIAS).astype(np.int32),
        np.array([multiplier for multiplier, _ in pairs], np.int32),
        np.array([shift for _, shift in pairs], np.int8),
        scale,
    )
