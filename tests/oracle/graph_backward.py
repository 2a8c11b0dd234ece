"""One step of `method = bp` in loops over plain integers, one number at a time.

It follows docs/arithmetic-tflite.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import MeanFactor, Node
from hil.training.methods.graph_settings import GraphSettings
from tests.oracle.graph_layers import Own, Values, clamp, gradient, loss, run, taps, windows
from tests.oracle.graph_method import moved
from tests.oracle.layers import accumulated
from tests.oracle.numbers import F32, Tensor, bits, exp32, round_shift, trunc_shift

WEIGHT_LIMIT, BIAS_LIMIT, VELOCITY_LIMIT = 126, 2**30 - 2**20, F32(2**22)


@dataclass(frozen=True)
class Scaled:
    """A factor: c in 1..2 and the power of two that goes with it."""

    c: np.float32
    j: int


class PlainBackPropagation:
    """The state of a training: `own` holds weights and biases of every layer.

    `runs` and `macs` are the work of the last step.
    """

    def __init__(self, graph: Graph, settings: GraphSettings) -> None:
        self.graph, self.settings, self.runs, self.macs = graph, settings, 0, 0
        self.own = Own.of(graph)
        self.trained = settings.trained(graph)
        self.velocity: dict[tuple[int, bool, int], np.float32] = {}  # by layer, whether of a bias, place

    def step(self, images: Sequence[np.ndarray], labels: Sequence[int]) -> np.float32:
        """Train on uint8 images and labels; return the sum of the clean losses."""
        self.runs = self.macs = 0
        for index in self.trained:
            self._rest(index)
        totals: dict[int, Tensor | None] = dict.fromkeys(self.trained)
        total_loss = F32(0)
        for image, label in zip(images, labels, strict=True):
            values: list[Values] = [[int(p) - 128 for p in np.ravel(image)]]
            for layer, own in zip(self.graph.layers, self.own, strict=True):
                values.append(run(self.graph, layer, [values[value] for value in layer.reads], own))
                self._count(layer)
            total_loss = total_loss + loss(self.graph, values[-1], label)
            for index, one in self._gradients(values, label).items():
                totals[index] = accumulated(totals[index], one)
        for index, total in totals.items():
            if total is not None:
                self._update(index, total, len(labels))
        return total_loss

    def _gradients(self, values: list[Values], label: int) -> dict[int, Tensor]:
        """Return the gradients of one sample (section 3), and leave the factors in `factors`."""
        first, last = self.trained[0], len(self.graph.layers)
        errors = {last: logits_error(values[-1], label, F32(self.graph.layers[-1].scale))}
        self.factors = {last: normalised(F32(self.graph.layers[-1].scale) * (F32(1) / F32(127)), 0)}
        found = {}
        for index in reversed(range(first, last)):
            if index + 1 not in errors:
                continue
            layer, error = self.graph.layers[index], errors[index + 1]
            pool = layer.op in (Op.MAX_POOL, Op.AVERAGE_POOL)
            if not pool:
                inside = [layer.act_min < q < layer.act_max for q in values[index + 1]]
                error = Tensor(
                    [e if passes else 0 for e, passes in zip(error.values, inside, strict=True)], error.exponent
                )
            self.runs += 1
            if index in self.trained:
                found[index] = self._own_gradient(index, values, error)
            wanted = [value for value in layer.reads if value > first]
            if wanted and layer.own is not None:
                self.macs += layer.macs
            for value in wanted:
                given = self._input_error(index, error, values[layer.reads[0]])
                factor = self._given(layer, value, self.factors[index + 1])
                if value in errors:
                    errors[value] = joined(errors[value], self.factors[value], given, factor)
                else:
                    errors[value], self.factors[value] = given, factor
        return found

    def _own_gradient(self, index: int, values: list[Values], error: Tensor) -> Tensor:
        layer, read = self.graph.layers[index], self.graph.layers[index].reads[0]
        both = gradient(layer, values[read], self.graph.zero_of(read), error.values)
        self.macs += self._products(index)
        own = {False: both.weights, True: both.bias}
        return Tensor([own[of_bias][j] for of_bias, j, _ in self._coordinates(index)], error.exponent)

    def _products(self, index: int) -> int:
        """Return the products of the gradient of a trained layer."""
        return self.graph.layers[index].macs if self._trains_weights else 0

    def _coordinates(self, index: int) -> Iterator[tuple[bool, int, int]]:
        """Yield what is trained of a layer in the order of its gradient: whether of a bias, place, channel."""
        layer = self.graph.layers[index]
        for j in range(layer.weight_count if self._trains_weights else 0):
            yield False, j, j % layer.channels if layer.op is Op.DEPTHWISE else j // layer.taps
        for o in range(layer.channels if self.settings.train_bias else 0):
            yield True, o, o

    def _input_error(self, index: int, error: Tensor, x: Values) -> Tensor:
        layer, own = self.graph.layers[index], self.own[index]
        if layer.op is Op.ADD:
            return error
        if layer.op is Op.MEAN:
            channels = layer.in_shape[2]
            return Tensor([error.values[place % channels] for place in range(layer.in_size)], error.exponent)
        if own is None:
            return Tensor(through_pool(layer, error.values, x), error.exponent)
        k, channels = shares(layer), layer.out_shape[2]
        even = [rounded_share(e, k[place % channels]) for place, e in enumerate(error.values)]
        acc = [0] * layer.in_size
        for o, w, i in taps(layer):
            acc[i] += own.weights[w] * even[o]
        return eight_bits(acc, error.exponent)

    def _given(self, layer: Node, value: int, output: Scaled) -> Scaled:
        """Return the factor that a reader gives (section 1)."""
        p = output.c
        if layer.own is not None:
            p = p * max(slope(layer, o) for o in range(layer.channels))
        elif layer.op is Op.ADD:
            p = p * (F32(self.graph.scale_of(value)) / F32(layer.scale))
        elif isinstance(layer.factors, MeanFactor):
            p = p * (F32(layer.factors.multiplier) * F32(2.0 ** (layer.factors.shift - 31)))
        elif layer.op is Op.AVERAGE_POOL:
            p = p / F32(layer.kernel[0] * layer.kernel[1])
        return normalised(p, output.j)

    def _update(self, index: int, total: Tensor, samples: int) -> None:
        own = self.own[index]
        assert own is not None
        exponent = total.exponent + self.factors[index + 1].j
        for (of_bias, j, o), g in zip(self._coordinates(index), total.values, strict=True):
            by = self._moved((index, of_bias, j), g, self._factor(index, o, samples, of_bias), exponent)
            tensor, limit = (own.bias, BIAS_LIMIT) if of_bias else (own.weights, WEIGHT_LIMIT)
            tensor[j] = clamp(tensor[j] - by, -limit, limit)

    def _factor(self, index: int, o: int, samples: int, of_bias: bool) -> np.float32:
        """Return f (section 4)."""
        layer = self.graph.layers[index]
        assert layer.own is not None
        f = F32(self.settings.eta) / F32(samples)
        f = f * (self.factors[index + 1].c * slope(layer, o))
        if self.settings.qas:
            u = F32(layer.own.scale[o])
            if of_bias:
                u = F32(self.graph.scale_of(layer.reads[0])) * u
            f = f / u
            f = f / u
        return f

    def _moved(self, coordinate: tuple[int, bool, int], g: int, f: np.float32, exponent: int) -> int:
        """Return D."""
        if F32(self.settings.momentum) == 0:
            return moved(g, f, exponent)
        before = self.velocity.get(coordinate, F32(0))
        if not np.isfinite(f) or f < F32(2.0**-126):
            return 0
        exact = Fraction(float(f)) * Fraction(2) ** exponent
        if exact >= 2**128:
            return 0
        scaled = F32(0) if exact < Fraction(2) ** -126 else F32(float(exact))
        with np.errstate(over="ignore"):
            after = F32(self.settings.momentum) * before + F32(g) * scaled
        after = min(max(after, -VELOCITY_LIMIT), VELOCITY_LIMIT)
        self.velocity[coordinate] = after
        return round(Fraction(float(after)))

    def _rest(self, index: int) -> None:
        own = self.own[index]
        assert own is not None
        if self._trains_weights:
            own.weights[:] = [clamp(w, -WEIGHT_LIMIT, WEIGHT_LIMIT) for w in own.weights]
        if self.settings.train_bias:
            own.bias[:] = [clamp(b, -BIAS_LIMIT, BIAS_LIMIT) for b in own.bias]

    @property
    def _trains_weights(self) -> bool:
        return self.settings.train != "bias"

    def _count(self, layer: Node) -> None:
        self.runs += 1
        self.macs += layer.macs


def logits_error(logits: Values, label: int, scale: np.float32) -> Tensor:
    """Return section 2's e."""
    terms = [exp32(F32(q - max(logits)) * scale) for q in logits]
    total = F32(0)
    for term in terms:
        total = total + term
    d = [term / total for term in terms]
    d[label] = d[label] - F32(1)
    return Tensor([round(Fraction(float(one * F32(127)))) for one in d], 0)


