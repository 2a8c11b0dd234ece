"""A graph's layers on the plain int64 path of `tflite_layers`, by which the fast path of the reference is checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import MeanFactor, Node, Table
from hil.training.reference.formats.tflite8.rescale import Quantization
from tests.oracle import tflite_layers as layers
from tests.oracle.tflite_layers import Window

PIXEL_OFFSET = 128  # a pixel p becomes p - 128


def input_values(graph: Graph, images: np.ndarray) -> np.ndarray:
    """Return uint8 images [B, H, W] or [B, H, W, C] as int8 [B, H, W, C].

    See docs/arithmetic-zeroth-order.md, section 1.
    """
    return (images.reshape(-1, *graph.in_shape).astype(np.int16) - PIXEL_OFFSET).astype(np.int8)


def window_of(layer: Node) -> Window:
    """Return the windows of a convolution or a pool."""
    return Window(layer.kernel, (layer.out_shape[0], layer.out_shape[1]), layer.stride, layer.pad)


def quantization_of(graph: Graph, layer: Node) -> Quantization:
    """Return what a layer rescales by: of a layer with weights, a mean, or the last rescaling of an add."""
    if layer.own is not None:
        factors = layer.own.multiplier.astype(np.int64), layer.own.shift.astype(np.int64)
    elif isinstance(layer.factors, MeanFactor):
        factors = np.array(layer.factors.multiplier, np.int64), np.array(layer.factors.shift, np.int64)
    else:
        assert layer.factors is not None
        factors = np.array(layer.factors.multipliers[2], np.int64), np.array(layer.factors.shifts[2], np.int64)
    return Quantization(
        graph.zero_of(layer.reads[0]), layer.zero, layer.act_min, layer.act_max, *factors, layer.rounding
    )


def run(
    graph: Graph, layer: Node, inputs: Sequence[np.ndarray], weights: np.ndarray | None, bias: np.ndarray | None
) -> np.ndarray:
    """Run one layer.

    Args:
        graph: whose layer it is.
        layer: the layer.
        inputs: int8 [..., H, W, C], what it reads.
        weights, bias: int8 and int32 in the place of the layer's own, in their shapes; None where it has none.

    Returns:
        int8 [..., oh, ow, O].

    Raises:
        OverflowError: a sum is not in int32.
    """
    x, limits = inputs[0], (layer.act_min, layer.act_max)
    if layer.op is Op.MAX_POOL:
        return layers.max_pool(x, window_of(layer), *limits)
    if layer.op is Op.AVERAGE_POOL:
        return layers.average_pool(x, window_of(layer), *limits)
    if isinstance(layer.factors, Table):
        return layer.factors.outputs[x.astype(np.int16) + 128]
    quantization = quantization_of(graph, layer)
    if layer.op is Op.MEAN:
        return layers.mean(x, quantization)
    if layer.op is Op.ADD:
        assert layer.factors is not None
        zeros = graph.zero_of(layer.reads[0]), graph.zero_of(layer.reads[1])
        return layers.add(x, inputs[1], *zeros, layer.factors, quantization)
    assert weights is not None and bias is not None
    if layer.op is Op.FULLY_CONNECTED:
        flat = x.reshape(*x.shape[:-3], -1)
        return layers.fully_connected(flat, weights, bias, quantization)[..., None, None, :]
    if layer.op is Op.DEPTHWISE:
        return layers.depthwise(x, weights, bias, window_of(layer), quantization)
    return layers.conv2d(x, weights, bias, window_of(layer), quantization)


def forward(graph: Graph, images: np.ndarray) -> list[np.ndarray]:
    """Return all values of uint8 images [B, H, W] or [B, H, W, C] with the graph's own weights.

    There are n + 1 of them, int8 [B, H, W, C].
    """
    values = [input_values(graph, images)]
    for layer in graph.layers:
        weights, bias = (None, None) if layer.own is None else (layer.own.weights, layer.own.bias)
        values.append(run(graph, layer, [values[value] for value in layer.reads], weights, bias))
    return values
