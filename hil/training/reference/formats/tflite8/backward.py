"""Errors on their way from the logits to the first trained layer, many samples at a time.

See docs/arithmetic-tflite.md, sections 7.2 and 7.3.

Values and errors are float32 [N, H, W, C] that hold integers; all sums are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hil.training.graph.formats import POOLS, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node, Tflite8Parameters
from hil.training.methods.backward_pass import check_passable
from hil.training.reference.floats import F, exp32
from hil.training.reference.formats.tflite8.factors import SHARE_BITS, Chain, Ratio, shares
from hil.training.reference.formats.tflite8.fast import EXACT_FLOAT32, NEVER, FastLayer, OwnWeights

LARGEST_ERROR = 127
JOINED_BITS = 15  # that the error of a value is raised by before another reader's is added


@dataclass(frozen=True, eq=False)
class Tflite8Errors:
    """The errors of one value: integers -127..127 in float32 [N, H, W, C], and exponents int64 [N] of the samples."""

    values: np.ndarray
    exponents: np.ndarray


def logits_error(logits: np.ndarray, labels: np.ndarray, scale: float) -> np.ndarray:
    """Return the error of logits [N, classes] (any offset) for labels [N]: float32 [N, classes] (section 2)."""
    x = (logits - logits.max(axis=1, keepdims=True)).astype(F) * F(scale)
    terms = exp32(x)
    d = terms / np.add.accumulate(terms, axis=1, dtype=F)[:, -1:]
    d[np.arange(len(d)), labels] -= F(1)
    return np.rint(d * F(LARGEST_ERROR))


class ErrorPass:
    """The way of the errors through a graph to values made at or behind `first`, the first trained layer.

    Attributes:
        chain: factors of the values that get an error.

    Raises:
        RigError: a pool on the way has windows that overlap or leave the image, or there is a table.
    """

    def __init__(self, graph: Graph, layers: Sequence[FastLayer], first: int) -> None:
        check_passable(graph.layers[first:])
        self._graph, self._layers, self._first = graph, layers, first
        self.chain = Chain.of(graph, first)
        self._shares = {i: shares(own) for i, own in graph.own_of(Tflite8Parameters).items() if i > first}

    def run(
        self, values: Sequence[np.ndarray], own: Sequence[OwnWeights | None], labels: np.ndarray
    ) -> Iterator[tuple[int, Tflite8Errors]]:
        """Yield each layer that an error reaches, from the last to the first trained one.

        The error is that behind the gate of the layer.

        Args:
            values: n + 1 of a clean pass, [N, 1, H, W, C] less their zero point.
            own: the weights of that pass.
            labels: integers [N].
        """
        scale = self._graph.scale_of(len(self._layers))
        error = logits_error(values[-1].reshape(len(labels), -1), labels, scale)
        held = {len(self._layers): Tflite8Errors(error[:, None, None], np.zeros(len(labels), np.int64))}
        for index in range(len(self._layers) - 1, self._first - 1, -1):
            if index + 1 not in held:
                continue
            gated = self._gated(index, held.pop(index + 1), values[index + 1][:, 0])
            yield index, gated
            if any(value > self._first for value in self._graph.layers[index].reads):
                self.hand_on(index, gated, values, own, held)

    def _gated(self, index: int, errors: Tflite8Errors, out: np.ndarray) -> Tflite8Errors:
        fast = self._layers[index]
        if fast.layer.op in POOLS:
            return errors
        return Tflite8Errors(errors.values * ((out > fast.low) & (out < fast.high)), errors.exponents)

    def hand_on(
        self,
        index: int,
        errors: Tflite8Errors,
        values: Sequence[np.ndarray],
        own: Sequence[OwnWeights | None],
        held: dict[int, Tflite8Errors],
    ) -> None:
        """Give what a layer reads its error."""
        layer = self._graph.layers[index]
        if layer.op is Op.ADD:
            given = errors
        elif layer.op is Op.MEAN:
            spread = np.broadcast_to(errors.values, (len(errors.values), *layer.in_shape))
            given = Tflite8Errors(spread, errors.exponents)
        elif layer.op in POOLS:
            given = Tflite8Errors(
                _of_pool(self._layers[index], errors.values, values[layer.reads[0]]), errors.exponents
            )
        else:
            its = own[index]
            assert its is not None
            given = normalized(_of_weights(layer, errors.values, its.weights, self._shares[index]), errors.exponents)
        for place, value in enumerate(layer.reads):
            if value > self._first:
                before = held.get(value)
                held[value] = given if before is None else joined(before, given, self.chain.of_reader[index, place])


def _of_weights(layer: Node, error: np.ndarray, weights: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the exact sums of w * e' at each input position, [N, H, W, C], of weights laid out as in `OwnWeights`."""
    even = np.copysign(np.floor((np.abs(error) * share + F(2 ** (SHARE_BITS - 1))) * F(2.0**-SHARE_BITS)), error)
    kh, kw = layer.kernel if layer.op is not Op.FULLY_CONNECTED else (1, 1)
    by_input = np.abs(weights).reshape(kh * kw, -1, 1 if layer.op is Op.DEPTHWISE else layer.channels)
    dtype = F if LARGEST_ERROR * by_input.sum(axis=(0, 2)).max() < EXACT_FLOAT32 else np.float64
    even, weights = even.astype(dtype, copy=False), weights.astype(dtype, copy=False)
    if layer.op is Op.DEPTHWISE:
        return _folded(layer, even, (even * tap for tap in weights))
    spread: np.ndarray = even.reshape(-1, layer.channels) @ weights.T
    if layer.op in (Op.FULLY_CONNECTED, Op.POINTWISE):
        return spread.reshape(-1, *layer.in_shape)
    by_tap = spread.reshape(len(error), *layer.out_shape[:2], kh * kw, -1)
    return _folded(layer, even, (by_tap[..., tap, :] for tap in range(kh * kw)))


