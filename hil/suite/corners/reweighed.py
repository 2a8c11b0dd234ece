"""Float graphs with other weights: sums that are exact halves, values beyond their limits, errors of least width."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.node import Float32Parameters
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
    if layer.own is None:
        return layer
    old = layer.own.weights
    step = 2.0 ** math.ceil(math.log2(float(np.abs(old).max()) / LARGEST))
    axes = tuple(range(old.ndim - 1)) if layer.op is Op.DEPTHWISE else tuple(range(1, old.ndim))
    largest = np.abs(old).max(axis=axes, keepdims=True)
    weights = np.rint(old / largest * LARGEST)
    if affine:
        weights.flat[0], weights.flat[-1] = -MIDDLE, STEPS - MIDDLE
    channels = np.moveaxis(weights, 0, -1) if layer.op is not Op.DEPTHWISE else weights
    channels *= 0.5 ** (np.arange(channels.shape[-1]) % octaves)
    return replace(layer, own=replace(layer.own, weights=(weights * step).astype(np.float32)))


def at_knees(floats: FloatGraph) -> FloatGraph:
    """Return a graph in which two channels before a knee are constant: exactly -3 and 3, or 0 and 6 before a relu6."""
    swished = {layer.reads[0] for layer in floats.layers if layer.op is Op.HARD_SWISH}
    layers = list(floats.layers)
    for index, layer in enumerate(layers):
        knees = (0, 6) if layer.activation == "relu6" else (-3, 3)
        if layer.own is None or (layer.activation == "none" and index + 1 not in swished):
            continue
        assert layer.op is not Op.DEPTHWISE
        weights, bias = layer.own.weights.copy(), layer.own.bias.copy()
        weights[1:3], bias[1:3] = 0, knees
        layers[index] = replace(layer, own=Float32Parameters(weights, bias))
    return replace(floats, layers=tuple(layers))


def to_steps_of_two(low: float, high: float) -> tuple[float, float]:
    """Return a range of 255 steps, a power of two each, that covers at least half of another one."""
    step = 2.0 ** math.floor(math.log2(max(high - low, 2.0**-16) / STEPS))
    below = int(np.clip(round(-low / step), 0, STEPS))
    return -below * step, (STEPS - below) * step


def scaled(floats: FloatGraph, exponents: Sequence[int]) -> FloatGraph:
    """Return a graph whose layers with weights have these times powers of two, one exponent a layer."""
    of_layer, layers = iter(exponents), list(floats.layers)
    for index, layer in enumerate(layers):
        if layer.own is not None:
            weights = layer.own.weights * np.float32(2.0 ** next(of_layer))
            layers[index] = replace(layer, own=replace(layer.own, weights=weights))
    return replace(floats, layers=tuple(layers))


def tied(layer: FloatLayer) -> FloatLayer:
    """Return a last layer whose outputs are equal in pairs, so that two are the largest; an odd one is as the first."""
    if layer.own is None:
        return layer
    weights, bias = layer.own.weights, layer.own.bias
    as_one = [channel - channel % 2 if channel + 1 < len(bias) or channel % 2 else 0 for channel in range(len(bias))]
    return replace(layer, own=Float32Parameters(weights[as_one], bias[as_one]))


def faint(floats: FloatGraph, head: int, width: float) -> FloatGraph:
    """Return a graph of two classes with equal logits, whose error below layer `head` has exactly a width.

    Softmax gives a half each, so the error of the logits is -1/2 and 1/2.
    """
    layer = floats.layers[head]
    assert layer.own is not None and len(layer.own.weights) == 2
    weights = np.zeros_like(layer.own.weights)
    weights[0, 0] = 2 * width
    changed = replace(layer, own=Float32Parameters(weights, np.zeros_like(layer.own.bias)))
    return replace(floats, layers=(*floats.layers[:head], changed, *floats.layers[head + 1 :]))
