"""Sums in the order of docs/arithmetic-float32.md: every product and every sum is rounded by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import numpy as np
from numpy.lib.stride_tricks import as_strided

from hil.training.graph.formats import Shape
from hil.training.graph.node import Node
from hil.training.reference.floats import F

BLOCK = 2**15  # sums that are computed at a time, which stay in the processor's cache


def ordered_products(a: np.ndarray, b: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """Return the sums over k, in order, of a[m, k] * b[k, n].

    Args:
        a: float32 [M, K].
        b: float32 [K, N].
        start: float32 [M, N], from which the sums go on; +0.0 where none is given.

    Returns:
        float32 [M, N].
    """
    if b.shape[1] < a.shape[0]:  # the longer rows are the faster ones
        return ordered_products(b.T, a.T, None if start is None else start.T).T
    total = np.zeros((len(a), b.shape[1]), F) if start is None else start.copy()
    columns = np.ascontiguousarray(a.T)[:, :, None]
    width = max(1, BLOCK // max(1, len(a)))
    for first in range(0, b.shape[1], width):
        part = np.ascontiguousarray(b[:, first : first + width])
        sums = np.ascontiguousarray(total[:, first : first + width])
        product = np.empty_like(sums)
        for column, row in zip(columns, part, strict=True):
            np.multiply(column, row, out=product)
            sums += product
        total[:, first : first + width] = sums
    return total


def ordered_sum(terms: Iterable[np.ndarray]) -> np.ndarray:
    """Return the sum of float32 arrays of one shape, in order from +0.0."""
    return reduce(np.add, terms, np.zeros(1, F))


def padded(layer: Node, x: np.ndarray, outside: float = 0.0) -> np.ndarray:
    """Return a value [H, W, C, B] with all positions that the windows of a layer reach; new ones are `outside`."""
    (height, width), (top, left) = x.shape[:2], layer.pad
    out = np.full((*spans(layer, (height, width, 0)), *x.shape[2:]), outside, F)
    out[top : top + height, left : left + width] = x
    return out


def spans(layer: Node, shape: Shape) -> tuple[int, int]:
    """Return height and width of a value of this shape with all positions that the windows of a layer reach."""
    height, width = (
        max((out - 1) * stride + kernel, pad + size)
        for out, kernel, stride, pad, size in zip(
            layer.out_shape[:2], layer.kernel, layer.stride, layer.pad, shape[:2], strict=True
        )
    )
    return height, width


def under_tap(layer: Node, x: np.ndarray, ky: int, kx: int) -> np.ndarray:
    """Return a view [oh, ow, ...] of a padded value: the position under a tap for each output position."""
    (out_h, out_w), (down, across) = layer.out_shape[:2], layer.stride
    return x[ky : ky + (out_h - 1) * down + 1 : down, kx : kx + (out_w - 1) * across + 1 : across]


def taps(layer: Node) -> Iterator[tuple[int, int]]:
    """Yield row and column of every tap, row-major."""
    for ky in range(layer.kernel[0]):
        for kx in range(layer.kernel[1]):
            yield ky, kx


def windows(layer: Node, x: np.ndarray) -> np.ndarray:
    """Return a view [oh, ow, kh, kw, ...] of a padded value: what lies under every tap of every output position."""
    row, column = x.strides[:2]
    down, across = layer.stride
    shape = (*layer.out_shape[:2], *layer.kernel, *x.shape[2:])
    return as_strided(x, shape, (down * row, across * column, row, column, *x.strides[2:]), writeable=False)