def normalised(p: np.float32, j: int) -> Scaled:
    """Return p * 2^j with c in 1..2."""
    half, power = math.frexp(float(p))
    return Scaled(F32(2 * half), j + power - 1)


def slope(layer: Node, o: int) -> np.float32:
    """Return r_o."""
    assert layer.own is not None
    return F32(layer.own.multiplier[o]) * F32(2.0 ** (int(layer.own.shift[o]) - 31))


def shares(layer: Node) -> list[int]:
    """Return k_o of every channel."""
    assert layer.own is not None
    rounded = [slope(layer, o) for o in range(layer.channels)]
    factors = zip(layer.own.multiplier.tolist(), layer.own.shift.tolist(), strict=True)
    exact = [m * Fraction(2) ** s for m, s in factors]
    return [math.floor(2**15 * one / exact[rounded.index(max(rounded))]) for one in exact]


def rounded_share(e: int, k: int) -> int:
    """Return e'."""
    size = math.floor(Fraction(abs(e) * k + 2**14, 2**15))
    return size if e >= 0 else -size


def eight_bits(sums: list[int], exponent: int) -> Tensor:
    """Return sums in 8 bits, and the exponent that goes with them."""
    s = bits(max(abs(one) for one in sums)) - 7
    return Tensor([round_shift(one, s) for one in sums], exponent + s) if s > 0 else Tensor(sums, exponent)


