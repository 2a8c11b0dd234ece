"""The backward pass of a layer in `affine8` (docs/arithmetic-affine8.md, section 4): exact sums in float64."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hil.training.graph.formats import Op
from hil.training.reference.floats import F
from hil.training.reference.formats.affine8.errors import Affine8Errors
from hil.training.reference.formats.affine8.layer import RunnableLayer
from hil.training.reference.formats.affine8.windows import columns, spans, taps, under_tap, unpadded

SLOPE_UNIT = F(2.0**-7)
EXACT = 2.0**53


@dataclass(frozen=True, eq=False)
class ErrorSums:
    """The error of a value before it has a scale: whole numbers in float64 [B, H, W, C], each worth c float32 [B]."""

    acc: np.ndarray
    c: np.ndarray


Given = ErrorSums | Affine8Errors


def given(
    layer: RunnableLayer, error: Affine8Errors, reads: Sequence[np.ndarray], wanted: Sequence[bool]
) -> list[Given | None]:
    """Return the error that a layer gives to each value that it reads, None to those that are not wanted.

    Args:
        layer: the layer.
        error: of its output, after the gate.
        reads: the values less their zero points, [B, H, W, C].
        wanted: for each of them, whether it gets an error.
    """
    node, e = layer.node, error.centred
    if node.op is Op.ADD:
        return [error if want else None for want in wanted]
    if node.op is Op.MULTIPLY:
        a, b = reads
        return [
            ErrorSums(e * b, error.s * layer.s_x[1]) if wanted[0] else None,
            ErrorSums((e * a).sum(axis=(1, 2), keepdims=True), error.s * layer.s_x[0]) if wanted[1] else None,
        ]
    if not wanted[0]:
        return [None]
    if node.op is Op.HARD_SWISH:
        return [ErrorSums(e * layer.slopes[layer.table_index(reads[0])], error.s * SLOPE_UNIT)]
    if node.op is Op.MAX_POOL:
        return [replace(error, centred=_to_first_maximum(layer, e, reads[0]))]
    if node.op is Op.AVERAGE_POOL:
        return [replace(error, centred=_to_window(layer, e), s=error.s / F(node.kernel[0] * node.kernel[1]))]
    return [ErrorSums(_input_sums(layer, e), layer.s_w * error.s)]


def _to_first_maximum(layer: RunnableLayer, e: np.ndarray, x: np.ndarray) -> np.ndarray:
    places = layer.places(x)
    largest, node = np.maximum.reduce(places), layer.node
    total = np.zeros((len(e), *spans(node), e.shape[3]))
    free = np.ones(largest.shape, bool)
    for (ky, kx), place in zip(taps(node), places, strict=True):
        chosen = free & (place == largest)
        under_tap(node, total, ky, kx)[...] = e * chosen
        free &= ~chosen
    return unpadded(node, total)


def _to_window(layer: RunnableLayer, e: np.ndarray) -> np.ndarray:
    node = layer.node
    total = np.zeros((len(e), *spans(node), e.shape[3]))
    for ky, kx in taps(node):
        under_tap(node, total, ky, kx)[...] = e
    return unpadded(node, total)


def _input_sums(layer: RunnableLayer, e: np.ndarray) -> np.ndarray:
    """Return the sums over taps and output channels that use each input, [B, H, W, C]."""
    node, weights = layer.node, layer.weights
    if node.op in (Op.FULLY_CONNECTED, Op.POINTWISE):
        by_position: np.ndarray = e.reshape(-1, e.shape[3]) @ weights.T
        return by_position.reshape(len(e), *node.in_shape)
    total = np.zeros((len(e), *spans(node), node.in_shape[2]))
    if node.op is Op.DEPTHWISE:
        for tap, (ky, kx) in zip(weights, taps(node), strict=True):
            inside = under_tap(node, total, ky, kx)
            inside += tap * e
        return unpadded(node, total)
    shares = (e.reshape(-1, e.shape[3]) @ weights.T).reshape(*e.shape[:3], -1, node.in_shape[2])
    for place, (ky, kx) in enumerate(taps(node)):
        inside = under_tap(node, total, ky, kx)
        inside += shares[:, :, :, place]
    return unpadded(node, total)


@dataclass(frozen=True, eq=False)
class Gradients:
    """The gradients of a layer for each sample.

    Attributes:
        bias: whole numbers in float64 [B, O], each worth `s_e`.
        s_e: float32 [B].
        c: what a gradient of a weight is worth, float32 [B].
        outer: whether the layer has one position, so that a gradient is an outer product of `e` and `x`.
        e: errors of the outputs [B, positions, O].
        x: what the weights of an output multiply [B, 1, K], if `outer`; else the gradients of the weights [B, O, K].
    """

    bias: np.ndarray
    s_e: np.ndarray
    c: np.ndarray
    outer: bool
    e: np.ndarray
    x: np.ndarray

    @classmethod
    def of(cls, layer: RunnableLayer, error: Affine8Errors, x: np.ndarray) -> Gradients:
        """Return the gradients of the error of a layer's output, after gate and selection, and the value it reads."""
        node, e = layer.node, error.centred.reshape(len(x), -1, layer.node.channels)
        outer = False
        if node.op is Op.DEPTHWISE:
            places = (place.reshape(e.shape) for place in layer.places(x))
            x = np.stack([np.einsum("bpc,bpc->bc", e, place) for place in places], axis=2)
        else:
            x, outer = columns(node, x), e.shape[1] == 1
            if not outer:
                x = e.transpose(0, 2, 1) @ x
        return cls(e.sum(axis=1), error.s, error.s * layer.s_x[0], outer, e, x)

    def weights(self) -> Iterator[np.ndarray]:
        """Yield the gradients of the weights of each sample, whole numbers rounded to float32, [O, K]."""
        x = self.x.astype(F)
        if self.outer:  # products below 2^24
            return (e[:, None] * row for e, row in zip(self.e[:, 0].astype(F), x[:, 0], strict=True))
        return iter(x)

    def sums_and_squares(self) -> tuple[np.ndarray, np.ndarray]:
        """Return S1, float64 [B, O], and S2, float64 or uint64 [B, O], whole numbers."""
        if self.outer:
            return self.e[:, 0] * self.x.sum(axis=2), self.e[:, 0] ** 2 * (self.x**2).sum(axis=2)
        return self.x.sum(axis=2), _squares(self.x)


def _squares(whole: np.ndarray) -> np.ndarray:
    """Return the sums of squares of whole numbers float64 [B, O, K], exact: float64 or uint64 [B, O]."""
    largest = float(np.abs(whole).max(initial=0.0))
    if not largest * largest * whole.shape[2] < EXACT:
        whole = np.abs(whole).astype(np.uint64)
    squares: np.ndarray = np.einsum("bok,bok->bo", whole, whole)
    return squares
