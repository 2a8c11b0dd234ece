"""Forward and backward passes of the layers, a whole batch at a time (docs/arithmetic.md, sections 4 and 7).

Tensors have the batch as their last axis, [H, W, C, B]: whatever is done to one value is done to a row of B of them.
Every sample has an exponent of its own; where a group is the whole batch (`together`), they are all the same.

Sums of products run through float BLAS where every partial sum fits the mantissa, so they are exact integers; the type
is chosen by the number of products.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.lib.stride_tricks import as_strided

from hil.training.graph.formats import Op
from hil.training.graph.node import ChainNode

LARGEST_PRODUCT = 127 * 127


def exact_float(products: int) -> type[np.float32] | type[np.float64]:
    """Return the float type whose mantissa holds any sum of `products` int8 products."""
    return np.float32 if products * LARGEST_PRODUCT < 2**24 else np.float64


def requantize(acc: np.ndarray, exponents: np.ndarray, together: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return sums in int8 by the largest magnitude of each sample, or of all `together`, and their exponents int [B].

    RoundShift in floats: the sum times 2^-s and then plus a half are exact, since they need no more bits than the sum
    has, unless the result is clipped anyway. A shift of 0 or less changes nothing.

    Args:
        acc: integers as float32 or float64 [H, W, C, B]; overwritten.
        exponents: int [B], those of the sums.
        together: whether the batch is one group.
    """
    largest = np.maximum(_over_samples(np.maximum, acc), -_over_samples(np.minimum, acc))
    if together:
        largest[:] = largest.max()
    shift = np.maximum(np.frexp(largest)[1] - 7, 0)  # frexp gives bits(m) of an integer m, and 0 for 0
    acc *= np.ldexp(acc.dtype.type(1), -shift)
    np.clip(acc, -127, 127, out=acc)
    return round_half_away(acc).astype(np.int8, copy=False), exponents + shift


def _over_samples(extreme: np.ufunc, values: np.ndarray) -> np.ndarray:
    """Reduce [H, W, C, B] to [B]; whole rows of the image first, since a short batch makes short rows of samples."""
    by_row: np.ndarray = extreme.reduce(values, axis=0)
    by_sample: np.ndarray = extreme.reduce(by_row.reshape(-1, values.shape[-1]), axis=0)
    return by_sample


def round_half_away(x: np.ndarray) -> np.ndarray:
    """Round floats in -127..127 to the nearest integer, int8, halves away from zero."""
    doubled: np.ndarray = (x + x).astype(
        np.int16
    )  # cut off toward zero: half of it, rounded away from zero, is the result
    doubled += doubled > 0
    doubled >>= 1
    return doubled.astype(np.int8)


def convolution(x: np.ndarray, weights: np.ndarray, pads: tuple[int, int]) -> np.ndarray:
    """Return the exact sums of a convolution of stride 1, float [oh, ow, O, B].

    The kh rows that an output row sees are laid side by side, so that the patch of every position is a contiguous
    piece and enters the product in place; a copy of every patch would be kw times as long.

    Args:
        x: int8 [H, W, C, B].
        weights: int8 [O, kh, kw, C].
        pads: zeros above and below, left and right.
    """
    outputs, kh, kw, channels = weights.shape
    (height, width, _, batch), (above, left) = x.shape, pads
    out_h, out_w = height + 2 * above - kh + 1, width + 2 * left - kw + 1
    strips = np.zeros((out_h, width + 2 * left, kh, channels, batch), exact_float(kh * kw * channels))
    for dy in range(kh):
        first, end = max(0, above - dy), min(out_h, height + above - dy)  # output rows whose tap dy is no padding
        strips[first:end, left : left + width, dy] = x[first + dy - above : end + dy - above]
    taps = kw * kh * channels
    row, column, _, channel, sample = strips.strides
    patches = as_strided(strips, (out_h, out_w, taps, batch), (row, column, channel, sample), writeable=False)
    sums: np.ndarray = weights.transpose(0, 2, 1, 3).reshape(outputs, taps).astype(strips.dtype) @ patches
    return sums


def forward(
    layer: ChainNode, weights: np.ndarray | None, x: np.ndarray, exponents: np.ndarray, together: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Run one layer on int8 [H, W, C, B] with exponents int [B]; return the output and its exponents, likewise.

    Args:
        layer: the layer.
        weights: int8 weights to use in the place of the layer's own; None where it has none.
        x, exponents: the input.
        together: whether the batch is one group (section 4).
    """
    if layer.op is Op.RELU:
        return x * (x > 0), exponents
    if layer.op is Op.MAX_POOL:
        return reduce(np.maximum, _places(layer, x)), exponents
    assert weights is not None
    if layer.op is Op.CONV2D:
        acc = convolution(x, weights, layer.pad)
    else:
        dtype = exact_float(weights.shape[1])
        acc = weights.astype(dtype) @ x.reshape(-1, x.shape[-1]).astype(dtype)
    return requantize(acc.reshape(*layer.out_shape, -1), exponents + layer.weight_exp, together)


def _places(layer: ChainNode, x: np.ndarray) -> list[np.ndarray]:
    """Return views [oh, ow, C, B] of what all pooling windows have at each of their places, in row-major order."""
    (k, _), (height, width, _) = layer.stride, layer.out_shape
    return [x[dy : height * k : k, dx : width * k : k] for dy in range(k) for dx in range(k)]


def input_error(
    layer: ChainNode,
    weights: np.ndarray | None,
    of_output: tuple[np.ndarray, np.ndarray],
    x: np.ndarray,
    out: np.ndarray,
    together: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the error of the layer's input, int8 [H, W, C, B], and its exponents.

    Args:
        layer: the layer.
        weights: int8 weights that the forward pass used.
        of_output: error of the output, int8 [oh, ow, O, B], and its exponents, int [B].
        x, out: the layer's input and output in the forward pass.
        together: whether the batch is one group.
    """
    error, exponents = of_output
    if layer.op is Op.RELU:
        return error * (out > 0), exponents
    if layer.op is Op.MAX_POOL:
        return _unpool(layer, error, x, out), exponents
    assert weights is not None
    if layer.op is Op.FULLY_CONNECTED:
        dtype = exact_float(weights.shape[0])
        acc = weights.T.astype(dtype) @ error.reshape(-1, error.shape[-1]).astype(dtype)
    else:
        (kh, kw), (top, left) = layer.kernel, layer.pad
        turned = weights[:, ::-1, ::-1, :].transpose(3, 1, 2, 0)
        acc = convolution(error, turned, (kh - 1 - top, kw - 1 - left))
    return requantize(acc.reshape(*layer.in_shape, -1), exponents + layer.weight_exp, together)


def _unpool(layer: ChainNode, error: np.ndarray, x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Give each error to the first maximum of its window."""
    result = np.zeros(x.shape, np.int8)
    free = np.ones(out.shape, bool)
    for value, place in zip(_places(layer, x), _places(layer, result), strict=True):
        first = free & (value == out)
        np.multiply(error, first, out=place)
        free ^= first
    return result
