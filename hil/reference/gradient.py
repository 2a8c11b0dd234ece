"""The sum of a batch's weight gradients, whose exponents differ (docs/arithmetic.md, section 7)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hil.network.graph import Layer
from hil.reference.arith import INT32_MAX, INT32_MIN, trunc_shift
from hil.reference.layers import gradient_sum, weight_gradients

CHUNK = 64  # samples whose gradients are held one by one at a time


def batch_gradient(layer: Layer, error: np.ndarray, x: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Return G of a layer.

    The exponent E only grows; while it stands still the samples that have it are summed by one product, and
    only those below it are looked at one by one. Where a sum might saturate, every sample is added by itself.

    Args:
        layer: conv2d or fully_connected.
        error: int8 [B, oh, ow, O], of its output.
        x: int8 [B, H, W, C], its input.
        exponents: int [B], of the samples' gradients.

    Returns:
        int64 [weights].
    """
    if _largest_sum(error) > INT32_MAX:
        return _one_by_one(layer, error, x, exponents)
    total = np.zeros(np.size(layer.weights), np.int64)
    before = int(exponents[0])
    for exponent, part in _while_exponent_stands(exponents):
        total = trunc_shift(total, exponent - before) + _part_sum(
            layer, error[part], x[part], exponent - exponents[part]
        )
        before = exponent
    return total


def _largest_sum(error: np.ndarray) -> int:
    """Return what no element of the batch's gradient can exceed: activations are at most 127."""
    by_channel = np.abs(error.astype(np.int64)).reshape(len(error), -1, error.shape[-1]).sum(axis=1)
    return 127 * int(by_channel.max(axis=1).sum())


def _while_exponent_stands(exponents: np.ndarray) -> Iterator[tuple[int, slice]]:
    """Yield E and the samples that are added while it holds."""
    largest = np.maximum.accumulate(exponents)
    starts = [0, *(np.flatnonzero(np.diff(largest)) + 1), len(largest)]
    for start, end in zip(starts[:-1], starts[1:], strict=True):
        yield int(largest[start]), slice(int(start), int(end))


def _part_sum(layer: Layer, error: np.ndarray, x: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Return the sum of gradients, each divided by 2^shift toward zero; a shift of 31 or more gives 0."""
    plain = shifts == 0
    total = gradient_sum(layer, error[plain], x[plain])
    below = np.flatnonzero((shifts > 0) & (shifts < 31))
    for at in range(0, len(below), CHUNK):
        chosen = below[at : at + CHUNK]
        each = weight_gradients(layer, error[chosen], x[chosen])
        each *= np.ldexp(each.dtype.type(1), -shifts[chosen])[:, None]  # exact: a power of two
        total += np.trunc(each, out=each).sum(axis=0, dtype=np.float64).astype(np.int64)
    return total


def _one_by_one(layer: Layer, error: np.ndarray, x: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    gradient = Gradient()
    for sample, exponent in enumerate(exponents):
        one = slice(sample, sample + 1)
        gradient.add(weight_gradients(layer, error[one], x[one])[0].astype(np.int64), int(exponent))
    return gradient.total


class Gradient:
    """The sum as section 7 says it, sample by sample, with the exponent of the largest so far."""

    def __init__(self) -> None:
        self.exponent: int | None = None
        self.total = np.zeros(0, np.int64)

    def add(self, gradient: np.ndarray, exponent: int) -> None:
        """Add one sample: int64 [weights], in the order of the batch."""
        if self.exponent is None:
            self.exponent, self.total = exponent, np.zeros_like(gradient)
        if exponent > self.exponent:
            self.total = trunc_shift(self.total, exponent - self.exponent)
            self.exponent = exponent
        aligned = trunc_shift(gradient, self.exponent - exponent)
        self.total = np.clip(self.total + aligned, INT32_MIN, INT32_MAX)
