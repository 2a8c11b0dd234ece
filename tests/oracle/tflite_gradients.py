"""Backward passes as exact sums (docs/arithmetic-tflite.md, section 5).

Tensors have any number of batch axes in front; the gradients of weights are sums over all of them.
"""

from __future__ import annotations

import numpy as np

from tests.oracle.tflite_layers import Window, centred, windows


def gate(error: np.ndarray, out: np.ndarray, act_min: int, act_max: int) -> np.ndarray:
    """Return the error where the layer's output lies between its limits, both excluded, else 0.

    It is int8 of the same shape.
    """
    return np.where((out > act_min) & (out < act_max), error, 0).astype(np.int8)


def accumulate(gradient: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Return int32 `gradient` plus int64 `sums`, modulo 2^32."""
    return (gradient + sums).astype(np.uint32).astype(np.int32)


def conv2d_weight_gradient(error: np.ndarray, x: np.ndarray, window: Window, input_zero: int) -> np.ndarray:
    """Return int64 [O, kh, kw, C] of the error int8 [..., oh, ow, O] and the input int8 [..., H, W, C]."""
    seen = windows(centred(x, input_zero), window, 0)
    positions = tuple(range(error.ndim - 1))
    return np.tensordot(error.astype(np.int64), seen, axes=(positions, positions))


def depthwise_weight_gradient(error: np.ndarray, x: np.ndarray, window: Window, input_zero: int) -> np.ndarray:
    """Return int64 [kh, kw, C] of the error int8 [..., oh, ow, C] and the input int8 [..., H, W, C]."""
    products = windows(centred(x, input_zero), window, 0) * error.astype(np.int64)[..., None, None, :]
    return products.sum(axis=tuple(range(error.ndim - 1)))


def fully_connected_weight_gradient(error: np.ndarray, x: np.ndarray, input_zero: int) -> np.ndarray:
    """Return int64 [O, I] of the error int8 [..., O] and the input int8 [..., I]."""
    samples = tuple(range(error.ndim - 1))
    return np.tensordot(error.astype(np.int64), centred(x, input_zero), axes=(samples, samples))


def bias_gradient(error: np.ndarray) -> np.ndarray:
    """Return int64 [O] of the error int8 [..., O]."""
    return error.astype(np.int64).sum(axis=tuple(range(error.ndim - 1)))


def conv2d_input_error(error: np.ndarray, weights: np.ndarray, window: Window, in_shape: tuple[int, int]) -> np.ndarray:
    """Return int64 [..., H, W, C] of the error int8 [..., oh, ow, O] and the weights int8 [O, kh, kw, C].

    `in_shape` is (H, W).
    """
    spread = np.tensordot(error.astype(np.int64), weights.astype(np.int64), axes=(-1, 0))
    return _gathered(spread, window, in_shape)


def depthwise_input_error(
    error: np.ndarray, weights: np.ndarray, window: Window, in_shape: tuple[int, int]
) -> np.ndarray:
    """Return int64 [..., H, W, C] of the error int8 [..., oh, ow, C] and the weights int8 [kh, kw, C].

    `in_shape` is (H, W).
    """
    return _gathered(error.astype(np.int64)[..., None, None, :] * weights, window, in_shape)


def fully_connected_input_error(error: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return int64 [..., I] of the error int8 [..., O] and the weights int8 [O, I]."""
    return error.astype(np.int64) @ weights.astype(np.int64)


def _gathered(spread: np.ndarray, window: Window, in_shape: tuple[int, int]) -> np.ndarray:
    """Add what every tap of every window, [..., oh, ow, kh, kw, C], gives to its input position, [..., H, W, C]."""
    (height, width), (down, across), (top, left) = in_shape, window.stride, window.padding
    sizes = max(window.span(0), top + height), max(window.span(1), left + width)
    padded = np.zeros((*spread.shape[:-5], *sizes, spread.shape[-1]), np.int64)
    for ky in range(window.kernel[0]):
        for kx in range(window.kernel[1]):
            rows = slice(ky, ky + (window.out[0] - 1) * down + 1, down)
            columns = slice(kx, kx + (window.out[1] - 1) * across + 1, across)
            padded[..., rows, columns, :] += spread[..., ky, kx, :]
    return padded[..., top : top + height, left : left + width, :]
