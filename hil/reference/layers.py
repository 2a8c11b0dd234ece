"""Forward and backward passes of the layers, a whole batch at a time (docs/arithmetic.md, sections 4 and 7).

Every sample has an exponent of its own; where a group is the whole batch (`together`), they are all the same.

Sums of products run through float BLAS where every partial sum fits the mantissa, so they are exact integers; the type is chosen by the number of products.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from hil.network.graph import Layer, Op
from hil.reference.arith import round_shift

LARGEST_PRODUCT = 127 * 127


def exact_float(products: int) -> type:
    """Return the float type whose mantissa holds any sum of `products` int8 products."""
    return np.float32 if products * LARGEST_PRODUCT < 2**24 else np.float64


def requantize(acc: np.ndarray, exponents: np.ndarray, together: bool) -> tuple[np.ndarray, np.ndarray]:
    """Bring int64 accumulators [B, ...] to int8 by the largest magnitude of each sample, or of all `together`; return values and exponents."""
    largest = np.abs(acc).reshape(len(acc), -1).max(axis=1)
    if together:
        largest[:] = largest.max()
    shift = np.array([int(m).bit_length() - 7 for m in largest])
    wide = shift.reshape((-1,) + (1,) * (acc.ndim - 1))
    rounded = np.where(wide > 0, round_shift(acc, np.maximum(wide, 1)), acc)
    return rounded.astype(np.int8), exponents + np.maximum(shift, 0)


def _columns(x: np.ndarray, kernel: tuple[int, int], pad: int, dtype: type) -> np.ndarray:
    """Return the patches of [B, H, W, C] as [B, positions, kh * kw * C], patches in height, width, channel order."""
    padded = np.pad(x.astype(dtype), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = sliding_window_view(padded, kernel, axis=(1, 2)).transpose(0, 1, 2, 4, 5, 3)
    batch, height, width = windows.shape[:3]
    return windows.reshape(batch, height * width, -1)


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
        return _windows(layer, x).max(axis=3), exponents
    assert weights is not None
    flat = _flat_weights(layer, weights)
    dtype = exact_float(flat.shape[1])
    columns = (
        _columns(x, layer.kernel, layer.pad, dtype) if layer.op is Op.CONV2D else x.reshape(batch, 1, -1).astype(dtype)
    )
    acc = (columns @ flat.T.astype(dtype)).astype(np.int64)
    return requantize(acc.reshape(batch, *layer.out_shape), exponents + layer.weight_exp, together)


def _windows(layer: Layer, x: np.ndarray) -> np.ndarray:
    """Return the pooling windows of [B, H, W, C] as [B, oh, ow, k * k, C], each window in row-major order."""
    k, (height, width, channels) = layer.stride, layer.out_shape
    cut = x[:, : height * k, : width * k].reshape(len(x), height, k, width, k, channels)
    return cut.transpose(0, 1, 3, 2, 4, 5).reshape(len(x), height, width, k * k, channels)


def weight_gradients(layer: Layer, error: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return every sample's exact gradient, int64 [B, weights]: error int8 [B, oh, ow, O] times input int8 [B, H, W, C]."""
    batch, positions = len(x), layer.out_shape[0] * layer.out_shape[1]
    dtype = exact_float(positions)
    columns = (
        _columns(x, layer.kernel, layer.pad, dtype) if layer.op is Op.CONV2D else x.reshape(batch, 1, -1).astype(dtype)
    )
    flat = error.reshape(batch, positions, -1).astype(dtype)
    return (flat.transpose(0, 2, 1) @ columns).astype(np.int64).reshape(batch, -1)


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
        turned = weights[:, ::-1, ::-1, :].transpose(3, 1, 2, 0).reshape(layer.in_shape[2], -1)
        dtype = exact_float(turned.shape[1])
        wide = np.pad(error.astype(dtype), ((0, 0), (kh - 1 - layer.pad,) * 2, (kw - 1 - layer.pad,) * 2, (0, 0)))
        acc = _columns(wide, layer.kernel, 0, dtype) @ turned.T.astype(dtype)
    return requantize(acc.astype(np.int64).reshape(batch, *layer.in_shape), exponents + layer.weight_exp, together)


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
