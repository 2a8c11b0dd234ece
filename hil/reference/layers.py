"""Forward and backward passes of the layers, a whole batch at a time (docs/arithmetic.md, sections 4 and 7).

Every sample has an exponent of its own; where a group is the whole batch (`together`), they are all the same.

Sums of products run through float BLAS where every partial sum fits the mantissa, so they are exact integers; the type is chosen by the number of products.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from hil.network.graph import Layer, Op

LARGEST_PRODUCT = 127 * 127


def exact_float(products: int) -> type:
    """Return the float type whose mantissa holds any sum of `products` int8 products."""
    return np.float32 if products * LARGEST_PRODUCT < 2**24 else np.float64


def requantize(acc: np.ndarray, exponents: np.ndarray, together: bool) -> tuple[np.ndarray, np.ndarray]:
    """Bring exact sums to int8 by the largest magnitude of each sample, or of all `together`.

    RoundShift in floats: the sum times 2^-s and then plus a half are exact, since they need no more bits than the sum has,
    unless the result is clipped anyway. A shift of 0 or less changes nothing.

    Args:
        acc: integers as float32 or float64 [B, ...]; overwritten.
        exponents: int [B], those of the sums.
        together: whether the batch is one group.

    Returns:
        int8 [B, ...] and its exponents, int [B].
    """
    flat = acc.reshape(len(acc), -1)
    largest = np.maximum(flat.max(axis=1), -flat.min(axis=1))
    if together:
        largest[:] = largest.max()
    shift = np.maximum(np.frexp(largest)[1] - 7, 0)  # frexp gives bits(m) of an integer m, and 0 for 0
    flat *= np.ldexp(acc.dtype.type(1), -shift)[:, None]
    rounded = np.clip(round_half_away(flat), -127, 127, out=flat)
    return rounded.astype(np.int8).reshape(acc.shape), exponents + shift


def round_half_away(x: np.ndarray) -> np.ndarray:
    """Round in place to the nearest integer, halves away from zero."""
    x += np.copysign(x.dtype.type(0.5), x)
    return np.trunc(x, out=x)


def _convolution(x: np.ndarray, weights: np.ndarray, pads: tuple[int, int]) -> np.ndarray:
    """Return the exact sums of a convolution of stride 1, float [B, oh, ow, O].

    A few neighbouring positions of a row are one product with a banded matrix: fewer and longer copies than a patch for
    every position, for some products with zero.

    Args:
        x: int8 [B, H, W, C].
        weights: int8 [O, kh, kw, C].
        pads: zeros above and below, left and right.
    """
    outputs, kh, kw, channels = weights.shape
    dtype = exact_float(kh * kw * channels)
    batch, height, width = len(x), x.shape[1] + 2 * pads[0], x.shape[2] + 2 * pads[1]
    padded = np.zeros((batch, height, width, channels), dtype)
    padded[:, pads[0] : height - pads[0], pads[1] : width - pads[1]] = x
    out_h, out_w = height - kh + 1, width - kw + 1
    tile = next(size for size in (4, 2, 1) if out_w % size == 0)
    row = (tile + kw - 1) * channels
    band = np.zeros((kh, row, tile, outputs), dtype)
    taps = weights.transpose(1, 2, 3, 0).reshape(kh, kw * channels, outputs)
    for place in range(tile):
        band[:, place * channels : (place + kw) * channels, place] = taps
    windows = sliding_window_view(padded, (kh, tile + kw - 1), axis=(1, 2))[:, :, ::tile].transpose(0, 1, 2, 4, 5, 3)
    patches = windows.reshape(batch * out_h * out_w // tile, kh * row)
    return (patches @ band.reshape(kh * row, tile * outputs)).reshape(batch, out_h, out_w, outputs)


def _columns(layer: Layer, x: np.ndarray, dtype: type) -> np.ndarray:
    """Return what the weights of a layer see of [B, H, W, C]: float [B, positions, taps], patches in height, width, channel order."""
    if layer.op is Op.FULLY_CONNECTED:
        return x.reshape(len(x), 1, -1).astype(dtype)
    padded = np.pad(x.astype(dtype), ((0, 0), (layer.pad, layer.pad), (layer.pad, layer.pad), (0, 0)))
    windows = sliding_window_view(padded, layer.kernel, axis=(1, 2)).transpose(0, 1, 2, 4, 5, 3)
    return windows.reshape(len(x), layer.out_shape[0] * layer.out_shape[1], -1)


def _flat_weights(layer: Layer, weights: np.ndarray) -> np.ndarray:
    return weights.reshape(layer.out_shape[2], -1)


def forward(
    layer: Layer, weights: np.ndarray | None, x: np.ndarray, exponents: np.ndarray, together: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Run one layer.

    Args:
        layer: the layer.
        weights: int8 weights to use in the place of the layer's own; None where it has none.
        x: int8 [B, H, W, C].
        exponents: int [B].
        together: whether the batch is one group (section 4).

    Returns:
        int8 [B, H, W, C] and int [B].
    """
    batch = len(x)
    if layer.op is Op.RELU:
        return np.maximum(x, 0), exponents
    if layer.op is Op.MAX_POOL:
        return _pooled(layer, x), exponents
    assert weights is not None
    if layer.op is Op.CONV2D:
        acc = _convolution(x, weights, (layer.pad, layer.pad))
    else:
        flat = _flat_weights(layer, weights)
        dtype = exact_float(flat.shape[1])
        acc = x.reshape(batch, -1).astype(dtype) @ flat.T.astype(dtype)
    return requantize(acc.reshape(batch, *layer.out_shape), exponents + layer.weight_exp, together)


