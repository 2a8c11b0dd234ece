"""The update of weights and biases, and of ranges (docs/arithmetic-fqt.md, sections 6 to 8)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from hil.training.graph.affine8 import F, params
from hil.training.graph.formats import POOLS, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Affine8Node, Affine8Parameters, Parameters, WithBias
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.reference.formats.affine8.rescale import quantized
from hil.training.reference.methods.fqt_optimizers import Optimizer, Shape
from hil.training.reference.methods.fqt_passes import StepFailure

COLLAPSED, BEYOND, TOO_WIDE = 1, 2, 4  # causes of a step that fails
LARGEST_WEIGHT = F(2.0**20)
NARROWEST, WIDEST = F(2.0**-20), F(2.0**30)  # of a range
LARGEST_H, LARGEST_VARIANCE = F(2.0**50), F(2.0**100)
STEPS = F(255)
SHARE = F(2.0**14)  # of one of the two values of an add


@dataclass(eq=False)
class LayerGradient:
    """What the samples of a step gave for a trained layer.

    Attributes:
        weights: G, float32 [O, K]; times u after `scale`.
        biases: G, float32 [O], likewise; None if biases are not trained.
        kept: whether a sample kept the channel, bool [O].
        running: mu and nu, float32 [O], if they are running.
    """

    weights: np.ndarray
    biases: np.ndarray | None
    kept: np.ndarray
    running: tuple[np.ndarray, np.ndarray] | None = None

    def scale(self, u: np.float32) -> None:
        """Multiply all gradients by u."""
        self.weights = u * self.weights
        self.biases = None if self.biases is None else u * self.biases

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and mean square of the limited gradients of each channel, float32 [O]."""
        h, taps = np.clip(self.weights, -LARGEST_H, LARGEST_H), F(self.weights.shape[1])
        mean, square = (np.add.accumulate(each, axis=1, dtype=F)[:, -1] / taps for each in (h, h * h))
        return mean, square

    def standardised(self, settings: FqtSettings, factor: np.float32) -> np.ndarray:
        """Return the gradients of the weights as they are standardised, times a factor, float32 [O, K]."""
        if settings.standardise == "off":
            return factor * self.weights
        mean, square = self.moments() if self.running is None else self.running
        deviation = np.sqrt(np.minimum(np.maximum(square - mean * mean, F(0)), LARGEST_VARIANCE))
        r: np.ndarray = factor / (deviation + F(settings.epsilon))
        found: np.ndarray = r[:, None] * (self.weights - mean[:, None])
        return found


def updated(
    graph: Graph,
    gradients: dict[int, LayerGradient],
    observed: dict[int, tuple[int, int]],
    settings: FqtSettings,
    optimizer: Optimizer,
) -> Graph | StepFailure:
    """Return the graph after a step, or why it fails.

    Args:
        graph: before the step.
        gradients: by trained layer, times u.
        observed: smallest and largest stored q of the outputs in `affine8`, but of pools, from the first trained layer
            on, by layer.
        settings: of the step.
        optimizer: which has begun the step; its tensors are those of `shapes`.
    """
    layers = list(graph.layers)
    places = count()
    for index, gradient in gradients.items():
        d = optimizer.change(next(places), gradient.standardised(settings, optimizer.factor), gradient.kept[:, None])
        of_biases = None
        if gradient.biases is not None:
            of_biases = optimizer.change(next(places), optimizer.factor * gradient.biases, gradient.kept)
        found = _updated(graph.own[index], layers[index].op, (d, of_biases))
        if isinstance(found, int):
            return StepFailure(index, found)
        layers[index] = layers[index].with_own(found)
    return _with_ranges(replace(graph, layers=tuple(layers)), min(gradients), observed, settings)


def shapes(gradients: dict[int, LayerGradient]) -> list[Shape]:
    """Return the shapes of what the optimizer moves: of each trained layer its weights, and its biases if trained."""
    each = ((gradient.weights, gradient.biases) for gradient in gradients.values())
    return [tensor.shape for tensors in each for tensor in tensors if tensor is not None]


def _updated(own: Parameters, op: Op, changes: tuple[np.ndarray, np.ndarray | None]) -> Parameters | int:
    """Return the parameters of a trained layer with new weights and biases, or the cause of the failure."""
    d, of_biases = changes
    d = (d.T if op is Op.DEPTHWISE else d).reshape(own.weights.shape)
    if isinstance(own, Affine8Parameters):
        real = F(own.scale) * (own.weights.astype(np.int64) - own.zero).astype(F) - d
    else:
        real = own.weights - d
    if _beyond(real):
        return BEYOND
    new = own.with_weights(real)
    if isinstance(own, Affine8Parameters):
        low, high = np.minimum(F(0), real.min()), np.maximum(F(0), real.max())
        if not high - low >= NARROWEST:
            return COLLAPSED
        s, j, z = params(low, high)
        new = replace(own, weights=quantized(real, j, z).astype(np.int8), scale=float(s), zero=int(z))
    if of_biases is not None and isinstance(new, WithBias):
        bias = new.bias - of_biases
        if _beyond(bias):
            return BEYOND
        new = replace(new, bias=bias)
    return new


def _beyond(numbers: np.ndarray) -> bool:
    return not bool(np.all(np.abs(numbers) <= LARGEST_WEIGHT))  # not-a-number compares false


def _with_ranges(
    graph: Graph, first: int, observed: dict[int, tuple[int, int]], settings: FqtSettings
) -> Graph | StepFailure:
    layers = list(graph.layers)
    scales = [graph.scale_of(value) for value in range(len(layers) + 1)]  # by value: the new ones of what was passed
    for index in range(first, len(layers)):
        layer = layers[index]
        reads = [F(scales[value]) for value in layer.reads]
        if layer.op in POOLS:
            scales[index + 1] = float(reads[0])
        elif isinstance(layer, Affine8Node):
            low, high = _range(layer, *observed[index], _least_width(layer, reads), settings)
            if not high - low <= WIDEST:
                return StepFailure(index, TOO_WIDE)
            layers[index] = replace(layer, low=float(low), high=float(high))
            scales[index + 1] = float(params(low, high)[0])
    return replace(graph, layers=tuple(layers))


def _range(
    layer: Affine8Node, lo: int, hi: int, least: np.float32, settings: FqtSettings
) -> tuple[np.float32, np.float32]:
    """Return the ends of the new range of an output whose stored values reached from lo to hi."""
    low, high, s = F(layer.low), F(layer.high), F(layer.scale)
    growth, momentum = F(settings.range_growth), F(settings.range_momentum)
    width = high - low
    up = high + growth * width if hi == 127 else high + momentum * (s * F(hi - layer.zero) - high)
    down = low - growth * width if lo == -128 else low + momentum * (s * F(lo - layer.zero) - low)
    up, down = min(max(up, F(0)), F(layer.act_max)), max(min(down, F(0)), F(layer.act_min))
    return down, down + least if up - down < least else up


def _least_width(layer: Affine8Node, reads: list[np.float32]) -> np.float32:
    """Return W of scales of the values that a layer reads."""
    least = F(0)
    if layer.own is not None:
        least = STEPS * (reads[0] * F(layer.own.scale))
    elif layer.op is Op.MULTIPLY:
        least = STEPS * (reads[0] * reads[1])
    elif layer.op is Op.ADD:
        least = STEPS * (max(reads) / SHARE)
    return max(least, NARROWEST)
