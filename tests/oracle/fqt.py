"""A step of FQT, one weight at a time: docs/arithmetic-fqt.md, sections 2 to 8."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.oracle.affine8 import forward, logits_error, loss_and_error
from tests.oracle.affine8_backward import Gradients, OwnGradient, StepFailed, backward
from tests.oracle.affine8_network import WEIGHTED, Layer, Network, digest
from tests.oracle.affine8_numbers import Range, Tensor, ends, float_of, held, params, quantize, running_tensor
from tests.oracle.float32 import ONE, ZERO, Floats
from tests.oracle.numbers import F32
from tests.oracle.qzo_ff import sqrt32

NARROWEST, WIDEST = F32(2.0**-20), F32(2.0**30)
LARGEST_WEIGHT = F32(2.0**20)
LARGEST_MEAN, LARGEST_SQUARE = F32(2.0**50), F32(2.0**100)
MOST_SAMPLES = 2**24
STEPS = F32(255)


@dataclass
class Channel:
    """The running statistics of a channel: mu, nu and n."""

    mean: np.float32 = ZERO
    square: np.float32 = ZERO
    count: int = 0


@dataclass
class Element:
    """What an optimizer keeps of a trained weight or bias: a velocity v, or moments m and v."""

    m: np.float32 = ZERO
    v: np.float32 = ZERO


@dataclass
class Sums:
    """What a step gathers for a trained layer: G of weights and biases, and the channels that a sample kept."""

    weights: Floats
    bias: Floats
    kept: set[int] = field(default_factory=set)


def total(values: Sequence[np.float32]) -> np.float32:
    """Return the sum of binary32 numbers in order, from +0.0."""
    found = ZERO
    for one in values:
        found = found + one
    return found


def share(settings: Any, loss: np.float32, largest: np.float32) -> np.float32:
    """Return the rate of channels that a sample keeps (section 4)."""
    low, high = F32(settings.lambda_min), F32(settings.lambda_max)
    if settings.rate == "difference":
        return min(low + (largest - loss) * (high - low), ONE)
    r = ZERO if largest == 0 else loss / largest
    return min(low + r * (high - low), ONE)


def count_of(rate: np.float32, channels: int) -> int:
    """Return k, how many of some channels are kept."""
    return max(math.floor(rate * F32(channels)), 1)


def largest_norms(norms: Sequence, k: int) -> list[int]:
    """Return the k channels with the largest norms, of equal ones the lower, in ascending order."""
    return sorted(sorted(range(len(norms)), key=lambda o: (-norms[o], o))[:k])


class PlainFqt:
    """FQT on a copy of a network, which a step changes.

    Attributes:
        network: with the trained weights and ranges.
        shares: of the last step, for each sample the share of channels that it keeps.
        kept: of the last step, for each sample the channels kept by layer.
        passes: of the last step, for each sample what its backward pass found.
        observed: of the last step, lo and hi by layer.
    """

    def __init__(self, network: Network, settings: Any) -> None:
        self.network = copy.deepcopy(network)
        self.configure(settings)

    def configure(self, settings: Any) -> None:
        """Begin anew with settings; weights and ranges stay."""
        self.settings, layers = settings, self.network.layers
        weighted = [i for i, layer in enumerate(layers) if layer.op in WEIGHTED and layer.format != "tflite8"]
        self.trained = weighted[-settings.last_layers :]
        self.first, self.last_weighted = self.trained[0], weighted[-1]
        self.largest_loss = ZERO
        self.statistics = {i: [Channel() for _ in range(layers[i].channels)] for i in self.trained}
        self.elements: dict[tuple[int, str, int], Element] = {}  # by layer, weight or bias, and place
        self.p1 = self.p2 = ONE
        self.ranges: dict[tuple[int, int], Range] = {}

    @property
    def ranged(self) -> list[int]:
        """The layers whose range is observed."""
        return [i for i, layer in enumerate(self.network.layers) if i >= self.first and layer.has_range]

    def digests(self) -> tuple[int, ...]:
        """Return XXH32 of every trained tensor, input to output."""
        layers = self.network.layers[self.first :]
        return tuple(digest(one) for layer in layers for one in layer.tensors(bool(self.settings.train_bias)))

    def logits(self, image: np.ndarray) -> list:
        """Return the logits of a uint8 image."""
        return forward(self.network, image)[-1]

    def step(self, images: Sequence[np.ndarray], labels: Sequence[int]) -> np.float32:
        """Train on uint8 images and labels; return loss_plus.

        Raises:
            StepFailed: and then no trained tensor has changed; `loss_plus` has the sum of the losses.
        """
        with np.errstate(all="ignore"):
            return self._step(images, labels)

    def _step(self, images: Sequence[np.ndarray], labels: Sequence[int]) -> np.float32:
        layers, failure = self.network.layers, None
        self.sums = {i: Sums([ZERO] * len(layers[i].weights), [ZERO] * layers[i].channels) for i in self.trained}
        self.observed, self.loss_plus = dict.fromkeys(self.ranged, (127, -128)), ZERO
        self.kept: list[dict[int, list[int]]] = []
        self.passes: list[Gradients] = []
        self.shares: Floats = []
        for image, label in zip(images, labels, strict=True):
            values = forward(self.network, image)
            for i, (lo, hi) in self.observed.items():
                self.observed[i] = min(lo, *values[i + 1]), max(hi, *values[i + 1])
            loss, d = loss_and_error(self.network, values[-1], int(label))
            self.loss_plus = self.loss_plus + loss
            self.largest_loss = max(self.largest_loss, loss)
            if failure is None:
                try:
                    self._backward(values, loss, d)
                except StepFailed as one:
                    failure = one
        if failure is not None:
            raise failure
        moved = copy.deepcopy(self.network)
        self.p1, self.p2 = self.p1 * F32(self.settings.beta1), self.p2 * F32(self.settings.beta2)
        for i in self.trained:
            self._move(i, moved.layers[i], len(images))
        for i in self.ranged:
            self._move_range(i, moved)
        self.network = moved
        return self.loss_plus

    def _backward(self, values: list[list], loss: np.float32, d: Floats) -> None:
        """Run the backward pass of a sample, and add its gradients and statistics (sections 3 to 5)."""
        rate = share(self.settings, loss, self.largest_loss)
        self.shares.append(rate)

        def choose(index: int, e: Sequence) -> list[int]:
            channels = self.network.layers[index].channels
            k = count_of(rate, channels)
            if index == self.last_weighted and not self.settings.sparse_head:
                k = channels
            start = 0 if self.network.layers[index].format == "affine8" else ZERO
            norms = [start] * channels
            for i, one in enumerate(e):
                norms[i % channels] = norms[i % channels] + abs(one)
            return largest_norms(norms, k)

        def running(index: int, place: int, acc: list[int], c: np.float32) -> Tensor:
            kept = self.ranges.setdefault((index, place), Range())
            return running_tensor(acc, c, self.network.rounding, kept, F32(self.settings.range_momentum))

        quantizer = running if self.settings.error_range == "running" else None
        error = logits_error(self.network, d)
        found = backward(self.network, values, error, self.first, choose, quantizer)
        self.passes.append(found)
        self.kept.append({i: own.kept for i, own in found.own.items()})
        for i, own in found.own.items():
            self._add(i, own)

    def _add(self, index: int, own: OwnGradient) -> None:
        """Add the gradient of a sample to G, and to the statistics of its channels (section 5)."""
        layer, sums = self.network.layers[index], self.sums[index]
        exact = layer.format == "affine8"
        g = [own.c * float_of(one) for one in own.weights] if exact else own.weights
        g_bias = [own.c_bias * float_of(one) for one in own.bias] if exact else own.bias
        for o in own.kept:
            places = [k for k in range(len(layer.weights)) if layer.channel(k) == o]
            for k in places:
                sums.weights[k] = sums.weights[k] + g[k]
            sums.bias[o] = sums.bias[o] + g_bias[o]
            if self.settings.standardise == "running":
                self._observe(self.statistics[index][o], [own.weights[k] for k in places], own.c, exact)
        sums.kept.update(own.kept)

    def _observe(self, channel: Channel, g: list, c: np.float32, exact: bool) -> None:
        """Move the statistics of a channel by its gradients of one sample."""
        size = F32(len(g))
        if exact:
            mean = c * (float_of(sum(g)) / size)
            square = (c * c) * (float_of(sum(one * one for one in g)) / size)
        else:
            mean, square = total(g) / size, total([one * one for one in g]) / size
        self._take(channel, mean, square)

    def _take(self, channel: Channel, mean: np.float32, square: np.float32) -> None:
        """Move the statistics of a channel by a mean and a mean square."""
        mean, square = held(mean, -LARGEST_MEAN, LARGEST_MEAN), min(square, LARGEST_SQUARE)
        channel.count = min(channel.count + 1, MOST_SAMPLES)
        a = max(F32(self.settings.statistics_momentum), ONE / F32(channel.count))
        channel.mean = channel.mean + a * (mean - channel.mean)
        channel.square = channel.square + a * (square - channel.square)

    def _differences(self, index: int, samples: int) -> tuple[Floats, Floats]:
        """Return d of weights and biases of a layer (section 6)."""
        settings, layer, sums = self.settings, self.network.layers[index], self.sums[index]
        factor = F32(settings.eta) if settings.optimizer == "sgd" else ONE
        u = ONE if settings.gradient == "sum" else ONE / F32(samples)
        d, d_bias = [ZERO] * len(layer.weights), [ZERO] * layer.channels
        for o in sums.kept:
            places = [k for k in range(len(layer.weights)) if layer.channel(k) == o]
            d_bias[o] = self._optimized((index, "bias", o), factor * (u * sums.bias[o]))
            g = [u * sums.weights[k] for k in places]
            mean, r = ZERO, factor
            if settings.standardise != "off":
                mean, variance = self._mean_and_variance(self.statistics[index][o], g)
                r = factor / (sqrt32(held(variance, 0, LARGEST_SQUARE)) + F32(settings.epsilon))
            for k, one in zip(places, g, strict=True):
                d[k] = self._optimized((index, "weight", k), r * (one - mean))
        return d, d_bias

    def _mean_and_variance(self, channel: Channel, g: Floats) -> tuple[np.float32, np.float32]:
        """Return M and V of a channel whose gradients are g."""
        h = [held(one, -LARGEST_MEAN, LARGEST_MEAN) for one in g]
        mean, square = total(h) / F32(len(h)), total([one * one for one in h]) / F32(len(h))
        if self.settings.standardise == "accumulated":
            self._take(channel, mean, square)
        if self.settings.standardise != "batch":
            mean, square = channel.mean, channel.square
        return mean, square - mean * mean

    def _optimized(self, which: tuple[int, str, int], e: np.float32) -> np.float32:
        """Return d of an element from what the gradient says."""
        settings, eta, kept = self.settings, F32(self.settings.eta), self.elements.setdefault(which, Element())
        if settings.optimizer == "sgd":
            return e
        beta1, beta2 = F32(settings.beta1), F32(settings.beta2)
        if settings.optimizer == "momentum":
            kept.v = held(beta1 * kept.v + e, -LARGEST_MEAN, LARGEST_MEAN)
            return eta * kept.v
        h = held(e, -LARGEST_MEAN, LARGEST_MEAN)
        kept.m = beta1 * kept.m + (ONE - beta1) * h
        kept.v = beta2 * kept.v + (ONE - beta2) * (h * h)
        root = sqrt32(kept.v / (ONE - self.p2)) + F32(settings.epsilon)
        return eta * ((kept.m / (ONE - self.p1)) / root)

    def _move(self, index: int, layer: Layer, samples: int) -> None:
        """Update weights and biases of a layer (section 6)."""
        d, d_bias = self._differences(index, samples)
        f = [w - d_k for w, d_k in zip(layer.real_weights, d, strict=True)]
        if not all(abs(one) <= LARGEST_WEIGHT for one in f):
            raise StepFailed(index, 2)
        if layer.format == "float32":
            layer.weights = f
        else:
            low, high = ends(f)
            if high - low < NARROWEST:
                raise StepFailed(index, 1)
            layer.s_w, j, layer.z_w = params(low, high, "nearest")
            layer.weights = [quantize(one, j, layer.z_w, "nearest") for one in f]
        if self.settings.train_bias:
            layer.bias = [b - d_o for b, d_o in zip(layer.bias, d_bias, strict=True)]
            if not all(abs(b) <= LARGEST_WEIGHT for b in layer.bias):
                raise StepFailed(index, 2)

    def _move_range(self, index: int, moved: Network) -> None:
        """Update the range of a layer's output, those of the layers before it and its weights being new (section 7)."""
        momentum, growth = F32(self.settings.range_momentum), F32(self.settings.range_growth)
        layer, (lo, hi) = self.network.layers[index], self.observed[index]
        (s, z), w = self.network.scale(index + 1), layer.high - layer.low
        seen_low, seen_high = s * float_of(lo - z), s * float_of(hi - z)
        high = layer.high + (growth * w if hi == 127 else momentum * (seen_high - layer.high))
        low = layer.low - growth * w if lo == -128 else layer.low + momentum * (seen_low - layer.low)
        high = min(max(high, ZERO), F32(layer.act_max))
        low = max(min(low, ZERO), F32(layer.act_min))
        least = max(self._least_width(moved, moved.layers[index]), NARROWEST)
        if high - low < least:
            high = low + least
        if not high - low <= WIDEST:
            raise StepFailed(index, 4)
        moved.layers[index].low, moved.layers[index].high = low, high

    @staticmethod
    def _least_width(moved: Network, layer: Layer) -> np.float32:
        """Return W of a layer before its limit."""
        scales = [moved.scale(value)[0] for value in layer.reads]
        if layer.weights:
            return STEPS * (scales[0] * layer.s_w)
        if layer.op == "multiply":
            return STEPS * (scales[0] * scales[1])
        return STEPS * (max(scales) * F32(2.0**-14)) if layer.op == "add" else ZERO