def through_pool(layer: Node, error: Values, x: Values) -> Values:
    """Return the error of a pool's input."""
    channels, out = layer.out_shape[2], [0] * layer.in_size
    chosen: dict[int, int] = {}  # output -> the input that it was
    for position, _, at in windows(layer):
        for c in range(channels):
            o, i = position * channels + c, at * channels + c
            if layer.op is Op.AVERAGE_POOL:
                out[i] = error[o]
            elif o not in chosen or x[i] > x[chosen[o]]:
                chosen[o] = i
    for o, i in chosen.items():
        out[i] = error[o]
    return out


def joined(error: Tensor, factor: Scaled, other: Tensor, given: Scaled) -> Tensor:
    """Return the error of a value with that of one more reader."""
    half, power = math.frexp(float(given.c / factor.c))
    m, k = math.floor(half * 2**16), power - 16 + given.j - factor.j
    x, x2 = error.exponent, other.exponent
    top = max(x - 15, x2 + k)
    shifts = top - x + 15, top - x2 - k
    sums = [
        sum(trunc_shift(value, shift) if shift < 31 else 0 for value, shift in zip(pair, shifts, strict=True))
        for pair in ((e * 2**15, e2 * m) for e, e2 in zip(error.values, other.values, strict=True))
    ]
    return eight_bits(sums, top)