def _pooled(layer: Layer, x: np.ndarray) -> np.ndarray:
    """Return the largest of every pooling window."""
    k, (height, width, _) = layer.stride, layer.out_shape
    places = [x[:, dy : height * k : k, dx : width * k : k] for dy in range(k) for dx in range(k)]
    return reduce(np.maximum, places[1:], places[0])


def _windows(layer: Layer, x: np.ndarray) -> np.ndarray:
    """Return the pooling windows of [B, H, W, C] as [B, oh, ow, k * k, C], each window in row-major order."""
    k, (height, width, channels) = layer.stride, layer.out_shape
    cut = x[:, : height * k, : width * k].reshape(len(x), height, k, width, k, channels)
    return cut.transpose(0, 1, 3, 2, 4, 5).reshape(len(x), height, width, k * k, channels)


def weight_gradients(layer: Layer, error: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return every sample's exact gradient, float [B, weights]: error int8 [B, oh, ow, O] times input int8 [B, H, W, C]."""
    positions = layer.out_shape[0] * layer.out_shape[1]
    columns = _columns(layer, x, exact_float(positions))
    flat = error.reshape(len(x), positions, -1).astype(columns.dtype)
    return (flat.transpose(0, 2, 1) @ columns).reshape(len(x), -1)


def gradient_sum(layer: Layer, error: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the exact sum of the samples' gradients, int64 [weights]."""
    columns = _columns(layer, x, exact_float(len(x) * layer.out_shape[0] * layer.out_shape[1]))
    flat = error.reshape(-1, error.shape[-1]).astype(columns.dtype)
    return (flat.T @ columns.reshape(len(flat), -1)).astype(np.int64).reshape(-1)


def input_error(
    layer: Layer,
    weights: np.ndarray | None,
    error: np.ndarray,
    exponents: np.ndarray,
    x: np.ndarray,
    out: np.ndarray,
    together: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the error of the layer's input, int8 [B, H, W, C], and its exponents.

    Args:
        layer: the layer.
        weights: int8 weights that the forward pass used.
        error: int8 error of the output, [B, oh, ow, O].
        exponents: int [B], of the error.
        x, out: the layer's input and output in the forward pass.
        together: whether the batch is one group.
    """
    batch = len(error)
    if layer.op is Op.RELU:
        return np.where(out > 0, error, 0).astype(np.int8), exponents
    if layer.op is Op.MAX_POOL:
        return _unpool(layer, error, x), exponents
    assert weights is not None
    if layer.op is Op.FULLY_CONNECTED:
        flat = _flat_weights(layer, weights)
        dtype = exact_float(flat.shape[0])
        acc = error.reshape(batch, -1).astype(dtype) @ flat.astype(dtype)
    else:
        kh, kw = layer.kernel
        turned = weights[:, ::-1, ::-1, :].transpose(3, 1, 2, 0)
        acc = _convolution(error, turned, (kh - 1 - layer.pad, kw - 1 - layer.pad))
    return requantize(acc.reshape(batch, *layer.in_shape), exponents + layer.weight_exp, together)


def _unpool(layer: Layer, error: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Give each error to the first maximum of its window."""
    windows = _windows(layer, x)
    spread = np.zeros_like(windows)
    np.put_along_axis(spread, windows.argmax(axis=3)[:, :, :, None], error[:, :, :, None], axis=3)
    k, (height, width, channels) = layer.stride, layer.out_shape
    back = spread.reshape(len(x), height, width, k, k, channels).transpose(0, 1, 3, 2, 4, 5)
    result = np.zeros(x.shape, np.int8)
    result[:, : height * k, : width * k] = back.reshape(len(x), height * k, width * k, channels)
    return result
