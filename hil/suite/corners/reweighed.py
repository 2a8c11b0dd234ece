"""Float graphs with other weights: sums that are exact halves, values beyond their limits, errors of least width."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hil.training.graph.graph import Op
from hil.training.networks.floating import FloatGraph, FloatLayer

STEPS, MIDDLE, LARGEST = 255, 128, 126
OF_TWO = 256.0  # what a byte of a sample is divided by, so that its step is a power of two
LEAST_WIDTH = 2.0**-100  # of an error in floats that is not 0 (docs/arithmetic-affine8.md, section 2)


def even(floats: FloatGraph, affine: bool = False, octaves: int = 1) -> FloatGraph:
    """Return a graph whose weights have steps that are powers of two, in each channel; in `affine8`, in each layer.

    The steps of one layer are up to `octaves` - 1 halvings apart, in turn.
    """
    return replace(floats, unit=OF_TWO, layers=tuple(_even(layer, affine, octaves) for layer in floats.layers))


def _even(layer: FloatLayer, affine: bool, octaves: int) -> FloatLayer:
    if layer.weights is None:
        return layer
    step = 2.0 ** math.ceil(math.log2(float(np.abs(layer.weights).max()) / LARGEST))
    axes = tuple(range(layer.weights.ndim - 1)) if layer.op is Op.DEPTHWISE else tuple(range(1, layer.weights.ndim))
    largest = np.abs(layer.weights).max(axis=axes, keepdims=True)
    weights = np.rint(layer.weights / largest * LARGEST)
    if affine:
        weights.flat[0], weights.flat[-1] = -MIDDLE, STEPS - MIDDLE
    channels = np.moveaxis(weights, 0, -1) if layer.op is not Op.DEPTHWISE else weights
    channels *= 0.5 ** (np.arange(channels.shape[-1]) % octaves)
    return replace(layer, weights=(weights * step).astype(np.float32))


def at_knees(floats: FloatGraph) -> FloatGraph:
    """Return a graph in which two channels before a knee are constant: exactly -3 and 3, or 0 and 6 before a relu6."""
    swished = {layer.reads[0] for layer in floats.layers if layer.op is Op.HARD_SWISH}
    layers = list(floats.layers)
    for index, layer in enumerate(layers):
        knees = (0, 6) if layer.activation == "relu6" else (-3, 3)
        if layer.weights is None or (layer.activation == "none" and index + 1 not in swished):
            continue
        assert layer.bias is not None and layer.op is not Op.DEPTHWISE
        weights, bias = layer.weights.copy(), layer.bias.copy()
        weights[1:3], bias[1:3] = 0, knees
        layers[index] = replace(layer, weights=weights, bias=bias)
    return replace(floats, layers=tuple(layers))


def to_steps_of_two(low: float, high: float) -> tuple[float, float]:
    """Return a range of 255 steps, a power of two each, that covers at least half of another one."""
    step = 2.0 ** math.floor(math.log2(max(high - low, 2.0**-16) / STEPS))
    below = int(np.clip(round(-low / step), 0, STEPS))
    return -below * step, (STEPS - below) * step


def scaled(floats: FloatGraph, exponents: Sequence[int]) -> FloatGraph:
    """Return a graph whose layers with weights have these times powers of two, one exponent a layer."""
    of_layer = iter(exponents)
    layers = (
        layer if layer.weights is None else replace(layer, weights=layer.weights * np.float32(2.0 ** next(of_layer)))
        for layer in floats.layers
    )
    return replace(floats, layers=tuple(layers))


def tied(layer: FloatLayer) -> FloatLayer:
    """Return a last layer whose outputs are equal in pairs, so that two are the largest; an odd one is as the first."""
    assert layer.weights is not None and layer.bias is not None
    as_one = [
        channel - channel % 2 if channel + 1 < len(layer.bias) or channel % 2 else 0
        for channel in range(len(layer.bias))
    ]
    return replace(layer, weights=layer.weights[as_one], bias=layer.bias[as_one])


def faint(floats: FloatGraph, head: int, width: float) -> FloatGraph:
    """Return a graph of two classes with equal logits, whose error below layer `head` has exactly a width.

    Softmax gives a half each, so the error of the logits is -1/2 and 1/2.
    """
    layer = floats.layers[head]
    assert layer.weights is not None and layer.bias is not None and len(layer.weights) == 2
    weights = np.zeros_like(layer.weights)
    weights[0, 0] = 2 * width
    changed = replace(layer, weights=weights, bias=np.zeros_like(layer.bias))
    return replace(floats, layers=(*floats.layers[:head], changed, *floats.layers[head + 1 :]))