def _folded(layer: Node, error: np.ndarray, taps: Iterable[np.ndarray]) -> np.ndarray:
    """Return what the taps of all windows, [N, oh, ow, C] each, give to the input, [N, H, W, C] in the error's type."""
    (height, width, channels), (top, left), (down, across) = layer.in_shape, layer.pad, layer.stride
    out_h, out_w = layer.out_shape[:2]
    spans = [
        max((out - 1) * stride + kernel, pad + size)
        for out, kernel, stride, pad, size in zip(
            (out_h, out_w), layer.kernel, layer.stride, layer.pad, (height, width), strict=True
        )
    ]
    padded = np.zeros((len(error), *spans, channels), error.dtype)
    for tap, given in enumerate(taps):
        ky, kx = divmod(tap, layer.kernel[1])
        padded[:, ky : ky + (out_h - 1) * down + 1 : down, kx : kx + (out_w - 1) * across + 1 : across] += given
    return padded[:, top : top + height, left : left + width]


def _of_pool(fast: FastLayer, error: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the error of a pool's input [N, 1, H, W, C]: to the first largest of each window, or to all of it."""
    if fast.layer.op is Op.AVERAGE_POOL:
        return _folded(fast.layer, error, [error] * (fast.layer.kernel[0] * fast.layer.kernel[1]))
    places = [place[:, 0] for place in fast.places(x, NEVER)]
    largest = np.maximum.reduce(places)
    left, taps = error, []
    for place in places:
        chosen = place == largest
        taps.append(left * chosen)
        left = left * ~chosen
    return _folded(fast.layer, error, taps)


def normalized(sums: np.ndarray, exponents: np.ndarray) -> Tflite8Errors:
    """Return sums [N, ...] in 8 bits, half away from zero, each sample with an exponent of its own.

    Sums of up to 2^24 in float32: what adding a half to 24 bits may round up is above 127 and clipped.
    """
    shift = np.maximum(np.frexp(np.abs(sums).max(axis=(1, 2, 3)))[1].astype(np.int64) - 7, 0)
    scale = np.ldexp(sums.dtype.type(1), -shift)[:, None, None, None]
    size = np.minimum(np.floor(np.abs(sums) * scale + sums.dtype.type(0.5)), LARGEST_ERROR)
    return Tflite8Errors(np.copysign(size, sums).astype(F), exponents + shift)


def joined(errors: Tflite8Errors, other: Tflite8Errors, ratio: Ratio) -> Tflite8Errors:
    """Return the error of a value with that of a further reader added; all below 2^24."""
    raised, given = errors.exponents - JOINED_BITS, other.exponents + ratio.k
    exponents = np.maximum(raised, given)
    parts = [
        np.trunc(values * F(m) * np.ldexp(F(1), x - exponents)[:, None, None, None])
        for values, m, x in ((errors.values, 2**JOINED_BITS, raised), (other.values, ratio.m, given))
    ]
    return normalized(parts[0] + parts[1], exponents)
