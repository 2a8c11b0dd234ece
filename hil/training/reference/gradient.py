"""The sum of a batch's weight gradients, whose exponents differ (docs/arithmetic.md, section 7)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import as_strided

from hil.training.graph.formats import Op
from hil.training.graph.node import Node
from hil.training.reference.arith import INT32_MAX, INT32_MIN, trunc_shift
from hil.training.reference.formats.bfp8.layers import exact_float


def batch_gradient(layer: Node, error: np.ndarray, x: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Return G of a layer.

    Args:
        layer: conv2d or fully_connected.
        error: int8 [oh, ow, O, B], of its output.
        x: int8 [H, W, C, B], its input.
        exponents: int [B], of the samples' gradients.

    Returns:
        [weights], int32 where the type holds every magnitude, else int64.
    """
    gradient = Gradient()
    if layer.op is Op.FULLY_CONNECTED:  # INT32_MAX // 127^2 is twice the largest batch: nothing saturates
        errors, inputs = (_by_sample(tensor) for tensor in (error, x))
        size = errors.shape[1] * inputs.shape[1]
        gradient.add_at_once(size, exponents, lambda part, shifts: outer_sum(errors[part], inputs[part], shifts))
        return gradient.total.astype(np.int32)
    gradient.add_all(convolution_gradients(layer, error, x), exponents)
    return gradient.total


def _by_sample(tensor: np.ndarray) -> np.ndarray:
    """Return [H, W, C, B] as [B, elements], each sample in one piece."""
    return np.ascontiguousarray(tensor.reshape(-1, tensor.shape[-1]).T)


def outer_sum(errors: np.ndarray, inputs: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Return the sum over samples of trunc(e x / 2^s) for every pair of an error e and an input x.

    With |e| = p 2^s + q it is p |x| + trunc(q |x| / 2^s) and its sign: one product of matrices, and one more for every
    value of q. All terms of a pair have one sign and together at most 127^2. Where samples are fewer than values of q,
    each is multiplied by itself.

    Args:
        errors: int8 [B, O].
        inputs: int8 [B, I].
        shifts: int [B], 0 or more.

    Returns:
        int32 [O * I].
    """
    dtype = exact_float(len(errors))
    total = np.zeros((errors.shape[1], inputs.shape[1]), dtype)
    for s in np.unique(shifts[shifts < 14]).tolist():  # |e x| has 14 bits
        e, x = errors[shifts == s], inputs[shifts == s].astype(dtype)
        if len(e) < 2**s:
            for one, its in zip(e * dtype(2.0**-s), x, strict=True):
                total += np.trunc(np.outer(one, its))
            continue
        sign, size = np.sign(e), np.abs(e).astype(np.int16)
        total += (sign * (size >> s)).astype(dtype).T @ x
        for q in range(1, min(2**s, 128)):
            total += (sign * (size & (2**s - 1) == q)).astype(dtype).T @ np.trunc(x * dtype(q / 2**s))
    return total.astype(np.int32).reshape(-1)


def convolution_gradients(layer: Node, error: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return every sample's exact gradient of a convolution, float [B, weights].

    Args:
        layer: conv2d.
        error: int8 [oh, ow, O, B].
        x: int8 [H, W, C, B].
    """
    (height, width, channels), (out_h, out_w, outputs), (kh, kw) = layer.in_shape, layer.out_shape, layer.kernel
    batch, (pad, _), positions = x.shape[-1], layer.pad, out_h * out_w
    padded = np.zeros((batch, height + 2 * pad, width + 2 * pad, channels), exact_float(positions))
    padded[:, pad : pad + height, pad : pad + width] = _by_sample(x).reshape(batch, height, width, channels)
    sample, row, column, channel = padded.strides
    span = kw * channels  # of a row of taps
    spans = as_strided(padded, (batch, height + 2 * pad, out_w, span), (sample, row, column, channel)).copy()
    sample, row, column, tap = spans.strides
    by_tap_row = as_strided(spans, (batch, kh, positions, span), (sample, row, column, tap), writeable=False)
    errors = _by_sample(error).reshape(batch, 1, positions, outputs).astype(padded.dtype)
    gradients = errors.swapaxes(2, 3) @ by_tap_row
    return gradients.transpose(0, 2, 1, 3).reshape(batch, -1)


def _scaled_sum(each: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Return the sum of gradients [B, weights] within int32, each divided by 2^shift toward zero, int32."""
    scale = np.ldexp(each.dtype.type(1), -np.minimum(shifts, 31))  # 31 leaves nothing of them
    total: np.ndarray = np.trunc(each * scale[:, None]).sum(axis=0, dtype=np.float64)
    return total.astype(np.int32)


class Gradient:
    """The sum as section 7 says it, sample by sample, with the largest exponent so far; empty without samples."""

    def __init__(self) -> None:
        self.exponent = 0
        self.total = np.zeros(0, np.int64)

    def add(self, gradient: np.ndarray, exponent: int) -> None:
        """Add one sample: int64 [weights], in the order of the batch."""
        shift = self._raised(gradient.size, exponent) - exponent
        self.total = np.clip(self.total + trunc_shift(gradient, shift), INT32_MIN, INT32_MAX)

    def _raised(self, size: int, exponent: int) -> int:
        """Return the exponent after a sample with this one, to which the sum of so many weights is brought."""
        if not self.total.size:
            self.exponent, self.total = exponent, np.zeros(size, np.int64)
        if exponent > self.exponent:
            self.total = trunc_shift(self.total, exponent - self.exponent)
            self.exponent = exponent
        return self.exponent

    def add_all(self, each: np.ndarray, exponents: np.ndarray) -> None:
        """Add samples in the order of the batch: gradients as exact integers in floats [N, weights], int64 [N].

        Where a sum might saturate, they are added one by one.
        """
        largest = float(np.abs(each).sum(axis=0, dtype=np.float64).max()) + float(np.abs(self.total).max(initial=0))
        if largest > INT32_MAX:
            for one, exponent in zip(each, exponents.tolist(), strict=True):
                self.add(one.astype(np.int64), exponent)
            return
        self.add_at_once(each.shape[1], exponents, lambda part, shifts: _scaled_sum(each[part], shifts))

    def add_at_once(
        self, size: int, exponents: np.ndarray, part_sum: Callable[[slice, np.ndarray], np.ndarray]
    ) -> None:
        """Add samples whose sums cannot saturate; while the exponent stands still, by one sum.

        Args:
            size: weights.
            exponents: int64 [N].
            part_sum: the sum of some samples, each shifted to the exponent that holds for them.
        """
        held = np.maximum.accumulate(np.maximum(exponents, self.exponent) if self.total.size else exponents)
        starts = [0, *(np.flatnonzero(np.diff(held)) + 1).tolist(), len(held)]
        for start, end in pairwise(starts):
            exponent, part = self._raised(size, int(held[start])), slice(start, end)
            self.total = self.total + part_sum(part, exponent - exponents[part])
